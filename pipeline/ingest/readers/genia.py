"""The GENIA Treebank v1 in its XML: a .tar.gz, a folder of .xml files, or a folder with the .tar.gz.

Entities and external references in the XML are refused. Sentences come in the order of their articles'
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

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from pipeline.core.console import Meter, track
from pipeline.core.corpora import CORPORA
from pipeline.core.errors import InputError
from pipeline.core.files import files_within, require_regular
from pipeline.core.tally import Tally
from pipeline.core.types import Coordination, Sentence, Span
from pipeline.ingest.archives import members
from pipeline.text.bracketings import LONGEST
from pipeline.text.coordinations import PRECONJUNCTIONS, conjunct_children
from pipeline.text.trees import DEEPEST, OTHER_LEAVES, escape, fitting_tree
from pipeline.text.unpacking import UnpackingAllowance, opened, read_at_most, read_whole

LARGEST = 16 * 2**20
"""Bytes of an article; the largest of GENIA has 31,000."""

_CATEGORY = re.compile(r"[^\s()]+")
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
    marked = [node for node in sentence.iter("cons") if node.get("syn") == "COOD"]
    raised = _raised(sentence, spans) if marked else set()
    found = (_coordination(node, spans, raised) for node in marked)
    return sorted((c for c in found if c is not None), key=lambda c: c.coordinator)


def _coordination(
    node: Element, spans: Mapping[Element, Span], raised: Set[Element]
) -> Coordination | None:
    children = [child for child in node if len(spans[child])]
    coordinators = [i for i, child in enumerate(children) if _coordinates(child)]
    if not coordinators:
        return None
    category, coordinator = node.get("cat", ""), coordinators[-1]
    candidates = {
        i
        for i, child in enumerate(children)
        if child.tag == "cons" and child.get("cat") != "CONJP" and child not in raised
    }
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


def _raised(sentence: Element, spans: Mapping[Element, Span]) -> set[Element]:
    """Children of marked constituents that a ``null="RNR"`` node inside a sibling refers to.

    Siblings without words do not count. Where nodes begin and end in the text tells what is inside what, so
    that deep and wide sentences take no longer than others of their length.
    """
    order = list(sentence.iter())
    begin = {node: place for place, node in enumerate(order)}
    end: dict[Element, int] = {}
    for node in reversed(order):
        end[node] = end[node[-1]] if len(node) else begin[node]
    around = {sentence: sentence}  # the innermost node with words
    referring: dict[str | None, list[int]] = defaultdict(list)
    for node in order:
        around |= {child: child if spans.get(child) else around[node] for child in node}
        if node.tag == "cons" and node.get("null") == "RNR":
            referring[node.get("ref")].append(begin[around[node]])
    for places in referring.values():
        places.sort()

    def times(ref: str, first: int, last: int) -> int:
        places = referring.get(ref, [])
        return bisect_right(places, last) - bisect_left(places, first)

    found = set()
    for node in sentence.iter("cons"):
        if node.get("syn") == "COOD":
            for child in node:
                ref = child.get("id", "")
                everywhere = times(ref, begin[node] + 1, end[node])
                if everywhere > times(ref, begin[child], end[child]):
                    found.add(child)
    return found


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

NO_WORDS, NO_TEXT = "sentence without words", "sentence with a token without text"

_WORK = "ingest genia"  # the name of the work, beside its progress

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
    source: Path,
    tally: Tally,
    *,
    split_lists: Path | None = None,
    allowance: UnpackingAllowance | None = None,
) -> Iterator[Sentence]:
    """Yield the sentences of all articles that a split list names.

    ``doc_id`` is the PubMed id, ``sentence_id`` is ``genia/<PubMed id>/<id in the XML>``. The tree
    has its categories without functions, no null elements, and ``S1`` around it.

    Args:
        source: the archive, the unpacked folder, or a folder that holds either; its folder ``text`` is
            not looked into.
        tally: counts kept sentences, and those of articles in no list.
        split_lists: folder with ``{train,dev,test}.pmids``; the shipped split if None.
        allowance: what an archive may unpack to; None: the usual.

    Raises:
        InputError: nothing to read, a link out of the folder, malformed XML, more than is allowed, or a
            missing or inconsistent split list.
    """
    splits = read_split_lists(split_lists or SHIPPED_SPLIT)
    absent = set(splits)
    # An archive is read in its own order; what is kept of an article is smaller than its XML.
    found: list[tuple[tuple[str, str], list[Sentence]]] = []
    for path, data in _articles(source, allowance or UnpackingAllowance()):
        root = _parse(path, data)
        pmid = _pmid(path, root)
        absent.discard(pmid)
        elements = list(root.iter("sentence"))
        if pmid not in splits:
            tally.refuse("sentence of an article in no split list", len(elements))
            continue
        kept = []
        for element in elements:
            made = _sentence(path, pmid, splits[pmid], element)
            if isinstance(made, Sentence):
                kept.append(made)
                tally.keep()
            else:
                tally.refuse(made, place=f"{path}: sentence {element.get('id')}")
        found.append(((path.rpartition("/")[2], path), kept))
    for _, sentences in sorted(found, key=lambda each: each[0]):
        yield from sentences
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
        if not path.exists():
            raise InputError(
                "missing split list",
                path=path,
                remedy="the folder must hold train.pmids, dev.pmids and test.pmids",
            )
        lines = read_whole(path).split("\n")
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


def _articles(source: Path, allowance: UnpackingAllowance) -> Iterator[tuple[str, bytes]]:
    """Pairs of shown path and content of every .xml file."""
    require_regular(source)
    if source.is_dir():
        # Below text/ lies what only language models read.
        every = (p for p in source.rglob("*.xml") if p.relative_to(source).parts[0] != "text")
        files = files_within(source, every)
        if files:
            yield from ((str(path), _content(path)) for path in track(files, _WORK))
            return
        archives = files_within(source, [*source.glob("*.tar.gz"), *source.glob("*.tgz")])
        if len(archives) != 1:
            raise InputError(
                f"expected .xml files or one .tar.gz, found {len(archives)} archives",
                path=source,
                remedy="see `conjoin corpora`",
            )
        source = archives[0]
    if source.suffix == ".xml":
        yield str(source), _content(source)
        return
    found = False
    with opened(source) as raw, Meter(f"{_WORK} (bytes)", source.stat().st_size) as meter:
        for name, data in members(raw, source, ".xml", LARGEST, allowance):
            found = True
            yield f"{source}/{name}", data
            meter.at(raw.tell())
    if not found:
        raise InputError("no .xml file in the archive", path=source, remedy="see `conjoin corpora`")


def _content(path: Path) -> bytes:
    remedy = "is it an article of the GENIA Treebank?"
    return read_at_most(path, LARGEST, kind="article", remedy=remedy)


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


def _sentence(path: str, pmid: str, split: str, element: Element) -> Sentence | str:
    """A sentence, or why there is none."""
    sentence_id = f"genia/{pmid}/{element.get('id')}"
    words: list[str] = []
    tags: list[str] = []
    spans: dict[Element, Span] = {}
    lost = 0  # tokens without text
    size = 0  # about as many characters as the bracketing has

    def problem(what: str) -> InputError:
        remedy = "is it the GENIA Treebank v1?"
        return InputError(what, path=path, sentence_id=sentence_id, remedy=remedy)

    def token(node: Element, category: str) -> str:
        start = len(words)
        # A few tokens have inner blanks ("NF- kappaB"), which no word of a treebank may have.
        word = "".join((node.text or "").split())
        if word:
            words.append(word)
            tags.append(_TAGS.get(category, category))
        spans[node] = Span(start, len(words))
        return f"({tags[-1]} {escape(word)})" if word else ""

    # Open constituents, the innermost last: element, first word, brackets so far, children to come.
    open_: list[tuple[Element, int, list[str], Iterator[Element]]] = [
        (element, 0, [], iter(element))
    ]
    while True:
        node, start, inner, children = open_[-1]
        child = next(children, None)
        if child is not None:
            category = child.get("cat")
            if category is None or child.tag not in ("cons", "tok"):
                raise problem(f"unexpected element <{child.tag}>, or one without cat")
            if not _CATEGORY.fullmatch(category):
                raise problem(f"no category of a treebank: {category[:40]!r}")
            size += len(category) + len(child.text or "") + 4
            if size > LONGEST:
                raise problem(f"a tree of more than {LONGEST:,} characters")
            if child.tag == "tok":
                inner += filter(None, [token(child, category)])
                lost += not len(spans[child])
            elif len(open_) > DEEPEST - 2:  # above it stands S1, below it a tag
                raise problem(f"a tree of more than {DEEPEST} levels")
            else:
                open_.append((child, len(words), [], iter(child)))
            continue
        if len(open_) == 1:
            break
        open_.pop()
        spans[node] = Span(start, len(words))
        if inner:
            open_[-1][2].append(f"({node.get('cat')} {' '.join(inner)})")
    if not words:
        return NO_WORDS
    tree = f"(S1 {' '.join(inner)})"
    if lost or fitting_tree(tree, words) is None:
        return NO_TEXT if lost else OTHER_LEAVES
    return Sentence(
        sentence_id=sentence_id,
        doc_id=pmid,
        split=split,
        words=tuple(words),
        tags=tuple(tags),
        tree=tree,
        coordinations=tuple(genia_coordinations(element, spans)),
        license=CORPORA["genia"].licence,
    )
