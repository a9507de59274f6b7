"""How a pool of attested constituents is made: its files, and what it is made of.

Sentences and tokens go to the disk as they are read; kept in memory are 20 bytes a constituent, and
while they are sorted 20 more.
"""

import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from nltk.tree import Tree

from pipeline.core.console import Meter
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of, sha256_of, write_json
from pipeline.core.settings import Match
from pipeline.core.types import COORDINATORS, SourceSentence, Span, holds_coordinator
from pipeline.text.agreement import agreement
from pipeline.text.constituents import capital_of_place, constituent_spans
from pipeline.text.gapping import CLAUSE, GappableClause, clauses_in
from pipeline.text.heads import head_tag
from pipeline.text.natural import join_words
from pipeline.text.trees import fitting_tree

COORDINATED = "constituents not in the pool: a coordinator in them"
CAPITAL = "constituents not in the pool: a capital that only begins their sentence"
NO_TOKENS = "constituents not in the pool: no tokens, or a special token of the model"
NO_TREE = "sentences not in the pool: no tree of their words"
NO_TAGS = "constituents not in the pool: no part of speech of their head"
NO_DEPENDENCIES = "constituents not in the pool: no dependency tree of their sentence"
NO_FEATURES = (
    "sentences in the pool without features: of theirs the part of speech alone is matched"
)

FORMAT = 6
"""Counts up when a pool is made or written in another way, so that older ones are not read."""

ARRAYS = {
    "sentence": "i", "start": "i", "end": "i", "token": "q",  # of each constituent, in the pool's order
    "license": "H",  # of each sentence, into the card's list
    "word_ends": "q", "tag_ends": "q", "id_ends": "q",  # of each sentence, and of all: in the texts
    "key": "Q", "row": "i",  # sentences by a hash of their ids, sorted: to find one again
}  # fmt: skip
"""Files of numbers, in the machine's byte order, by their type as of ``array``."""

GAP_ARRAYS = {"gap_start": "i", "gap_end": "i"}
"""Further ones where the constituents are clauses without their verbs: the words that are left out."""

TEXTS = {"words": "word_ends", "tags": "tag_ends", "ids": "id_ends"}
"""Files of texts, one text a sentence, words and tags a line each; and the file that has their ends."""

TOKENS = "tokens"
"""The file of tokens: ``H``, or ``i`` for a large vocabulary; ``token`` has the first of each constituent."""

FILES = (*ARRAYS, *TEXTS, TOKENS)
"""Those that every pool has."""

_PIECE = 4096  # constituents tokenized together


class Trees(Protocol):
    """Sentences with their trees, as ``core.corpus_folder.TreeRows`` and ``plan.GoldRows`` have them."""

    def __len__(self) -> int: ...

    def read(self, rows: range) -> Iterator[tuple[SourceSentence, str | None]]:
        """Sentence and bracketing of some consecutive ones."""
        ...


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """What a pool is made of.

    Attributes:
        corpus: the corpus folder.
        trees: its sentences with their trees.
        inputs: digests of the files that these come from.
        tokens: makes the tokens of texts as fills; none for a text that cannot be a fill.
        tokenizer: identifies what makes the tokens.
        vocabulary: tokens that there are.
        match: what a reference and its donors have in common.
        tags: reads each sentence of the corpus, in its order, with what its words have of that: tags, which
            are asked for where a tree has none, or marks of agreement; None where the label is all.
        coordinators: whether constituents that hold a coordinator are taken, too.
        known: the coordinators of the corpus.
        gaps: whether they are clauses without their verb, and nothing else.
    """

    corpus: Path
    trees: Trees
    inputs: Mapping[str, Any]
    tokens: Callable[[Sequence[str]], list[list[int]]]
    tokenizer: str
    vocabulary: int
    match: Match = "label"
    tags: Callable[[], Iterator[tuple[str, Sequence[str] | None]]] | None = None
    coordinators: bool = False
    known: AbstractSet[str] = COORDINATORS
    gaps: bool = False

    @property
    def kind(self) -> list[Any]:
        """What tells it from other pools that a run on the same corpus may need."""
        place, heads = str(self.corpus.resolve()), self.match == "head"
        own = [place, sorted(self.inputs), self.tokenizer, heads, self.coordinators]
        own += [self.match] if self.match == "features" else []
        return [*own, "gaps"] if self.gaps else own

    @property
    def facts(self) -> dict[str, Any]:
        """All that the pool depends on."""
        return {
            "format": FORMAT,
            "inputs": dict(self.inputs),
            "tokenizer": self.tokenizer,
            "match": self.match,
            "coordinators": self.coordinators,
            **({"gaps": True} if self.gaps else {}),
        }


def category_of(
    label: str, match: Match, tags: Sequence[str], staying: Sequence[str] | None = None
) -> str:
    """What a reference and its donors have in common: the label, and what ``match`` asks of the head.

    Args:
        label: of the constituent.
        match: what they have in common.
        tags: of its words, or their marks of agreement; where the label is all, any.
        staying: labels of what a clause without its verb keeps; None: it keeps the verb.
    """
    head = []
    if match != "label":
        head = [head_tag(label, tags) if match == "head" else agreement(label, tags)]
    return " ".join([label, *head, *(staying or ())])


def key_of_id(sentence_id: str) -> int:
    """A hash of 64 bits."""
    return int.from_bytes(sha256(sentence_id.encode()).digest()[:8], "big")


def build_pool(plan: PoolPlan, folder: Path) -> None:
    """Write the pool of a plan into an empty folder.

    Raises:
        InputError: no tree has a constituent to offer; heads matter, and no sentence says what they are.
    """
    with _Writer(plan, folder) as writer:
        with Meter("pool of constituents", len(plan.trees)) as meter:
            sentences = plan.trees.read(range(len(plan.trees)))
            for number, (source, bracketing) in enumerate(sentences, 1):
                writer.add(source, bracketing)
                meter.at(number)
        writer.finish()


class _Writer(ExitStack):
    """Takes sentence by sentence."""

    def __init__(self, plan: PoolPlan, folder: Path) -> None:
        super().__init__()
        self._plan, self._folder = plan, folder
        self._files = {
            name: self.enter_context((folder / name).open("wb")) for name in (*TEXTS, TOKENS)
        }
        self._ends = {name: array("q", [0]) for name in TEXTS}
        columns = ("sentence", "start", "end", "length", *(GAP_ARRAYS if plan.gaps else ()))
        self._columns = {name: array("i") for name in columns}
        self._category, self._license, self._keys = array("H"), array("H"), array("Q")
        self._categories: dict[str, int] = {}
        self._licenses: dict[str, int] = {}
        self._left_out = Counter[str]()
        self._waiting: list[tuple[int, Span, Span, str, str]] = []
        self._tagged = plan.tags() if plan.tags is not None else iter(())
        self._token = "H" if plan.vocabulary <= 1 << 16 else "i"

    def add(self, source: SourceSentence, bracketing: str | None) -> None:
        """Take a sentence and, if it has a tree of its words, its constituents."""
        row = len(self._keys)
        tree = fitting_tree(bracketing, source.words)
        match, tags = self._plan.match, list[str]()
        if tree is not None and match != "label":
            tags = [tag for _, tag in tree.pos()]
            if match == "features" or set(tags) == {"XX"}:  # a parser trained here writes no tags
                tags = list(self._tags_of(source.sentence_id))
            if match == "features" and tags and not any("=" in tag for tag in tags):
                self._left_out[NO_FEATURES] += 1
        for name, text in ("words", source.words), ("tags", tags), ("ids", [source.sentence_id]):
            end = self._files[name].write("\n".join(text).encode())
            self._ends[name].append(self._ends[name][-1] + end)
        self._keys.append(key_of_id(source.sentence_id))
        self._license.append(self._licenses.setdefault(source.license, len(self._licenses)))
        if tree is None:
            self._left_out[NO_TREE] += 1
            return
        gaps = self._gaps(tree) if self._plan.gaps else {}
        first_tag = tree[tree.leaf_treeposition(0)[:-1]].label()
        capital = capital_of_place(source.words[0], first_tag)
        for span, label in constituent_spans(source.words, tree):
            words = source.words[span.start : span.end]
            gap, staying = Span(0, 0), None
            if self._plan.gaps:
                if label != CLAUSE or span not in gaps:
                    continue
                gap, staying = gaps[span].verbs, gaps[span].staying
                words = (*source.words[span.start : gap.start], *source.words[gap.end : span.end])
            if reason := self._against(
                words, capital and not span.start, match != "label" and not tags
            ):
                self._left_out[reason] += 1
                continue
            category = category_of(label, match, tags[span.start : span.end], staying)
            self._waiting.append((row, span, gap, category, join_words(words).text))
        if len(self._waiting) >= _PIECE:
            self._measure()

    def _against(self, words: Sequence[str], capital: bool, untagged: bool) -> str | None:
        """Why a constituent is not taken; None: it is."""
        if not self._plan.coordinators and holds_coordinator(words, self._plan.known):
            return COORDINATED
        if capital:
            return CAPITAL
        if not untagged:
            return None
        return NO_DEPENDENCIES if self._plan.match == "features" else NO_TAGS

    def _gaps(self, tree: Tree) -> dict[Span, GappableClause]:
        """The clauses that can do without their verb; of the others the reason is counted."""
        found = {}
        for span, clause in clauses_in(tree):
            if isinstance(clause, GappableClause):
                found[span] = clause
            else:
                self._left_out[f"clauses not in the pool: {clause}"] += 1
        return found

    def _tags_of(self, sentence_id: str) -> Sequence[str]:
        return next((tags or () for name, tags in self._tagged if name == sentence_id), ())

    def _measure(self) -> None:
        """Take in what waits, with its tokens."""
        codes = self._categories
        tokens = self._plan.tokens([text for *_, text in self._waiting])
        for (row, span, gap, category, _), ids in zip(self._waiting, tokens, strict=True):
            if not ids:
                self._left_out[NO_TOKENS] += 1
                continue
            values = {"sentence": row, "start": span.start, "end": span.end, "length": len(ids)}
            values |= {"gap_start": gap.start, "gap_end": gap.end} if self._plan.gaps else {}
            for name, value in values.items():
                self._columns[name].append(value)
            self._category.append(codes.setdefault(category, len(codes)))
            array(self._token, ids).tofile(self._files[TOKENS])
        self._waiting.clear()

    def finish(self) -> None:
        """Sort the constituents and write the rest."""
        self._measure()
        if not self._category:
            raise self._nothing()
        columns = {name: np.frombuffer(each, "i4") for name, each in self._columns.items()}
        # By name, so that the order does not depend on which sentence came first.
        names = sorted(self._categories)
        ranks = np.empty(len(names), "u2")
        ranks[[self._categories[name] for name in names]] = range(len(names))
        category = ranks[np.frombuffer(self._category, "u2")]
        length = columns.pop("length")
        order = np.lexsort((length, category))  # stable: else as in the corpus
        for name, column in columns.items():
            self._write(name, column[order])
        self._write("token", (np.cumsum(length, dtype="i8") - length)[order])
        for name, file in TEXTS.items():
            self._write(file, np.frombuffer(self._ends[name], "i8"))
        self._write("license", np.frombuffer(self._license, "u2"))
        keys = np.frombuffer(self._keys, "u8")
        by_key = np.argsort(keys, kind="stable")
        self._write("key", keys[by_key])
        self._write("row", by_key.astype("i4"))
        self.close()
        about = {
            "licenses": list(self._licenses),
            "categories": _places(names, category[order], length[order]),
            "token": self._token,
        }
        files = (*FILES, *(GAP_ARRAYS if self._plan.gaps else ()))
        paths = [self._folder / name for name in files]
        card = {
            **about,
            "facts": self._plan.facts,
            "digest": digest_of([about, [sha256_of(path) for path in paths]]),
            "left_out": dict(sorted(self._left_out.items())),
            "byteorder": sys.byteorder,
            "bytes": {path.name: path.stat().st_size for path in paths},
        }
        write_json(self._folder / "card.json", card)

    def _write(self, name: str, numbers: npt.NDArray[Any]) -> None:
        numbers.tofile(self._folder / name)

    def _nothing(self) -> InputError:
        corpus = self._plan.corpus
        for reason, what in (NO_TAGS, "parts of speech"), (NO_DEPENDENCIES, "a dependency tree"):
            if self._left_out[reason]:
                return InputError(
                    f"no sentence has {what}, which --match {self._plan.match} needs",
                    path=corpus, remedy="choose --match label",
                )  # fmt: skip
        if self._plan.gaps:
            return InputError(
                "no clause inside a sentence whose verb could be left out", path=corpus,
                remedy="check that the trees have parts of speech, or generate without --gap",
            )  # fmt: skip
        return InputError(
            "no tree has a constituent to offer", path=corpus, remedy="check what preparse printed"
        )


def _places(
    names: Sequence[str], category: npt.NDArray[np.uint16], length: npt.NDArray[np.int32]
) -> dict[str, dict[str, list[int]]]:
    """Of each category its lengths, and the places where each begins and the last ends."""
    found = {}
    for rank, name in enumerate(names):
        begin, end = np.searchsorted(category, rank), np.searchsorted(category, rank, "right")
        lengths, first = np.unique(length[begin:end], return_index=True)
        places = [*(int(begin) + first).tolist(), int(end)]
        found[name] = {"lengths": lengths.tolist(), "places": places}
    return found
