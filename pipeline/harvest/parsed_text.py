"""Text that came parsed as a source of candidates: the coordinations of its dependency trees."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from pipeline.core.annotation import Annotation, unknown
from pipeline.core.errors import InputError
from pipeline.core.types import Candidate, Reject, Sentence
from pipeline.corpus.parsed_text import parsed_text
from pipeline.executor.run import OnBatch
from pipeline.harvest.natural_text import EARLIER, UNFOUND, Made, NaturalTextSource, rows_at

WITHOUT = "sentences with a coordinator left out: they did not come parsed"
REFUSED = "structures of the trees left out"


class ParsedTextSource(NaturalTextSource):
    """Its sentences with a coordinator, outside L; nothing is parsed, and people's trees are not harvested.

    Raises:
        InputError: as ``NaturalTextSource``; no text of the corpus came parsed.
    """

    def _open(self) -> None:
        text = parsed_text(self._settings.corpus)
        if text is None:
            raise InputError(
                "no text of this corpus came parsed", path=self._settings.corpus,
                remedy="give it to `conjoin ingest` with --unlabelled parsed.conllu, or leave --parser out",
            )  # fmt: skip
        self._text, self._learned, self.gpus = text, frozenset(), False

    def _why_left_out(self, sentence: Sentence) -> str | None:
        without = None if sentence.sentence_id in self._text.ids else WITHOUT
        return super()._why_left_out(sentence) or without

    def inputs(self) -> dict[str, Any]:
        """The same, and the trees."""
        return {**super().inputs(), **self._text.inputs}

    def model(self) -> str:
        """No row of the trees says whose they are."""
        return self._text.name

    def annotation(self) -> Annotation:
        """What the parser of the text learned from is not known."""
        return unknown(self._text.name)

    def items(self, unit: int) -> tuple[list[Sentence], dict[str, int]]:
        """The sentences of a unit with the coordinations of their trees, and what of these is none."""
        sentences, _ = super().items(unit)
        phrases = self._text.phrases(sentences)
        refused: Counter[str] = Counter()
        for each in phrases.values():
            refused.update({f"{REFUSED}: {why}": count for why, count in each.refused.items()})
        return [
            replace(each, coordinations=phrases[each.sentence_id].coordinations)
            for each in sentences
        ], dict(refused)

    def prepare(self, device: torch.device) -> Callable[[Sequence[Sentence], OnBatch], Made]:
        """There is nothing to load; returns what makes the rows of sentences."""
        del device

        def make(sentences: Sequence[Sentence], on_batch: OnBatch) -> Made:
            rows: list[Candidate | Reject] = []
            notes = Counter({UNFOUND: 0, EARLIER: 0})
            for each in sentences:
                rows += rows_at(
                    each, each.coordinations, notes, unbalanced=self._settings.unbalanced
                )
            on_batch(len(sentences), self.words_of(sentences))
            return rows, dict(notes)

        return make
