"""Attested infilling as a source of candidates: a language model chooses what other sentences offer."""

from collections.abc import Sequence
from typing import Any

import torch

from pipeline.core.errors import SettingsError
from pipeline.core.types import Reference
from pipeline.executor.run import OnBatch
from pipeline.generate.infilling import FillAll, Infilling
from pipeline.generate.settings import GenerateSettings
from pipeline.infill import load_ranker
from pipeline.infill.attested_fills import fill_attested, pool_of
from pipeline.infill.base import Fill


class AttestedInfilling(Infilling):
    """A language model chooses the second conjunct among constituents of other sentences.

    Raises:
        InputError: as ``Infilling``; or no tree has a constituent to offer; or none says what ``match`` asks.
        SettingsError: as ``Infilling``; or random spans, which have no label.
        ModelError: as ``Infilling``.
    """

    def __init__(self, settings: GenerateSettings) -> None:
        if settings.spans == "random":
            raise SettingsError(
                "random spans have no label, so there is no constituent to put beside them",
                remedy="choose --spans constituents, or --fills free",
            )
        if settings.gap and (
            settings.spans != "constituents" or settings.arity != "two" or settings.targets
        ):
            raise SettingsError(
                "a gap is left in the second of two clauses that are constituents",
                remedy="leave --spans, --arity and --targets out, or --gap",
            )
        super().__init__(settings)
        self.inert |= {"beams"}
        self._pool = pool_of(
            settings.corpus, self._plan.trees, self._trees, self._tokenizer,
            match=settings.match, coordinators=settings.coordinators_in_fills,
            gaps=settings.gap,
        )  # fmt: skip
        self.notes = {**self._plan.notes, **self._pool.left_out}

    def inputs(self) -> dict[str, Any]:
        """The trees, given spans and the pool."""
        return {**super().inputs(), "pool": self._pool.digest}

    def load(self, device: torch.device) -> FillAll:
        """Load the language model; returns what fills references with it."""
        settings, dtype = self._settings, getattr(torch, self._settings.dtype)
        ranker = load_ranker(
            settings.family, self._where, self._request, dtype=dtype, device=device
        )

        def fill_all(references: Sequence[Reference], on_batch: OnBatch) -> list[list[Fill]]:
            return fill_attested(
                ranker, self._pool, references,
                count=settings.pool, seed=settings.seed, budget=settings.batch_tokens,
                on_batch=on_batch,
            )  # fmt: skip

        return fill_all
