"""Attested infilling as a source of candidates: a language model chooses what other sentences offer."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from pipeline.core.corpus_folder import SENTENCES_FILE
from pipeline.core.errors import SettingsError
from pipeline.core.files import digest_of
from pipeline.core.schema import read_sentences
from pipeline.core.settings import DecodingSettings
from pipeline.core.types import Reference
from pipeline.executor.run import OnBatch
from pipeline.generate.infilling import FillAll, Infilling
from pipeline.generate.pool import Pool, open_pool
from pipeline.generate.pool_building import PoolPlan, Trees
from pipeline.generate.settings import Generate
from pipeline.infill import load_ranker
from pipeline.infill.attested import Ranker
from pipeline.infill.base import NO_TOKENS, Fill, fill_tokens
from pipeline.infill.batching import fill

NO_DONOR = "no donor with this label"


class AttestedInfilling(Infilling):
    """A language model chooses the second conjunct among constituents of other sentences.

    Raises:
        InputError: as ``Infilling``; or no tree has a constituent to offer.
        SettingsError: as ``Infilling``; or random spans, which have no label.
        ModelError: as ``Infilling``.
    """

    def __init__(self, settings: Generate) -> None:
        if settings.spans == "random":
            raise SettingsError(
                "random spans have no label, so there is no constituent to put beside them",
                remedy="choose --spans constituents, or --fills free",
            )
        super().__init__(settings)
        self.inert |= {"beams"}
        self._pool = pool_of(
            settings.corpus, self._plan.trees, self._trees, self._tokenizer,
            heads=settings.match == "head", coordinators=settings.coordinators_in_fills,
        )  # fmt: skip
        self.notes = self._pool.left_out

    def inputs(self) -> dict[str, Any]:
        """The trees, given spans and the pool."""
        return {**super().inputs(), "pool": self._pool.digest}

    def load(self, device: torch.device) -> FillAll:
        """Load the language model; returns what fills references with it."""
        settings, dtype = self._settings, getattr(torch, self._settings.dtype)
        ranker = load_ranker(settings.family, self._where, self._task, dtype=dtype, device=device)

        def fill_all(references: Sequence[Reference], on_batch: OnBatch) -> list[list[Fill]]:
            return fill_attested(
                ranker, self._pool, references, settings, settings.batch_tokens, on_batch=on_batch
            )

        return fill_all


def pool_of(
    corpus: Path,
    trees: Trees,
    inputs: Mapping[str, Any],
    tokenizer: PreTrainedTokenizerBase,
    *,
    heads: bool = False,
    coordinators: bool = False,
) -> Pool:
    """The pool of some trees of a corpus for a language model.

    Args:
        corpus: the corpus folder.
        trees: those that offer their constituents.
        inputs: digests of the files that these come from, as of ``infilling.inputs_of``.
        tokenizer: the language model's.
        heads: whether the heads of constituents matter.
        coordinators: whether constituents that hold a coordinator are taken, too.

    Raises:
        InputError: as ``open_pool``.
    """

    def tags() -> Iterator[tuple[str, Sequence[str] | None]]:
        for sentence in read_sentences(corpus / SENTENCES_FILE):
            yield sentence.sentence_id, sentence.tags

    return open_pool(
        PoolPlan(
            corpus, trees, inputs,
            tokens=partial(fill_tokens, tokenizer),
            tokenizer=digest_of(tokenizer.backend_tokenizer.to_str()),
            vocabulary=len(tokenizer),
            tags=tags if heads else None,
            coordinators=coordinators,
        )
    )  # fmt: skip


def fill_attested(
    ranker: Ranker[Any],
    pool: Pool,
    references: Sequence[Reference],
    settings: DecodingSettings,
    budget: int = 16_384,
    *,
    on_batch: Callable[[int, int], None] = lambda *_: None,
) -> list[list[Fill]]:
    """Fills for references, in their order: for each at least one, best first.

    A reference for which the pool has nothing has one fill, which carries the reason.

    Args:
        ranker: the language model.
        pool: what it chooses from.
        references: what to coordinate.
        settings: M, the donors drawn for each reference, and the seed of the draws.
        budget: tokens of a batch.
        on_batch: as of ``batching.fill``.
    """
    lengths = ranker.counts(references)
    fills = [[Fill("", reason=NO_DONOR if length else NO_TOKENS)] for length in lengths]
    choices = {
        place: choice
        for place, (reference, length) in enumerate(zip(references, lengths, strict=True))
        if length
        and (
            choice := pool.draw(
                reference, partial(ranker.lengths, length), settings.pool, settings.seed
            )
        )
    }
    on_batch(len(references) - len(choices), 0)
    found = fill(ranker, list(choices.values()), budget, on_batch)
    for place, each in zip(choices, found, strict=True):
        fills[place] = each
    return fills
