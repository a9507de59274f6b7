"""The GENIA Treebank v1 in its XML: a .tar.gz, a folder of .xml files, or a folder with the .tar.gz.

Entities and external references in the XML are refused. Articles are read in the order of their
file names, so archive and folder give the same rows.

The rest of this text is the rule by which coordination is read from the XML. It reproduces the counts of
the paper's Table 1 exactly. A constituent the annotators marked ``syn="COOD"`` is a coordinate structure if

1. it has a direct child token tagged CC other than both, either, neither; the last such is the
   coordinator (a CC inside a CONJP such as "but not" is none);
2. its conjunct candidates, non-empty constituents that are neither CONJP nor the target of right
   node raising, include one of its own category on each side of the coordinator. In UCP any
   category will do; in NP, ADJP, ADVP, VP and PP, where there is none on the right, the next
   sibling that is not punctuation may be of any of these five.

A target of right node raising is what a ``null="RNR"`` node inside a sibling refers to: "genes" in
"[Spi-1] and [Fli-1] genes". It, shared modifiers, and adverbs after the coordinator stay outside
the conjuncts: the children are cut at CC, CONJP, comma and colon, and each segment gives its
candidate of the constituent's own category; in UCP its candidate that is not ADVP, PRN or LST, or
one of these where it has no other ("[alone] or [in combination]").
"""

import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from pipeline.core.console import Meter
from pipeline.core.corpora import CORPORA
from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.core.types import Coordination, Sentence, Span
from pipeline.text.coordinations import PRECONJUNCTIONS, conjunct_children
from pipeline.text.trees import escape

_EXCHANGEABLE = frozenset({"NP", "ADJP", "ADVP", "VP", "PP"})
_PUNCTUATION = frozenset({"COMMA", "COLON", "PERIOD", "LQT", "RQT", "LRB", "RRB"})
_SEPARATORS = frozenset({"CC", "COMMA", "COLON"})
_MODIFIERS = frozenset({"ADVP", "PRN", "LST"})


def genia_coordinations(sentence: Element, spans: Mapping[Element, Span]) -> list[Coordination]:
    """The coordinate structures of one sentence, in the order of their coordinators.

    Args:
        sentence: a ``sentence`` element.
        spans: the words each ``cons`` and ``tok`` in it covers; empty for null elements.
    """
    marked = (node for node in sentence.iter("cons") if node.get("syn") == "COOD")
    found = (_coordination(node, spans) for node in marked)
    return sorted((c for c in found if c is not None), key=lambda c: c.coordinator)


def _coordination(node: Element, spans: Mapping[Element, Span]) -> Coordination | None:
    children = [child for child in node if len(spans[child])]
    coordinators = [i for i, child in enumerate(children) if _coordinates(child)]
    if not coordinators:
        return None
    category, coordinator = node.get("cat", ""), coordinators[-1]
    candidates = _candidates(children)
    own = {i for i in candidates if category in ("UCP", children[i].get("cat"))}
    if not any(i > coordinator for i in own) and category in _EXCHANGEABLE:
        own |= candidates & _neighbour(children, coordinator)
    if not (any(i < coordinator for i in own) and any(i > coordinator for i in own)):
        return None
    tiers = [own]
    if category == "UCP":
        tiers.insert(0, {i for i in own if children[i].get("cat") not in _MODIFIERS})
    separators = {i for i, child in enumerate(children) if _separates(child)}
    conjuncts = conjunct_children(len(children), separators, coordinator, tiers)
    start = spans[children[coordinator]].start
    return Coordination(
        coordinator=start,
        word="".join((children[coordinator].text or "").split()),
        label=category,
        conjuncts=tuple(spans[children[i]] for i in conjuncts),
    )


def _coordinates(child: Element) -> bool:
    is_cc = child.tag == "tok" and child.get("cat") == "CC"
    return is_cc and (child.text or "").strip().lower() not in PRECONJUNCTIONS


def _separates(child: Element) -> bool:
    if child.tag == "tok":
        return child.get("cat") in _SEPARATORS
    return child.get("cat") == "CONJP"


def _candidates(children: list[Element]) -> set[int]:
    """Constituents that are neither CONJP nor raised out of a sibling."""
    raised = [
        {n.get("ref") for n in child.iter("cons") if n.get("null") == "RNR"} for child in children
    ]
    return {
        i
        for i, child in enumerate(children)
        if child.tag == "cons"
        and child.get("cat") != "CONJP"
        and not any(child.get("id", "") in refs for j, refs in enumerate(raised) if j != i)
    }


def _neighbour(children: list[Element], coordinator: int) -> set[int]:
    """The next child that is not punctuation, if its category can stand for its neighbour's."""
    for index in range(coordinator + 1, len(children)):
        child = children[index]
        if child.tag == "tok" and child.get("cat") in _PUNCTUATION:
            continue
        exchangeable = child.tag == "cons" and child.get("cat") in _EXCHANGEABLE
        return {index} if exchangeable else set()
    return set()


SHIPPED_SPLIT = Path(__file__).resolve().parents[2] / "resources" / "genia_split"

_TAGS = {
    "COMMA": ",",
    "PERIOD": ".",
    "COLON": ":",
    "LRB": "-LRB-",
    "RRB": "-RRB-",
    "PRPP": "PRP$",
    "WPP": "WP$",
    "LQT": "``",
    "RQT": "''",
}


def read_genia(
    source: Path, tally: Tally, *, split_lists: Path | None = None
) -> Iterator[Sentence]:
    """Yield the sentences of all articles that a split list names.

    ``doc_id`` is the PubMed id, ``sentence_id`` is ``genia/<PubMed id>/<id in the XML>``. The tree
    has its categories without functions, no null elements, and ``S1`` around it.

    Args:
        source: the archive, the unpacked folder, or a folder that holds either; its folder ``text`` is
            not looked into.
        tally: counts kept sentences, and those of articles in no list.
        split_lists: folder with ``{train,dev,test}.pmids``; the shipped split if None.

    Raises:
        InputError: nothing to read, malformed XML, or a missing or inconsistent split list.
    """
    splits = read_split_lists(split_lists or SHIPPED_SPLIT)
    articles = _articles(source)
    absent = set(splits)
    with Meter("ingest genia", len(articles)) as meter:
        for path, data in articles:
            root = _parse(path, data)
            pmid = _pmid(path, root)
            absent.discard(pmid)
            sentences = list(root.iter("sentence"))
            if pmid in splits:
                for element in sentences:
                    sentence = _sentence(path, pmid, splits[pmid], element)
                    if sentence is None:
                        tally.refuse("sentence without words")
                    else:
                        tally.keep()
                        yield sentence
            else:
                tally.refuse("sentence of an article in no split list", len(sentences))
            meter.advance()
    if absent:
        tally.refuse("article of a split list that the source lacks (counts articles)", len(absent))


def read_split_lists(folder: Path) -> dict[str, str]:
    """Map PubMed id (without leading zeros) to ``train``, ``dev`` or ``test``.

    Raises:
        InputError: a list is missing, has a line that is no number, or repeats another's article.
    """
    splits: dict[str, str] = {}
    for name in ("train", "dev", "test"):
        path = folder / f"{name}.pmids"
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except OSError as error:
            raise InputError(
                "missing split list",
                path=path,
                remedy="the folder must hold train.pmids, dev.pmids and test.pmids",
            ) from error
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if not text:
                continue
            if not (text.isascii() and text.isdigit()):
                raise InputError(
                    f"not a PubMed id: {text[:40]!r}", path=path, line=number,
                    remedy="one number per line",
                )  # fmt: skip
            if splits.setdefault(text.lstrip("0"), name) != name:
                raise InputError(
                    f"article {text} is in two split lists", path=path, line=number,
                    remedy="remove one",
                )  # fmt: skip
    return splits


def _articles(source: Path) -> list[tuple[str, bytes]]:
    """Pairs of shown path and content of every .xml file, in the order of file names."""
    if source.is_dir():
        # Below text/ lies what only language models read.
        files = sorted(
            (p for p in source.rglob("*.xml") if p.relative_to(source).parts[0] != "text"),
            key=lambda path: (path.name, path),
        )
        if files:
            return [(str(path), path.read_bytes()) for path in files]
        archives = sorted([*source.glob("*.tar.gz"), *source.glob("*.tgz")])
        if len(archives) != 1:
            raise InputError(
                f"expected .xml files or one .tar.gz, found {len(archives)} archives",
                path=source,
                remedy="see `conjoin corpora`",
            )
        source = archives[0]
    if source.suffix == ".xml" and source.is_file():
        return [(str(source), source.read_bytes())]
    try:
        with tarfile.open(source) as archive:
            found = [
                (member.name, handle.read())
                for member in archive
                if member.name.endswith(".xml") and (handle := archive.extractfile(member))
            ]
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError("no such file", path=source, remedy="see `conjoin corpora`") from error
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise InputError(
            f"not a readable archive: {error}", path=source, remedy="download it again"
        ) from error
    if not found:
        raise InputError("no .xml file in the archive", path=source, remedy="see `conjoin corpora`")
    found.sort(key=lambda item: (item[0].rpartition("/")[2], item[0]))
    return [(f"{source}/{name}", data) for name, data in found]


def _parse(path: str, data: bytes) -> Element:
    try:
        root: Element = fromstring(data, forbid_dtd=False)
    except ParseError as error:
        raise InputError(
            f"malformed XML: {error}", path=path, line=error.position[0], remedy="mend the file"
        ) from error
    except DefusedXmlException as error:
        raise InputError(
            f"XML with entities or external references is not read: {error}",
            path=path,
            remedy="remove them",
        ) from error
    except (LookupError, ValueError) as error:
        raise InputError(f"malformed XML: {error}", path=path, remedy="mend the file") from error
    return root


def _pmid(path: str, root: Element) -> str:
    pmid = (root.findtext(".//PMID") or "").strip().lstrip("0")
    if not pmid.isdigit():
        raise InputError(
            "no PubMed id in the file", path=path, remedy="is it an article of the GENIA Treebank?"
        )
    return pmid


def _sentence(path: str, pmid: str, split: str, element: Element) -> Sentence | None:
    sentence_id = f"genia/{pmid}/{element.get('id')}"
    words: list[str] = []
    tags: list[str] = []
    spans: dict[Element, Span] = {}

    def walk(node: Element) -> str:
        start, category = len(words), node.get("cat")
        if category is None or node.tag not in ("cons", "tok"):
            raise InputError(
                f"unexpected element <{node.tag}>, or one without cat", path=path,
                sentence_id=sentence_id, remedy="is it the GENIA Treebank v1?",
            )  # fmt: skip
        if node.tag == "cons":
            inner = " ".join(filter(None, [walk(child) for child in node]))
            spans[node] = Span(start, len(words))
            return f"({category} {inner})" if inner else ""
        # A few tokens have inner blanks ("NF- kappaB"), which no word of a treebank may have.
        word = "".join((node.text or "").split())
        if word:
            words.append(word)
            tags.append(_TAGS.get(category, category))
        spans[node] = Span(start, len(words))
        return f"({tags[-1]} {escape(word)})" if word else ""

    tree = " ".join(filter(None, [walk(child) for child in element]))
    if not words:
        return None
    return Sentence(
        sentence_id=sentence_id,
        doc_id=pmid,
        split=split,
        words=tuple(words),
        tags=tuple(tags),
        tree=f"(S1 {tree})",
        coordinations=tuple(genia_coordinations(element, spans)),
        license=CORPORA["genia"].licence,
    )
