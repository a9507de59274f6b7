"""New second arguments that somebody writes for pairs of a confused sense, and judges (thesis, §4.4.1).

Who that is keeps to ``PairWriter``: a language model that is asked in two prompts (``prompted``), or the
embedded world (``oracle``).
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch

from pipeline.core.annotation import Annotation
from pipeline.core.words import fault_of_word, is_without_control
from pipeline.corpus.licences import combined
from pipeline.executor.run import OnBatch
from pipeline.tasks.relations.pairs import Pair
from pipeline.tasks.relations.synthesize.attested import filtered_by_model
from pipeline.tasks.relations.synthesize.confused import Confused, are_cut
from pipeline.tasks.relations.synthesize.rows import (
    ARG1_AGAIN,
    CONTROL,
    CUT,
    EMPTY,
    NO_LIST,
    NO_VERDICT,
    OWN_AGAIN,
    SIGN,
    TOO_LONG,
    TWICE,
    YES,
    Synthetic,
    SyntheticFiles,
    listed_senses,
)
from pipeline.tasks.relations.synthesize.settings import SynthesizeSettings


@dataclass(frozen=True, slots=True)
class ConfusedPair:
    """A pair of L that new ones are written for: of ``label``, which is taken for ``against``."""

    pair: Pair
    label: str
    against: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WrittenArguments:
    """What was written for a source.

    Attributes:
        arguments: new second arguments, as they were written.
        missing: why nothing came, where nothing did; there are no arguments then.
        prompt: digest of what was asked, where a language model was.
        completion: its answer.
        is_last_cut: whether the last argument may go on, since the answer's tokens ended in it.
    """

    arguments: Sequence[str]
    missing: str | None = None
    prompt: str | None = None
    completion: str | None = None
    is_last_cut: bool = False


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """What was said of a new pair: whether it has the other sense (None: nothing), and in which words."""

    has_it: bool | None
    words: str | None = None


class PairWriter(Protocol):
    """Who writes new pairs, and judges them."""

    def write(self, sources: Sequence[ConfusedPair]) -> list[WrittenArguments]:
        """What was written for each source."""

    def judge(self, pairs: Sequence[Pair], sense: str) -> list[PairVerdict]:
        """Whether each new pair has a sense, the other one."""


class Authorship(Protocol):
    """What is to be known of a writer before it works."""

    kind: str
    gpus: bool
    inert: Set[str]

    @property
    def identity(self) -> str | None:
        """Of the language model."""

    @property
    def name(self) -> str:
        """What rows call it."""

    @property
    def license(self) -> str | None:
        """The terms on what it writes; None: those of the source."""

    def inputs(self) -> dict[str, Any]:
        """Digests of what it reads besides the pairs."""

    def prepare(self, device: torch.device) -> PairWriter:
        """Load it, once in each worker."""

    def made_notes(self) -> dict[str, int]:
        """Counts of what no row says, since the last call."""

    def keep_in(self, path: Path) -> None:
        """See ``sources.protocol.AskingSource``."""

    def settle(self) -> None:
        """See ``sources.protocol.AskingSource``."""


class WrittenPairs(SyntheticFiles):
    """New pairs for all pairs of L that have a confused sense; see ``sources.protocol.CandidateSource``.

    Each confused sense is written for once, and a new pair judged by every sense that it is taken for.
    """

    called = "sources"

    def __init__(self, settings: SynthesizeSettings, known: Confused, author: Authorship) -> None:
        self._settings, self._known, self._author = settings, known, author
        self.gpus, self.added = author.gpus, author.license
        sources = [
            ConfusedPair(pair, true, against)
            for true, against in known.against().items()
            for pair in known.labelled
            if true in pair.senses
        ][: settings.limit]
        self._units = [
            sources[start : start + settings.unit]
            for start in range(0, len(sources), settings.unit)
        ]
        self.sizes: Sequence[int] = list(map(len, self._units))
        self.inert: Set[str] = {"confused", "limit", *author.inert}  # how many there are is counted
        self.notes: Mapping[str, int] = {}

    def inputs(self) -> dict[str, Any]:
        """The pairs, the model and its confusions, the writer, and who refuses."""
        settings = self._settings
        return {
            **self._known.inputs(settings.corpus),
            "writer": self._author.kind,
            "filter": settings.filters,
            "pairs": sum(self.sizes),
            **self._author.inputs(),
        }

    def model(self) -> str | None:
        """The identity of the language model."""
        return self._author.identity

    def annotation(self) -> Annotation:
        """That of the run; of language models it is taken to be nothing."""
        return self._known.annotation(self._settings.corpus)

    def items(self, unit: int) -> tuple[list[ConfusedPair], dict[str, int]]:
        """The sources of a unit."""
        return self._units[unit], {}

    def keep_in(self, path: Path) -> None:
        """See ``AskingSource``."""
        self._author.keep_in(path)

    def settle(self) -> None:
        """See ``AskingSource``."""
        self._author.settle()

    def prepare(
        self, device: torch.device
    ) -> Callable[[Sequence[ConfusedPair], OnBatch], tuple[list[Synthetic], dict[str, int]]]:
        """Load writer and model; returns what makes the rows of sources."""
        self._known.predictor.to(device)
        writer = self._author.prepare(device)

        def make(
            sources: Sequence[ConfusedPair], on_batch: OnBatch
        ) -> tuple[list[Synthetic], dict[str, int]]:
            rows, pairs = self._new(sources, writer.write(sources))
            if self._settings.filters == "writer":
                rows = self._judged(rows, pairs, writer)
            elif self._settings.filters == "model":
                rows = filtered_by_model(rows, pairs, self._known)
            on_batch(len(sources), 0)
            return rows, self._author.made_notes()

        return make

    def _new(
        self, sources: Sequence[ConfusedPair], written: Sequence[WrittenArguments]
    ) -> tuple[list[Synthetic], list[Pair]]:
        """A row for each new argument, refused where it is none; and the new pairs."""
        rows: list[Synthetic] = []
        pairs: list[Pair] = []
        for source, each in zip(sources, written, strict=True):
            seen = {" ".join(source.pair.words1).casefold(): ARG1_AGAIN}
            seen[" ".join(source.pair.words2).casefold()] = OWN_AGAIN
            nothing = each.missing or NO_LIST
            texts = each.arguments or [""]
            for place, text in enumerate(texts, 1):
                words = tuple(text.split())
                said = " ".join(words)
                reason = None if words else EMPTY if each.arguments else nothing
                reason = CUT if each.is_last_cut and place == len(texts) else reason
                reason = reason or (None if is_without_control(said) else CONTROL)
                reason = reason or (SIGN if any(map(fault_of_word, words)) else None)
                reason = reason or seen.get(said.casefold())
                seen.setdefault(said.casefold(), TWICE)
                rows.append(self._row(source, said, each, reason))
                pairs.append(replace(source.pair, arg2=said, words2=words, senses=(source.label,)))
        readable = [place for place, row in enumerate(rows) if row.reason is None]
        too_long = are_cut(self._known.predictor, [pairs[place] for place in readable])
        for place, cut in zip(readable, too_long, strict=True):
            if cut:
                rows[place] = replace(rows[place], reason=TOO_LONG)
        return rows, pairs

    def _row(
        self, source: ConfusedPair, arg2: str, written: WrittenArguments, reason: str | None
    ) -> Synthetic:
        terms = self._author.license
        own = source.pair.license
        return Synthetic(
            sentence_id=source.pair.pair_id,
            label=source.label,
            arg1=source.pair.arg1,
            arg2=arg2,
            confused=listed_senses(source.against),
            writer=self._author.name,
            license=own if terms is None else combined([own, terms]),
            prompt=written.prompt,
            completion=written.completion,
            reason=reason,
        )

    def _judged(
        self, rows: Sequence[Synthetic], pairs: Sequence[Pair], writer: PairWriter
    ) -> list[Synthetic]:
        """Refuse rows that are judged to have a sense which theirs is taken for, sense by sense."""
        judged = list(rows)
        against = self._known.against()
        senses = dict.fromkeys(sense for each in against.values() for sense in each)
        for sense in senses:
            asked = [
                place
                for place, row in enumerate(judged)
                if row.reason is None and sense in against[row.label]
            ]
            found = writer.judge([pairs[place] for place in asked], sense)
            for place, verdict in zip(asked, found, strict=True):
                row = judged[place]
                said = [each for each in (row.verdict, verdict.words) if each is not None]
                reason = NO_VERDICT if verdict.has_it is None else YES if verdict.has_it else None
                judged[place] = replace(row, verdict="\n".join(said) or None, reason=reason)
        return judged
