"""Proposals as a source of candidates: a language model behind an address writes, and the best are taken."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from pipeline.core.annotation import Annotation
from pipeline.core.errors import SettingsError
from pipeline.core.types import Reference
from pipeline.executor.run import OnBatch
from pipeline.generate.infilling import FillAll, SpanSource
from pipeline.generate.settings import GenerateSettings
from pipeline.infill import load_ranker
from pipeline.infill.base import Fill
from pipeline.infill.candidates import EMPTY
from pipeline.infill.decoding import Decoding
from pipeline.infill.families.known import check_language_model
from pipeline.infill.prompts import prompts_digest
from pipeline.infill.proposals import (
    NO_ANSWER,
    Rank,
    propose,
    rank_by_model,
    rank_by_texts,
)
from pipeline.models.loading import identity, locate
from pipeline.models.writers.address import served_identity
from pipeline.models.writers.asking import AskedModel, connected
from pipeline.models.writers.keeping import EmptyShare
from pipeline.models.writers.kept import EarlierAnswers
from pipeline.models.writers.protocol import Sampling
from pipeline.models.writers.served import ServedWriter

ASKED = "answers that were only asked to go on with the sentence, since the server cannot"

_AT_ONCE = 64
"""References whose proposals are asked for together, and then ranked."""

_SCORER = "causal"


class ProposedInfilling(SpanSource):
    """N fills are proposed from each twin, and ranked by the likelihood of the sentence in both orders.

    What the server says is kept beside each unit's record; with ``replay`` it says nothing, and what an
    earlier run kept is read.

    Raises:
        InputError: as ``SpanSource``; or there is nothing to replay.
        SettingsError: as ``SpanSource``; or settings that a server cannot follow.
        ModelError: the local scorer is not there, or is no causal LM.
    """

    def __init__(self, settings: GenerateSettings) -> None:
        _check(settings)
        super().__init__(settings)
        self.inert |= {"pool", "match", "ranking", "prompt", "beams"}
        self._where: str | None = None
        if settings.scorer is not None:
            self._where = locate(settings.scorer, settings.corpus, settings.seed)
            self._tokenizer = check_language_model(_SCORER, self._where)
        else:
            self.gpus = False
            self.inert |= {"batch_tokens", "dtype", "scores"}
        sampled = settings.decoding == "sample"
        self._sampling = Sampling(settings.temperature, settings.top_p) if sampled else Sampling()
        self._name = str(settings.model)
        replayed = None if settings.replay is None else EarlierAnswers.read(settings.replay)
        self._asked = AskedModel(self._name, self._sampling, ASKED, replayed)
        self._proposed = EmptyShare()

    def inputs(self) -> dict[str, Any]:
        """The trees, given spans, what the prompts are made of, what ranks, and how fills are cut out."""
        scorer = "the server" if self._where is None else identity(self._where)
        facts = {
            "prompts": prompts_digest(),
            "scorer": scorer,
            "cut": 2,
        }  # raised when the cut changes
        return {**super().inputs(), **facts}

    def model(self) -> str:
        """Its name at the server, whose address does not matter."""
        return served_identity(self._name)

    def annotation_of_model(self) -> Annotation:
        """Taken to be nothing, as of any model from elsewhere."""
        return ()

    def keep_in(self, path: Path) -> None:
        """See ``AskingSource``."""
        self._asked.keep_in(path)

    def settle(self) -> None:
        """See ``AskingSource``."""
        self._asked.settle()

    def made_notes(self) -> dict[str, int]:
        """How many answers began in the user's message."""
        return self._asked.made_notes()

    def load(self, device: torch.device) -> FillAll:
        """Try the server, and load what ranks; returns what fills references with them.

        Raises:
            SettingsError: the server is on another machine, or the key's variable is not set.
            ModelError: the server does not answer, or cannot rank; or the scorer does not fit the device.
        """
        settings, asked = self._settings, self._asked
        if not asked.replays:
            server = self._connected()
            asked.connect(server, server)
        by_texts = rank_by_texts(asked.scored, self._request)
        rank = self._local_rank(device) if self._where else by_texts

        def fill_all(references: Sequence[Reference], on_batch: OnBatch) -> list[list[Fill]]:
            fills: list[list[Fill]] = []
            for start in range(0, len(references), _AT_ONCE):
                some = references[start : start + _AT_ONCE]
                found = propose(asked, rank, some, settings, frozenset(self._coordinators))
                fills += found
                if not asked.replays:
                    self._count(found)
                on_batch(len(some), 0)
            return fills

        return fill_all

    def _count(self, fills: Sequence[Sequence[Fill]]) -> None:
        """End a run most of whose answers have no fill where it should stand."""
        for each in chain.from_iterable(fills):
            self._proposed.add(empty=each.reason in (EMPTY, NO_ANSWER))
        self._proposed.require_few(self._asked.kept_in)

    def _connected(self) -> ServedWriter:
        settings = self._settings
        server = connected(
            str(settings.served), self._name, self._sampling,
            remote=settings.remote, key_env=settings.key_env, begun="a begun answer",
        )  # fmt: skip
        if self._where is None:
            server.require_logprobs()
        return server

    def _local_rank(self, device: torch.device) -> Rank:
        settings, where = self._settings, str(self._where)
        every = Decoding("n-best", 2 * settings.n)
        ranker = load_ranker(
            _SCORER, where, replace(self._request, decoding=every, ranking=None, prompt=None),
            dtype=getattr(torch, settings.dtype), device=device,
        )  # fmt: skip
        return rank_by_model(ranker, self._tokenizer, settings.batch_tokens)


def _check(settings: GenerateSettings) -> None:
    """Refuse settings that a model behind an address cannot follow.

    Raises:
        SettingsError: there are some.
    """
    if settings.served is not None and settings.replay is not None:
        raise SettingsError(
            "--replay reads what a server once answered, and --served asks one",
            remedy="leave one of them out",
        )
    if settings.model is None:
        raise SettingsError(
            "which of the server's models is to write was not said",
            remedy="add --model with its name there; a replay needs the name that it was kept under",
        )
    for wrong, what, remedy in (
        (settings.fills != "free", "writes fills, and chooses no attested ones", "--fills free"),
        (settings.gap, "writes whole conjuncts, of which no verb is left out", "--no-gap"),
        (settings.decoding == "n-best", "searches for no N best", "--decoding sample"),
        (settings.prompt is not None, "has its own form of prompts", "no --prompt"),
    ):
        if wrong:
            raise SettingsError(
                f"a model behind an address {what}", remedy=f"take {remedy}, or a model here"
            )
