"""The embedded world as a writer of pairs: it errs as often as it is told, and judges without error.

So what a filter is worth can be seen apart from how well a language model knows a relation.
"""

from collections.abc import Sequence, Set
from pathlib import Path
from random import Random
from typing import Any

import torch

from pipeline.core.errors import InputError
from pipeline.core.files import sha256_of
from pipeline.tasks.relations.pairs import Pair
from pipeline.tasks.relations.synthesize.settings import SynthesizeSettings
from pipeline.tasks.relations.synthesize.written import ConfusedPair, PairVerdict, WrittenArguments
from pipeline.world.causes import PairComposer, sense_of
from pipeline.world.lexicon import load_lexicon

_EACH = 8
"""New arguments for a source, before those that are written twice are refused."""


class WorldWriter:
    """See ``written.Authorship`` and ``written.PairWriter``.

    Raises:
        InputError: the world's lexicon is not there.
    """

    kind = "oracle"
    name = "oracle"
    gpus = False
    identity = None
    license = None

    def __init__(self, settings: SynthesizeSettings) -> None:
        self._error, self._seed = settings.error, settings.seed
        source = settings.source or Path("data/raw", settings.corpus.resolve().name)
        self._file = source / "lexicon.yaml"
        if not self._file.is_file():
            raise InputError(
                "no lexicon of the world", path=self._file, remedy="name its folder with --source"
            )
        self._lexicon = load_lexicon(self._file)
        self.inert: Set[str] = {"tokens", "writer_license"}

    def inputs(self) -> dict[str, Any]:
        """The lexicon."""
        return {"lexicon": sha256_of(self._file)}

    def keep_in(self, path: Path) -> None:
        """It is not asked twice."""
        del path

    def settle(self) -> None:
        """Nothing is kept."""

    def made_notes(self) -> dict[str, int]:
        """Rows say everything."""
        return {}

    def prepare(self, device: torch.device) -> "WorldWriter":
        """It is ready."""
        del device
        return self

    def write(self, sources: Sequence[ConfusedPair]) -> list[WrittenArguments]:
        """Second arguments of the source's sense, a share of them of one that it is taken for.

        Raises:
            InputError: a source is no pair of the world.
        """
        return [WrittenArguments(self._arguments(source)) for source in sources]

    def _arguments(self, source: ConfusedPair) -> list[str]:
        arg1 = " ".join(source.pair.words1)
        rng = Random(f"{self._seed}/{source.pair.pair_id}/{source.label}")
        composer = PairComposer(self._lexicon, rng)
        wrong = [rng.random() < self._error for _ in range(_EACH)]
        try:
            return [
                composer.second(arg1, rng.choice(source.against) if each else source.label)
                for each in wrong
            ]
        except ValueError as error:
            raise InputError(
                f"the oracle knows the world's pairs alone: {error}",
                remedy="take a corpus of the reader world-relations, or another --writer",
            ) from error

    def judge(self, pairs: Sequence[Pair], sense: str) -> list[PairVerdict]:
        """Whether each pair really has a sense."""
        found = (sense_of(" ".join(pair.words1), " ".join(pair.words2)) for pair in pairs)
        return [PairVerdict(each == sense, each or "none of them") for each in found]
