"""The types that pass between the stages: spans, coordinations, sentences, candidates.

All spans are half-open word indices ``[start, end)``.
"""

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal

from pipeline.core.files import digest_of

USUAL_COORDINATORS = ("and", "or", "but", "nor", "and/or")
"""Coordinators a coordination must have to be evaluated (lower case; paper, footnote 2).

Of English, and of every corpus that names no others; the most frequent first.
"""

COORDINATORS = frozenset(USUAL_COORDINATORS)
"""The same, to ask whether a word is one."""

NEGATIONS = frozenset({"not", "n't", "never", "no", "nobody", "nothing", "none", "neither", "nor"})
"""Words that deny the clause they stand in (lower case)."""

SPLITS = ("train", "dev", "test", "test2")
"""The parts of a corpus. ``test2`` is another test split, out of domain, which few corpora have; nothing is
trained, tuned or chosen on it."""

USUAL_SPLITS = SPLITS[:3]
"""Those that counts always show."""

REFERENCE_LABELS = ("NP", "VP", "ADJP", "ADVP", "PP", "SBAR", "S", "NML")
"""Constituent labels a reference span may have: those of §5.1, and newer treebanks' noun phrases before
a noun ("[bone marrow] and [muscle] cells"), which the Penn Treebank left without brackets."""

UNDECIDED = "coordinator in raw text"
"""Why a sentence for which ``is_undecided_seed`` holds is no source: a structure that it has would go
unmarked in every candidate made of it."""

LABEL = "[A-Z][A-Z0-9$-]{0,15}"
"""A regular expression: labels that given reference spans may have, such as ``NP`` and ``NP-SBJ``."""


def is_label(text: str) -> bool:
    """Whether a text has the form of a constituent's label, which all of candidates have."""
    return re.fullmatch(LABEL, text) is not None


def label(text: str) -> str:
    """The text, if it is a label; for settings and documents.

    Raises:
        ValueError: it is none.
    """
    if not is_label(text):
        rule = "1 to 16 characters A-Z, 0-9, - and $, the first a letter"
        meant = f"; did you mean {text.upper()!r}?" if is_label(text.upper()) else ""
        raise ValueError(f"{text[:40]!r} is no label: {rule}{meant}")
    return text


CRITERIA = ("whole", "outer", "inner", "exact")
"""By which a predicted structure is right: see ``tasks/coordination/figures.py``."""

CATEGORIES: dict[str, frozenset[str]] = {
    "NP, NX": frozenset({"NP", "NX"}),
    "ADJP, ADVP": frozenset({"ADJP", "ADVP"}),
    "VP": frozenset({"VP"}),
    "PP": frozenset({"PP"}),
    "S, SBAR": frozenset({"S", "SBAR"}),
}
"""Columns of Table 2, and the labels of each."""

REST = "other"
"""The column of what stands in no other (UCP, QP, ...)."""

FURTHER_CATEGORIES = {"NML": frozenset({"NML"}), REST: frozenset[str]()}
"""Columns that follow those of Table 2 where there is something in them; all together sum to overall."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Words ``start`` up to but not including ``end``."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Coordination:
    """A coordinate structure: conjuncts in sentence order, linked by the word at ``coordinator``.

    ``word`` is the coordinator as written; ``label`` the constituent label of the whole structure.
    """

    coordinator: int
    word: str
    label: str
    conjuncts: tuple[Span, ...]

    @property
    def start(self) -> int:
        """First word of the first conjunct."""
        return self.conjuncts[0].start

    @property
    def end(self) -> int:
        """One past the last word of the last conjunct."""
        return self.conjuncts[-1].end


@dataclass(frozen=True, slots=True)
class Sentence:
    """A treebank or raw-text sentence.

    ``words`` hold surface characters (brackets and slashes unescaped, directed treebank quotes
    kept). ``tree`` is a one-line PTB bracketing without empty elements whose leaves, unescaped, are
    ``words``. ``tags`` and ``tree`` are None for raw text. ``sentence_id`` is unique in its corpus and
    begins with the corpus's name and a slash; ``split`` is one of ``SPLITS``. ``examined`` is True where,
    without tags or tree, somebody said that its coordinators join nothing. ``coordinators`` are its
    corpus's, in lower case: one set for all sentences, and no column of theirs.
    """

    sentence_id: str
    doc_id: str
    split: str
    words: tuple[str, ...]
    tags: tuple[str, ...] | None
    tree: str | None
    coordinations: tuple[Coordination, ...]
    license: str
    examined: bool = field(default=False, repr=False)
    coordinators: frozenset[str] = field(default=COORDINATORS, repr=False)

    @property
    def evaluable(self) -> tuple[Coordination, ...]:
        """Those of its coordinations that are evaluated: one of the corpus's coordinators links them."""
        return tuple(c for c in self.coordinations if c.word.lower() in self.coordinators)


@dataclass(frozen=True, slots=True)
class Donor:
    """Where a fill's words stand: words ``start`` up to ``end`` of a sentence of the same corpus."""

    sentence_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Attested:
    """A constituent that somebody wrote, offered as a fill.

    ``words`` are the treebank's, ``donor`` says where they stand, and ``license`` covers that
    sentence and the one they are put into. ``left_out`` are words of that sentence inside the donor that
    are not among ``words``: a clause's verb; None: all are.
    """

    words: tuple[str, ...]
    donor: Donor
    license: str
    left_out: Span | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """What a gapped conjunct lacks: words ``start`` up to ``end`` of its donor's sentence.

    ``at`` is the index, in the candidate's words, of the word before which they would stand.
    """

    at: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A generated sentence with the coordinate structure that generation put there (§3.1).

    ``reference`` is the reference span in the *source* sentence; ``conjuncts`` are spans in
    ``words``, the generated sentence. ``score`` is the mean synchronized log-probability per fill
    token; ``score_append`` and ``score_prepend`` are those of the same fill under S′(1) and S′(2)
    alone. Without synchronization only S′(1) is run: ``score_append`` equals ``score`` and
    ``score_prepend`` is None. ``donor`` says where an attested fill was taken from; None: a language
    model wrote it. ``license`` covers the source sentence and the donors.

    ``gap`` says which of the donor's words the last conjunct lacks (``generate --gap``); None: it has all.

    Of more than two conjuncts the first is the reference, ``fill`` and ``donor`` are the last one's, and
    ``middle_donors`` those of the conjuncts between; the scores are then the means of all fills'.
    """

    candidate_id: str
    sentence_id: str
    words: tuple[str, ...]
    coordinator: int
    conjuncts: tuple[Span, ...]
    label: str
    reference: Span
    fill: str
    score: float | None
    score_append: float | None
    score_prepend: float | None
    license: str
    donor: Donor | None = None
    middle_donors: tuple[Donor, ...] | None = None
    gap: Gap | None = None

    @property
    def coordination(self) -> Coordination:
        """The generated coordinate structure."""
        word = self.words[self.coordinator]
        return Coordination(self.coordinator, word, self.label, self.conjuncts)

    @property
    def donors(self) -> tuple[Donor, ...]:
        """Where the fills were taken from, in the order of the conjuncts; none that a model wrote."""
        return () if self.donor is None else (*(self.middle_donors or ()), self.donor)


def candidate_id(
    sentence_id: str,
    words: Sequence[str],
    coordinator: int,
    reference: Span,
    conjuncts: Sequence[Span],
) -> str:
    """Content hash: equal content has equal ids in any corpus, whatever model wrote it.

    ``corpus/content.py`` computes the same for whole batches.

    Returns:
        24 hex digits.
    """
    spans = [[s.start, s.end] for s in (reference, *conjuncts)]
    return digest_of([sentence_id, list(words), coordinator, spans])[:24]


@dataclass(frozen=True, slots=True)
class Reject:
    """A candidate that generation refused, with the reason; fields it never got are empty."""

    candidate: Candidate
    reason: str


Kind = Literal[
    "string", "list of string", "int32", "float32", "span", "list of span", "donor", "list of donor", "gap",
]  # fmt: skip
"""Types of columns; ``core.schema`` has them as Arrow's, and as the types above."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of candidates: what becomes of it wherever rows of candidates go.

    Attributes:
        name: its name; in rows of ``generate`` that of a field of ``Candidate``, or one that
            ``text.columns`` makes.
        kind: its type.
        meaning: in Markdown, as the documents of a release say it. ``resources/release/words.yaml`` has other
            words for some releases.
        null: whether it may be null.
        of: which rows have it: ``candidate``: all; ``release``: those of releases, `merge` and `select`;
            ``trees``: the usable ones of a release with trees; ``reject``: rejects; ``stand-off``: only those
            of a stand-off release.
        stand_off: what a stand-off release does with it: ``kept``, as it stands; ``in part``: null
            where it is the source's text; ``left out``: it says the source's words, and whoever has these
            makes it again. Text that is kept must be one short name (``release.readable``).
        since: the format of releases that brought it (``FORMAT`` of ``corpus.manifest`` is the highest).
            Files of earlier versions lack it; it is null there.
        digest: whether it is in the row digest: not if it only says again what others do. What came after the
            first format is there only where it is not null, so that rows keep the digest that they had.
        score: it is a mean log-probability, which ``validate`` holds it against and ``stats`` describes.
        exported_span: what ``export`` calls the span of a struct that has more than a span.
    """

    name: str
    kind: Kind
    meaning: str
    null: bool = False
    of: Literal["candidate", "release", "trees", "reject", "stand-off"] = "candidate"
    stand_off: Literal["kept", "in part", "left out"] = "kept"
    since: int = 1
    digest: bool = True
    score: bool = False
    exported_span: str = "span"


COLUMNS: tuple[Column, ...] = (
    Column(
        "candidate_id", "string",
        "hash of the content (sentence, words, coordinator, spans); equal content has equal ids whatever "
        "wrote it",
    ),
    Column("sentence_id", "string", "the source sentence"),
    Column(
        "words", "list of string",
        "the generated sentence, word by word: the source's words, the inserted coordinator and the fill",
        stand_off="left out",
    ),
    Column(
        "text", "string",
        "the generated sentence as text, its words with the spacing and the quotes of print",
        null=True, stand_off="left out", since=3, digest=False,
    ),
    Column(
        "offsets", "list of span",
        "where in `text` each word stands: half-open ranges `[start, end)` of characters (Unicode code "
        "points)",
        null=True, stand_off="left out", since=3, digest=False,
    ),
    Column(
        "coordinator", "int32",
        "index in `words` of the inserted coordinator, from 0; -1 in a reject without a fill",
    ),
    Column("word", "string", "the coordinator as written", null=True, of="stand-off"),
    Column(
        "conjuncts", "list of span",
        "the two conjuncts as half-open ranges `[start, end)` of `words`: the reference span, which is the "
        "source's, and the fill, which was put in",
    ),
    Column("label", "string", "category of the reference span (NP, VP, …); `X` for a random word sequence"),
    Column("reference", "span", "the reference span in the source sentence, without what was inserted"),
    Column(
        "fill", "string",
        "the second conjunct as the language model wrote it; of an attested one the natural text of its "
        "words",
        stand_off="in part",
    ),
    Column(
        "fill_words", "list of string",
        "the fill's words, as they stand in the sentence",
        null=True, of="stand-off",
    ),
    Column(
        "score", "float32",
        "mean log-probability per token of the fill, in both contexts at once if the run was synchronized "
        "(its setting `sync`), else the same as `score_append`",
        null=True, score=True,
    ),
    Column(
        "score_append", "float32",
        "mean log-probability per token of the fill where the fill follows the reference (“X and ___”)",
        null=True, score=True,
    ),
    Column(
        "score_prepend", "float32",
        "the same where it comes before the reference (“___ and X”); null without synchronization",
        null=True, score=True,
    ),
    Column("license", "string", "licence of the source sentence and of the donor's, an SPDX expression"),
    Column(
        "donor", "donor",
        "where an attested fill was taken from: the words `[start, end)` of another sentence of the "
        "source; null where a language model wrote the fill",
        null=True, since=2,
    ),
    Column(
        "middle_donors", "list of donor",
        "the same of the fills before the last; null where there are none",
        null=True, since=4,
    ),
    Column(
        "gap", "gap",
        "of a clause without its verb: words `[start, end)` of the donor's sentence that the fill lacks, "
        "and the word `at` before which they would stand; else null",
        null=True, since=5, exported_span="donor_span",
    ),
    Column(
        "generation", "string",
        "the run that made the row: a key of `generations` in `manifest.json`",
        of="release",
    ),
    Column(
        "tree", "string",
        "constituency tree of the sentence in Penn brackets on one line: the source's, with the reference "
        "span's constituent replaced by the coordination; its leaves are `words` (`(` and `)` as `-LRB-` "
        "and `-RRB-`, and in words that would be read as others `-` and `\\` as `-HYPHEN-` and "
        "`-BACKSLASH-`); null where none could be made",
        null=True, of="trees",
    ),
    Column(
        "tree_from", "string",
        "`treebank` where all of `tree` is gold, `parser` where at least a part is a parser's; null "
        "without a tree",
        null=True, of="trees",
    ),
    Column("reason", "string", "why the row was refused", of="reject"),
)  # fmt: skip
"""All columns that rows of candidates may have, in their order. A new one is an entry here, and a field of
``Candidate`` above if it is known when a candidate is made: schemas, row digest, stand-off releases, their
documents, `validate` and `export` follow. ``since`` is then one more than the last, and it may be null.
"""


def is_unlabelled_seed(sentence: Sentence, min_words: int = 10) -> bool:
    """Whether a sentence belongs to U: training split, no coordination, enough context (§5.1).

    "No coordination" follows the paper's statistic: none whose coordinator is evaluable. Of raw text,
    which no gold speaks of, that is known only where no word is a coordinator.
    """
    return (
        _may_be_seed(sentence, min_words) and not sentence.evaluable and not is_undecided(sentence)
    )


def is_undecided_seed(sentence: Sentence, min_words: int = 10) -> bool:
    """Whether a sentence would belong to U, if only it were known what its coordinators join.

    What U leaves out for the reason ``UNDECIDED``.
    """
    return _may_be_seed(sentence, min_words) and is_undecided(sentence)


def _may_be_seed(sentence: Sentence, min_words: int) -> bool:
    return sentence.split == "train" and len(sentence.words) >= min_words


def is_undecided(sentence: Sentence) -> bool:
    """Whether nobody has said what its coordinators join, if anything: no tree, tags, annotation, person."""
    silent = sentence.tags is None and sentence.tree is None and not sentence.coordinations
    return (
        silent
        and not sentence.examined
        and holds_coordinator(sentence.words, sentence.coordinators)
    )


def holds_coordinator(words: Iterable[str], coordinators: AbstractSet[str] = COORDINATORS) -> bool:
    """Whether a word is one of some coordinators, which are in lower case, in any case."""
    return not coordinators.isdisjoint(word.lower() for word in words)


def bracketed(words: Sequence[str], spans: Sequence[Span]) -> str:
    """The words joined by spaces with ``[`` ``]`` around each span, as in Table 4."""
    starts = [s.start for s in spans]
    ends = [s.end - 1 for s in spans]
    return " ".join(
        "[" * starts.count(i) + word + "]" * ends.count(i) for i, word in enumerate(words)
    )


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """A sentence of U, as much of it as generation needs."""

    sentence_id: str
    words: tuple[str, ...]
    license: str


@dataclass(frozen=True, slots=True)
class Structure:
    """What is built around a reference span: its words besides the conjuncts, and how many these are.

    ``preconjunction`` stands before the first conjunct (either … or); None: nothing does. With ``comma``
    there is one before the coordinator; conjuncts that no coordinator parts have one between them
    anyway.
    """

    coordinator: str
    preconjunction: str | None = None
    conjuncts: int = 2
    comma: bool = False


@dataclass(frozen=True, slots=True)
class PlacedConjunct:
    """A conjunct that was put beside a reference already: its words, its scores, and its donor if any."""

    words: tuple[str, ...]
    score: float | None = None
    score_append: float | None = None
    score_prepend: float | None = None
    donor: Donor | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A sentence with the span to be coordinated.

    ``structure`` is what to build around it; None: the usual coordinator and one more conjunct.
    ``placed`` are further conjuncts in their order, of which the next sees all; ``words`` and ``span``
    are the source's all the same. ``staying`` are labels of what a gapped clause beside it must keep behind
    its verb; None: it keeps the verb.
    """

    sentence_id: str
    words: tuple[str, ...]
    span: Span
    label: str
    license: str
    structure: Structure | None = None
    placed: tuple[PlacedConjunct, ...] = ()
    staying: tuple[str, ...] | None = None


UNLABELLED = "X"
"""Label of a reference span that is no constituent: the treebank's own mark for "unknown"."""
