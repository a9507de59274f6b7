"""Free infilling, the paper's source of candidates: a language model writes the second conjunct (§3)."""

from collections.abc import Sequence
from typing import Any

import torch

from pipeline.core.errors import SettingsError
from pipeline.core.types import Reference
from pipeline.executor.run import OnBatch
from pipeline.generate.infilling import FillAll, Infilling
from pipeline.generate.settings import GenerateSettings
from pipeline.infill import fill, load_infiller
from pipeline.infill.base import Fill
from pipeline.infill.families.known import FAMILIES


class FreeInfilling(Infilling):
    """A language model fills a gap beside a reference span with whatever it likes.

    Raises:
        InputError, ModelError: as ``Infilling``.
        SettingsError: as ``Infilling``; or a verb is to be left out.
    """

    def __init__(self, settings: GenerateSettings) -> None:
        if settings.gap:
            raise SettingsError(
                "nobody knows which verb of a free fill could be left out",
                remedy="add --fills attested, or leave --gap out",
            )
        super().__init__(settings)
        self.inert |= {"pool", "match", "ranking"}

    def inputs(self) -> dict[str, Any]:
        """The trees, given spans, and what the family's prompts are made of."""
        return {**super().inputs(), **FAMILIES[self._settings.family].facts()}

    def load(self, device: torch.device) -> FillAll:
        """Load the language model; returns what fills references with it."""
        settings, dtype = self._settings, getattr(torch, self._settings.dtype)
        infiller = load_infiller(
            settings.family, self._where, self._request, dtype=dtype, device=device
        )

        def fill_all(references: Sequence[Reference], on_batch: OnBatch) -> list[list[Fill]]:
            # Batches are a pure function of the references and the settings, so every worker gets
            # the same floating-point sums of a unit.
            return fill(infiller, references, settings.batch_tokens, on_batch)

        return fill_all
