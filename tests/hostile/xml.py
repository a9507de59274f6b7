"""GENIA's XML: entities, nesting, categories, and what stands where a file is expected."""

import os
from collections.abc import Iterator
from pathlib import Path

from hostile.case import Case, damaged, piping, writing

from pipeline.text.trees import DEEPEST

PMID = "1967259"
_HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'
_NAME = f"g/{PMID}.xml"
_COMMAND = ["ingest", "genia", "g", "--out", "out"]


def article(inner: str, *, pmid: str = PMID, top: str = "<!DOCTYPE Annotation>") -> str:
    """An article of a training split with one sentence."""
    return (
        f"{_HEAD}{top}<Annotation><PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>{pmid}</PMID>"
        f'<Article><ArticleTitle><sentence id="S1">{inner}</sentence></ArticleTitle></Article>'
        "</MedlineCitation></PubmedArticle></PubmedArticleSet></Annotation>"
    )


DOGS = '<cons cat="NP"><tok cat="NN">dogs</tok></cons>'
_LAUGHS = (
    '<!DOCTYPE a [<!ENTITY l0 "ha">'
    + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    + "]>"
)


_COOD = '<cons cat="NP" syn="COOD">'
_AND = '<tok cat="CC">and</tok>'


def _nested(depth: int, *, close: bool = True, more: str = "") -> str:
    cons = f'<cons cat="NP"{more}>' * depth
    return article(cons + '<tok cat="NN">x</tok>' + "</cons>" * depth * close)


def _table() -> Iterator[tuple[str, str | bytes, str]]:
    good = article(DOGS)
    yield "as it should be", good, "ok"
    yield "a byte order mark", b"\xef\xbb\xbf" + good.encode(), "ok"
    yield "no DOCTYPE", article(DOGS, top=""), "ok"
    yield "60 levels", _nested(60), "ok"
    for depth in (DEEPEST - 2, DEEPEST - 1, DEEPEST, 3_000, 100_000):
        yield (
            f"cons nested {depth:,} deep",
            _nested(depth),
            "ok" if depth < DEEPEST - 1 else "refused",
        )
    yield "3,000 coordinations in each other", _nested(3_000, more=' syn="COOD"'), "refused"
    yield "200 coordinations in each other", _nested(200, more=' syn="COOD"'), "ok"
    yield "cons never closed", _nested(2_000, close=False), "refused"
    for top in (
        _LAUGHS,
        '<!DOCTYPE a [<!ENTITY l9 SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE a [<!ENTITY l9 SYSTEM "http://localhost:9/x">]>',
        '<!DOCTYPE a [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p; <!ENTITY l9 "x">]>',
        "<!DOCTYPE a [<!ENTITY % p \"<!ENTITY l9 'x'>\"> %p;]>",
        f'<!DOCTYPE a [<!ENTITY l9 "{"x" * 100_000}">]>',
    ):
        yield f"entities: {top[:60]}", article('<tok cat="NN">&l9;</tok>', top=top), "refused"
    yield "an unknown entity", article('<tok cat="NN">&who;</tok>'), "refused"
    yield "a DTD elsewhere", article(DOGS, top='<!DOCTYPE a SYSTEM "file:///etc/passwd">'), "any"
    for cat in ("NP) (X", "", " ", "NP\tX", "(", ")", "N P", "NP\u2028X", "&#10;", "NP&#13;"):
        yield (
            f"category {cat!r} of cons",
            article(f'<cons cat="{cat}"><tok cat="NN">x</tok></cons>'),
            "refused",
        )
        yield f"category {cat!r} of tok", article(f'<tok cat="{cat}">x</tok>'), "refused"
    yield "cons without cat", article('<cons><tok cat="NN">x</tok></cons>'), "refused"
    yield "another element", article('<w cat="NN">x</w>'), "refused"
    yield "words with brackets and blanks", article('<tok cat="NN">( a )\n b&#9;c</tok>'), "ok"
    yield "a character that XML has not", article('<tok cat="NN">&#0;</tok>'), "refused"
    yield "a NUL", article('<tok cat="NN">\0</tok>'), "refused"
    yield "an article number of 5,000 digits", article(DOGS, pmid="9" * 5_000), "refused"
    yield "an article number of no digits", article(DOGS, pmid="x"), "refused"
    yield "an article in no list", article(DOGS, pmid="1"), "refused"
    yield "no words", article('<cons cat="NP"/>'), "refused"
    yield "nothing", b"", "refused"
    yield "only blanks", b"  \n", "refused"
    yield "a NUL alone", b"\0", "refused"
    yield "UTF-16", good.replace("utf-8", "utf-16").encode("utf-16"), "ok"
    yield "an unknown encoding", good.replace("utf-8", "x-klingon"), "refused"
    yield "not in its encoding", good.encode().replace(b"dogs", b"d\xffgs"), "refused"
    yield "a word of a megabyte", article(f'<tok cat="NN">{"x" * 2**20}</tok>'), "refused"
    yield "a word just below", article(f'<tok cat="NN">{"x" * (2**20 - 50)}</tok>'), "ok"
    # A corpus of so few coordinations has no draws, which is refused in the end.
    yield "20,000 conjuncts", article(_COOD + DOGS * 20_000 + _AND + DOGS + "</cons>"), "any"
    nested = (_COOD + DOGS + _AND) * 380 + DOGS * 5_000 + "</cons>" * 380
    yield "380 coordinations of 5,000 words in each other", article(nested), "any"
    raised = '<cons cat="NP" null="RNR" ref="r"/><cons cat="NP" id="r"><tok cat="NN">x</tok></cons>'
    yield (
        "5,000 raised from each other",
        article(_COOD + raised * 5_000 + _AND + DOGS + "</cons>"),
        "any",
    )
    yield "just below 16 MiB of blanks", good + " " * (2**24 - len(good)), "ok"
    yield "20,000 words", article('<tok cat="NN">x</tok>' * 20_000), "ok"
    yield "an attribute of a megabyte", article(f'<tok cat="NN" lex="{"x" * 2**20}">x</tok>'), "ok"
    many = " ".join(f'a{n}=""' for n in range(10_000))
    yield "10,000 attributes", article(f'<tok cat="NN" {many}>x</tok>'), "ok"
    yield "17 MiB of blanks", good + " " * 17 * 2**20, "refused"


def _elsewhere(where: str) -> Case:
    def make(folder: Path) -> None:
        (folder / "g").mkdir()
        path = folder / "g" / f"{PMID}.xml"
        match where:
            case "a named pipe":
                os.mkfifo(path)
            case "a folder":
                path.mkdir()
            case "a link to nothing":
                path.symlink_to("nowhere")
            case "a link to itself":
                path.symlink_to(path)
            case "a link out of the folder":
                writing("else.xml", article(DOGS))(folder)
                path.symlink_to("../else.xml")
            case "/dev/zero":
                path.symlink_to("/dev/zero")

    return Case(f"{where} as an article", _COMMAND, make)


def cases(n: int, seed: int) -> Iterator[Case]:
    """The table of hostile articles, and damaged copies of a good one up to ``n`` cases."""
    count = 0
    for name, content, expect in _table():
        count += 1
        yield Case(f"xml: {name}", _COMMAND, writing(_NAME, content), expect)  # type: ignore[arg-type]
    odd_places = ("a named pipe", "a folder", "a link to nothing", "a link to itself", "/dev/zero")
    for where in (*odd_places, "a link out of the folder"):
        count += 1
        yield _elsewhere(where)
    yield Case("xml: a named pipe as the source", _COMMAND, piping("g"))
    odd = os.fsdecode(b"g/caf\xe9.xml")
    yield Case("xml: a name that is not UTF-8", _COMMAND, writing(odd, article(DOGS)), "any")
    lists = [*_COMMAND, "--split-lists", "lists"]
    for what, train in (("digits", "9" * 5_000), ("bytes", b"\xff\n"), ("a NUL", "1\0\n")):

        def make(folder: Path, train: str | bytes = train) -> None:
            writing(_NAME, article(DOGS))(folder)
            for name in ("dev", "test"):
                writing(f"lists/{name}.pmids", "")(folder)
            writing("lists/train.pmids", train)(folder)

        yield Case(f"xml: a split list of {what}", lists, make)
    good = article(DOGS * 3).encode()
    for number in range(count + 5, n):
        yield Case(
            f"xml: damaged {number}", _COMMAND, writing(_NAME, damaged(good, number, seed)), "any"
        )
