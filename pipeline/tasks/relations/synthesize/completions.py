"""What a language model answers to prompts: looked up where it is kept, and else asked for."""

from collections.abc import Sequence
from pathlib import Path

import torch

from pipeline.core.candidates import SERVED
from pipeline.core.documents import read_json
from pipeline.core.errors import SettingsError
from pipeline.core.parquet import MANIFEST
from pipeline.models.loading import identity, locate
from pipeline.models.roles import CAUSAL_LM, check_role, load_role
from pipeline.models.writers.address import served_identity
from pipeline.models.writers.asking import AskedModel, connected
from pipeline.models.writers.kept import EarlierAnswers
from pipeline.models.writers.local import LocalWriter
from pipeline.models.writers.protocol import (
    Answering,
    Prompt,
    Sampling,
    Writer,
    WrittenAnswer,
    question_of,
)
from pipeline.tasks.relations.synthesize.settings import SynthesizeSettings

ASKED = "answers that were only asked to go on with the list, since the server cannot"

_SAMPLING = Sampling()  # temperature 0


class Completions:
    """A language model here, behind an address, or as one of them once answered.

    Attributes:
        asked: what answers, once there is a connection.
        identity: of a model that ran here a digest, or its name and commit, and a number format that is not
            the usual one; of one behind an address its name there.

    Raises:
        InputError: there is nothing to replay.
        ModelError: there is no such model, or it is no causal LM.
        SettingsError: nothing says which model answered.
    """

    def __init__(self, settings: SynthesizeSettings) -> None:
        self._settings = settings
        self._where, replayed = "", None
        if settings.writer == "local":
            self._where = locate(str(settings.model), settings.corpus, settings.seed)
            check_role(CAUSAL_LM, self._where)
            self.identity = self._name = identity(self._where)
            if settings.dtype != "float32":  # it answers otherwise
                self.identity = self._name = f"{self._name} in {settings.dtype}"
        elif settings.writer == "served":
            self._name = str(settings.model)
            self.identity = served_identity(self._name)
        else:
            place = Path(str(settings.replay))
            replayed = EarlierAnswers.read(place)
            known = settings.model or _model_of(place)
            self._name = known.removeprefix(SERVED)
            # A manifest names a model so; a name that was given may be one behind an address.
            whole = settings.model is None or known.startswith("sha256:")
            self.identity = known if whole else served_identity(self._name)
        self.asked = AskedModel(self._name, _SAMPLING, ASKED, replayed)

    def connect(self, device: torch.device) -> Writer:
        """Load the model, or try the server; returns what answers prompts.

        Raises:
            SettingsError: the server is on another machine, or the key's variable is not set.
            ModelError: the server does not answer, or the model does not fit the device.
        """
        if not self.asked.replays:
            self.asked.connect(self._local(device) if self._where else self._server())
        return self

    def complete(self, prompts: Sequence[Prompt]) -> list[WrittenAnswer]:
        """See ``Writer``.

        Raises:
            InputError: a prompt is not among those that are replayed.
            ModelError: of the writer; or most answers are empty.
        """
        return self.asked.complete(prompts)

    def _local(self, device: torch.device) -> Answering:
        dtype = getattr(torch, self._settings.dtype)
        model, tokenizer, _ = load_role(CAUSAL_LM, self._where, dtype)
        model.to(device)  # type: ignore[arg-type]
        return LocalWriter(model, tokenizer, self._name, _SAMPLING)

    def _server(self) -> Answering:
        settings = self._settings
        return connected(
            str(settings.served), self._name, _SAMPLING,
            remote=settings.remote, key_env=settings.key_env, begun="a begun list",
        )  # fmt: skip

    def question(self, prompt: Prompt) -> str:
        """Hex SHA-256 of what was asked of whom."""
        return question_of(self._name, _SAMPLING, prompt)


def _model_of(place: Path) -> str:
    """The model whose completions lie in an earlier output, by its manifest."""
    manifest = place / MANIFEST
    found = read_json(manifest).get("model") if manifest.is_file() else None
    if not isinstance(found, str):
        raise SettingsError(
            "nothing says which model answered what is to be replayed",
            remedy="name it with --model: of one at an address its name there",
        )
    return found
