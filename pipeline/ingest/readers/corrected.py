"""Coordinations that people decided on, of the sentences of a corpus that was ingested before.

They come back from ``conjoin annotate``, or from where somebody corrected what ``predict`` or ``export``
wrote: JSON lines, CoNLL-U with ``Coord`` in MISC, and brat's documents. Of a sentence in them, what is not
said to be a coordination is none. It is found in its corpus by its id, else by its words, of those with the
same words in their order.

That the coordinators of a sentence join nothing at all is kept (``Sentence.examined``) where the form says
so: all were decided on; a line of JSON has no coordinations, and none that ``predict`` skipped; each
coordinator has ``Coord=none`` in MISC; a document of brat's has structures in other sentences. Where that
cannot be told from a sentence that nobody has looked at, it is text without annotation, and counted.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, NotRequired

from typing_extensions import TypedDict

from pipeline.core.corpus_folder import (
    SENTENCES_FILE,
    coordinators_of,
    corpus_name,
    require_coordination,
    require_ingested,
)
from pipeline.core.decisions import (
    FIRST,
    DecisionMade,
    fault_of_decision,
    read_decided,
    structures_of,
    to_ask,
    undecided,
    words_digest,
)
from pipeline.core.documents import Count, parse_json
from pipeline.core.errors import InputError
from pipeline.core.files import files_within, require_regular
from pipeline.core.schema import read_sentences
from pipeline.core.structures import fault_of_sentence
from pipeline.core.tally import Tally
from pipeline.core.types import (
    UNLABELLED,
    Coordination,
    Sentence,
    Span,
    holds_coordinator,
    is_label,
)
from pipeline.text.brat import CONFIGURATION, SUFFIXES, read_document
from pipeline.text.conllu import joining_nothing, read_conllu, structures_in_misc
from pipeline.text.lines import NumberedLines, open_lines
from pipeline.text.natural import join_words
from pipeline.text.unpacking import UnpackingAllowance, read_whole

NOT_CORRECTED = "sentence that nobody corrected: text without annotation"
HELD_OUT = "sentence outside the training split that nobody corrected"
UNFINISHED = "sentence with a coordinator that nobody decided on"
ASIDE = "sentence that was set aside"
SILENT = {
    ".jsonl": "sentence with coordinators that were skipped: not known to join nothing (leave them out of "
    "`skipped`)",
    ".conllu": "sentence with a coordinator without Coord: not known to join nothing (Coord=none says so)",
    ".ann": "sentence with a coordinator in a document without structures: brat cannot say that it was "
    "looked at (JSON lines and CoNLL-U can)",
}
"""Why a sentence without structures is not known to have none, by the form."""
OTHER_FILE = "file that is no corrected one"


@dataclass(frozen=True, slots=True)
class Corrected:
    """A sentence as it was corrected.

    Attributes:
        name: its id, as far as that is known.
        words: its words; None: it is known by its id alone.
        structures: its coordinations.
        lines: where each of them stands.
        path: of the file.
        line: where it begins.
        digest: ``words_digest`` of its words, where it has none.
        decisions: of a sentence of ``annotate``, which has no structures before its words are known.
        silent: why it is not known to have no structures, where it has none; empty: it is.
    """

    name: str | None
    words: tuple[str, ...] | None
    structures: tuple[Coordination, ...]
    lines: tuple[int, ...]
    path: Path
    line: int
    digest: str = ""
    decisions: tuple[DecisionMade, ...] = ()
    silent: str = ""

    def problem(self, what: str, remedy: str, line: int | None = None) -> InputError:
        """An error of this sentence."""
        at = line or self.line
        return InputError(what, path=self.path, line=at, sentence_id=self.name, remedy=remedy)


def read_corrected(
    source: Path, of: Path, tally: Tally, *, allowance: UnpackingAllowance
) -> Iterator[Sentence]:
    """Yield the sentences of a corpus in its order, those that were corrected with their coordinations.

    Neither trees nor tags are kept, for boundaries alone were looked at. The others of the training split
    are text without annotation, as U; the others of other splits are left out.

    Args:
        source: a file, a brat document (its .ann), or a folder of such.
        of: the corpus folder.
        tally: counts what was corrected, and with its reason what was not.
        allowance: what packed files may unpack to.

    Raises:
        InputError: with file and line: what is of no form; a sentence that the corpus does not have, or with
            other words; one that is corrected twice; conjuncts that overlap or cross.
        SettingsError: the corpus is one of another task.
    """
    require_coordination(of, "ingest corrected")
    require_ingested(of)
    corpus = _Corpus(of)
    found: dict[str, tuple[Corrected, tuple[Coordination, ...]]] = {}
    named: set[str] = set()
    refused: dict[str, tuple[str, str]] = {}
    for each in _read(source, corpus.coordinators, tally, allowance):
        own = corpus.sentence_of(each, named)
        named.add(own.sentence_id)
        if own.sentence_id in found and not each.silent:
            other = found[own.sentence_id][0]
            raise each.problem(
                f"a sentence that is corrected in {other.path}:{other.line}, too",
                "keep one of them",
            )
        for made, place in zip(each.decisions, each.lines if each.decisions else (), strict=True):
            if fault := fault_of_decision(own.words, made, own.coordinators):
                raise each.problem(fault, "correct it", place)
        if reason := each.silent or _why_not(own, each.decisions):
            refused[own.sentence_id] = reason, f"{each.path}:{each.line}"
            continue
        if each.decisions:
            each = replace(each, structures=structures_of(own.words, each.decisions))  # noqa: PLW2901
        if fault := fault_of_sentence(own.words, each.structures):
            line = each.lines[0] if len(each.lines) == 1 else None
            raise each.problem(fault, "correct it", line)
        found[own.sentence_id] = each, each.structures
    if not found:
        raise InputError(
            "no corrected sentence here", path=source,
            remedy="finish one with `conjoin annotate`, or name the folder of another's files",
        )  # fmt: skip
    prefix = f"{corpus_name(of)}/"
    for own in corpus.sentences:
        _, structures = found.get(own.sentence_id, (None, None))
        held_out = own.split != "train"
        if structures is None:
            usual = HELD_OUT if held_out else NOT_CORRECTED
            reason, where = refused.get(own.sentence_id, (usual, ""))
            tally.refuse(reason, place=where)
            if held_out:
                continue
        else:
            tally.keep()
        yield replace(
            own, sentence_id=f"corrected/{own.sentence_id.removeprefix(prefix)}", tags=None,
            tree=None, coordinations=structures or (),
            examined=structures == () and holds_coordinator(own.words, own.coordinators),
        )  # fmt: skip


def _why_not(own: Sentence, decisions: Sequence[DecisionMade]) -> str | None:
    """Why decisions are not all that a sentence needs; None if they are, or if it has another form."""
    if not decisions:
        return None
    known = {each.coordinator: each for each in decisions}
    if None in known:
        return ASIDE
    return UNFINISHED if undecided(own.words, known, own.coordinators) else None


class _Corpus:
    """The sentences of a corpus, by their ids and by their words."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.coordinators = folder, frozenset(coordinators_of(folder))
        self.sentences = list(read_sentences(folder / SENTENCES_FILE))
        self._by_id = {each.sentence_id: each for each in self.sentences}
        self._by_words: dict[tuple[str, ...], deque[Sentence]] = defaultdict(deque)
        for each in self.sentences:
            self._by_words[each.words].append(each)

    def sentence_of(self, each: Corrected, taken: Iterable[str]) -> Sentence:
        """The sentence that was corrected.

        Raises:
            InputError: the corpus has none, or it has other words.
        """
        own = self._by_id.get(each.name or "")
        if own is None and each.words is not None:
            same = self._by_words.get(each.words, deque())
            while len(same) > 1 and same[0].sentence_id in taken:
                same.popleft()
            own = same[0] if same else None
        if own is None:
            if each.words is not None and self._has_text(each.words):
                raise each.problem(_OTHER_WORDS, _SAME_WORDS)
            shown = f": “{' '.join(each.words)[:60]}”" if each.words else ""
            raise each.problem(
                f"a sentence that {self.folder} does not have{shown}", "name its corpus with --of"
            )
        if own.words != each.words and words_digest(own.words) != each.digest:
            raise each.problem(_OTHER_WORDS, _SAME_WORDS)
        return own

    def _has_text(self, words: Sequence[str]) -> bool:
        """Whether a sentence has the same characters, parted in another way."""
        wanted = _characters(words)
        return any(_characters(each.words) == wanted for each in self.sentences)


_OTHER_WORDS = "another tokenization than the corpus has of this sentence"
_SAME_WORDS = "keep the words as the corpus has them"


def _characters(words: Sequence[str]) -> str:
    return "".join(join_words(words).text.split())


def _read(
    source: Path, known: frozenset[str], tally: Tally, allowance: UnpackingAllowance
) -> Iterator[Corrected]:
    """The corrected sentences of a file, or of a folder's in the order of their names."""
    require_regular(source)
    if not source.is_dir():
        kind = _kind(source)
        if kind is None:
            raise InputError(
                "no file of corrected sentences", path=source,
                remedy="they are .jsonl, .conllu, or .ann with its .txt",
            )  # fmt: skip
        yield from _of_file(source, kind, known, tally, allowance)
        return
    for path in files_within(source, sorted(source.rglob("*"))):
        if (kind := _kind(path)) is not None:
            yield from _of_file(path, kind, known, tally, allowance)
        elif path.suffix == ".txt" and not path.with_suffix(".ann").is_file():
            tally.refuse("text without its .ann", place=ascii(str(path))[1:-1])
        elif path.suffix != ".txt" and path.name != CONFIGURATION:
            tally.refuse(OTHER_FILE, place=ascii(str(path))[1:-1])


_PACKED = {".gz", ".xz"}


def _kind(path: Path) -> str | None:
    suffixes = [suffix for suffix in path.suffixes if suffix not in _PACKED]
    known = suffixes[-1] if suffixes else ""
    return known if known in (".jsonl", ".conllu", SUFFIXES[1]) else None


def _of_file(
    path: Path, kind: str, known: frozenset[str], tally: Tally, allowance: UnpackingAllowance
) -> Iterator[Corrected]:
    with open_lines(path, allowance=allowance) as lines:
        if kind == ".conllu":
            for given in read_conllu(lines):
                marked = structures_in_misc(lines, given)
                silent = not marked and not joining_nothing(given).issuperset(
                    to_ask(given.words, known)
                )
                yield Corrected(
                    given.name, given.words, tuple(structure for structure, _ in marked),
                    tuple(number for _, number in marked), path, given.line,
                    silent=SILENT[kind] if silent else "",
                )  # fmt: skip
        elif kind == SUFFIXES[1]:
            text = read_whole(path.with_suffix(SUFFIXES[0]))
            document = read_document(text, lines, tally)
            # Of text that nobody has annotated brat wants an empty .ann, too.
            annotated = any(each.structures for each in document)
            for each in document:
                # The line is that of the text, or of the annotation where there is some.
                yield Corrected(
                    None, tuple(each.words), each.structures, each.lines, *(
                        (path, each.lines[0]) if each.lines
                        else (path.with_suffix(SUFFIXES[0]), each.line)
                    ),
                    silent="" if annotated or not to_ask(each.words, known) else SILENT[kind],
                )  # fmt: skip
        elif next(lines.peek(), "").startswith(FIRST):
            yield from _decided(lines, path)
        else:
            for number, line in lines:
                if line.strip():
                    yield _of_json(line, known, path, number)


def _decided(lines: NumberedLines, path: Path) -> Iterator[Corrected]:
    """The sentences of a file of ``annotate``, with what stands of the decisions on each."""
    decided = read_decided(lines, path)
    placed = sorted(
        zip(decided.decisions, decided.lines, strict=True), key=lambda each: each[0].sentence_id
    )
    for name, group in groupby(placed, key=lambda each: each[0].sentence_id):
        own = list(group)
        decisions, places = tuple(each for each, _ in own), tuple(line for _, line in own)
        for each, line in own:
            if each.words != own[0][0].words:
                raise InputError(
                    _OTHER_WORDS, path=path, line=line, sentence_id=name, remedy=_SAME_WORDS
                )
        yield Corrected(name, None, (), places, path, places[0], own[0][0].words, decisions)


class _Structure(TypedDict):
    coordinator: Count
    conjuncts: list[list[Count]]
    word: NotRequired[str]
    label: NotRequired[str | None]


class _Skipped(TypedDict):
    coordinator: Count | None


class _CorrectedLine(TypedDict):
    sentence_id: NotRequired[str | None]
    words: list[str]
    coordinations: list[_Structure]
    skipped: NotRequired[list[_Skipped]]


_AS_JSON = "write it as `conjoin predict --output jsonl` does"


def _of_json(line: str, known: frozenset[str], path: Path, number: int) -> Corrected:
    """A sentence as ``predict`` and ``export`` write it in JSON lines."""
    row: dict[str, Any] = parse_json(line, _CorrectedLine, path=path, line=number, remedy=_AS_JSON)
    words, structures = tuple(row["words"]), []
    for each in row["coordinations"]:
        k, label = each["coordinator"], each.get("label") or UNLABELLED
        if not k < len(words) or any(len(span) != 2 for span in each["conjuncts"]):
            raise InputError(
                f"coordinator {k} of {len(words)} words, or a conjunct that is no pair of numbers",
                path=path, line=number, remedy=_AS_JSON,
            )  # fmt: skip
        if not is_label(label):
            raise InputError(f"no label: {label[:40]!r}", path=path, line=number, remedy=_AS_JSON)
        spans = tuple(Span(*span) for span in each["conjuncts"])
        structures.append(Coordination(k, each.get("word", words[k]), label, spans))
    asked = to_ask(words, known)
    skipped = {each["coordinator"] for each in row.get("skipped", ())}  # None: the whole sentence
    silent = not structures and asked and not skipped.isdisjoint((None, *asked))
    return Corrected(
        row.get("sentence_id"), words, tuple(structures), (), path, number,
        silent=SILENT[".jsonl"] if silent else "",
    )  # fmt: skip
