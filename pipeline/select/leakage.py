"""Candidates that say what a held-out sentence says: the filters of the discourse thesis (section 3.3.3).

Thesis and setting differ, so this is how it is read here. Its *filter by word order* leaves out an event
pair whose words overlap in order with more than 75 % of a pair in the evaluation data: here of a held-out
sentence, by the longest common subsequence (``text.overlap``). Its *filter by core event pairs* leaves out a
pair made of the same two core events: here a candidate whose first and last conjuncts have the same content
words (``text.heads.content_word``), in either order, and the same label, as those of a held-out gold
coordination.

Candidates have no tags, so the words of both sides get the tag that they most often have in the corpus: a
coordination is compared by one rule with its copy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.core.corpus_folder import SENTENCES_FILE, corpus_around, require_ingested
from pipeline.core.errors import InputError
from pipeline.core.schema import read_sentences
from pipeline.core.types import SPLITS, Sentence
from pipeline.text.heads import content_word
from pipeline.text.overlap import NearRepeats, needed
from pipeline.text.usual_tags import UsualTags

COPIED = "more than 75 % of the words of a held-out sentence, in its order"
SAME_HEADS = "heads and label of a held-out coordination"

COLUMNS = ("words", "conjuncts", "label")
"""Columns that are looked at; the conjuncts must fit the words."""

_Heads = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Leak:
    """A row that says what a held-out sentence says.

    Attributes:
        row: of the batch, from 0.
        kind: ``COPIED`` or ``SAME_HEADS``; of a row that is both, the former.
        what: which sentence it is, and what they have in common.
    """

    row: int
    kind: str
    what: str


def held_out_corpus(place: Path, corpus: Path | None) -> Path:
    """The corpus folder that rows are held against: the one named, else the nearest at or above them.

    Raises:
        InputError: there is none.
    """
    found = corpus or corpus_around(place.absolute())
    if found is None:
        raise InputError(
            "no corpus folder here or above, so nothing says what is held out", path=place,
            remedy="name the folder with --corpus",
        )  # fmt: skip
    return found


class HeldOut:
    """What must not be learned: the sentences of some splits, and their gold coordinations.

    Args:
        sentences: held-out ones.
        tags: of the corpus's words.
    """

    def __init__(self, sentences: Sequence[Sentence], tags: UsualTags) -> None:
        self._ids = [(sentence.sentence_id, len(sentence.words)) for sentence in sentences]
        self._overlap = NearRepeats([sentence.words for sentence in sentences])
        self._tags = tags
        self._heads: dict[_Heads, str] = {}
        for sentence in sentences:
            for each in sentence.evaluable:
                spans = (each.conjuncts[0], each.conjuncts[-1])
                parts = [sentence.words[span.start : span.end] for span in spans]
                self._heads.setdefault(self._key(each.label, parts), sentence.sentence_id)

    @classmethod
    def read(cls, place: Path, corpus: Path | None, splits: Sequence[str]) -> "HeldOut":
        """What some splits of a corpus hold.

        Args:
            place: where the rows lie that are to be held against it.
            corpus: its folder; None: the nearest at or above ``place``.
            splits: their names.

        Raises:
            InputError: there is no such corpus, it is damaged, or one of the splits has no sentence.
        """
        corpus = held_out_corpus(place, corpus)
        require_ingested(corpus)
        tags, found, there = UsualTags(), list[Sentence](), set[str]()
        for sentence in read_sentences(corpus / SENTENCES_FILE):
            there.add(sentence.split)
            if sentence.tags is not None:
                tags.add(sentence.words, sentence.tags)
            if sentence.split in splits:
                found.append(sentence)
        for split in splits:
            if split not in there:
                others = [each for each in SPLITS[1:] if each in there]
                raise InputError(
                    f"no sentence of split {split}", path=corpus / SENTENCES_FILE,
                    remedy=f"held-out splits there are: {', '.join(others) or 'none'}",
                )  # fmt: skip
        return cls(found, tags)

    def leaks(self, batch: pa.RecordBatch) -> Iterator[Leak]:
        """Which rows say what a held-out sentence says, in their order.

        Args:
            batch: rows with ``COLUMNS``, sound ones.
        """
        rows = batch.select(list(COLUMNS)).to_pylist()
        for place, row in enumerate(rows):
            leak = self._leak(row)
            if leak is not None:
                yield Leak(place, *leak)

    def _leak(self, row: dict[str, Any]) -> tuple[str, str] | None:
        words = row["words"]
        copied = self._overlap.find(words)
        if copied is not None:
            number, common = copied
            sentence_id, length = self._ids[number]
            least = needed(len(words), length)
            what = f"{common} words in the order of {sentence_id}'s {length}, {least} are too many"
            return COPIED, what
        spans = row["conjuncts"][0], row["conjuncts"][-1]
        key = self._key(row["label"], [words[span["start"] : span["end"]] for span in spans])
        known = self._heads.get(key)
        if known is None:
            return None
        return SAME_HEADS, f"{key[0]} of {key[1]} and {key[2]}, as in {known}"

    def _key(self, label: str, parts: Sequence[Sequence[str]]) -> _Heads:
        one, other = sorted(content_word(label, part, self._tags.of(part)) for part in parts)
        return label, one, other
