"""What a language model answers to prompts: looked up where it is kept, and else asked for."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from pipeline.core.candidates import SERVED
from pipeline.core.console import tell
from pipeline.core.documents import read_json
from pipeline.core.errors import ModelError, SettingsError
from pipeline.core.parquet import MANIFEST
from pipeline.models.loading import identity, load_tokenizer, locate
from pipeline.models.roles import CAUSAL_LM, check_role, load_role
from pipeline.models.writers.address import served_identity
from pipeline.models.writers.keeping import EmptyShare, KeepingWriter
from pipeline.models.writers.kept import KeptAnswers
from pipeline.models.writers.local import LocalWriter
from pipeline.models.writers.protocol import (
    Answering,
    Prompt,
    Sampling,
    WrittenAnswer,
    question_of,
)
from pipeline.models.writers.replay import ReplayWriter
from pipeline.models.writers.served import ServedWriter
from pipeline.tasks.relations.synthesize.settings import SynthesizeSettings

ASKED = "answers that were only asked to go on with the list, since the server cannot"

_SAMPLING = Sampling()  # temperature 0
_LONGEST_TOKEN = 100  # characters, on an average far beyond any text's

Answers = Callable[[Sequence[Prompt]], list[WrittenAnswer]]
"""Answers prompts, in their order.

Raises:
    InputError: a prompt is not among those that are replayed.
    ModelError: of the writer; most answers are empty, or one is longer than was asked for.
"""


class Completions:
    """A language model here, behind an address, or as one of them once answered.

    Raises:
        InputError: there is nothing to replay.
        ModelError: there is no such model, or it is no causal LM.
        SettingsError: nothing says which model answered.
    """

    def __init__(self, settings: SynthesizeSettings) -> None:
        self._settings = settings
        self._where, self._replayed = "", None
        self._kept, self._empty, self._begun = KeptAnswers(), EmptyShare(), Counter[str]()
        if settings.writer == "local":
            self._where = locate(str(settings.model), settings.corpus, settings.seed)
            check_role(CAUSAL_LM, self._where)
            self._name = identity(self._where)
        elif settings.writer == "served":
            self._name = str(settings.model)
        else:
            place = Path(str(settings.replay))
            self._replayed = KeptAnswers.earlier(place)
            self._name = settings.model or _model_of(place)

    @property
    def identity(self) -> str:
        """Of a model that ran here a digest; of one behind an address its name there."""
        if self._name.startswith("sha256:"):
            return self._name
        return served_identity(self._name)

    def keep_in(self, path: Path) -> None:
        """See ``sources.protocol.AskingSource``."""
        if self._replayed is None:
            self._kept = KeptAnswers.going_on(path)

    def settle(self) -> None:
        """See ``sources.protocol.AskingSource``."""
        if self._replayed is None:
            self._kept.settle()

    def made_notes(self) -> dict[str, int]:
        """How many answers began in the user's message, since the last call."""
        found = {ASKED: self._begun["asked"]}
        self._begun.clear()
        return found

    def connect(self, device: torch.device) -> Answers:
        """Load the model, or try the server; returns what answers prompts.

        Raises:
            SettingsError: the server is on another machine, or the key's variable is not set.
            ModelError: the server does not answer, or the model does not fit the device.
        """
        if self._replayed is not None:
            ask = ReplayWriter(self._replayed, self._name, _SAMPLING).answered
        else:
            writer = self._local(device) if self._where else self._server()

            def ask(prompts: Sequence[Prompt]) -> list[WrittenAnswer]:
                # The file of the unit at hand.
                return KeepingWriter(writer, self._kept, self._empty).answered(prompts)

        def answers(prompts: Sequence[Prompt]) -> list[WrittenAnswer]:
            found = ask(prompts)
            for prompt, answer in zip(prompts, found, strict=True):
                _check_length(prompt, answer)
            self._begun.update(answer.begun for answer in found)
            return found

        return answers

    def _local(self, device: torch.device) -> Answering:
        model, tokenizer, _ = load_role(CAUSAL_LM, self._where)
        model.to(device)  # type: ignore[arg-type]
        return LocalWriter(model, tokenizer, self._name, _SAMPLING)

    def _server(self) -> Answering:
        settings = self._settings
        # Servers call a model by its folder where they were given one.
        here = (Path(self._name) / "tokenizer_config.json").is_file()
        server = ServedWriter(
            str(settings.served), self._name, _SAMPLING,
            remote=settings.remote, key_env=settings.key_env,
            tokenizer=load_tokenizer(self._name) if here else None,
        )  # fmt: skip
        if server.begun == "asked":
            tell("the server does not go on with a begun list: it is only asked to")
        return server

    def question(self, prompt: Prompt) -> str:
        """Hex SHA-256 of what was asked of whom."""
        return question_of(self._name, _SAMPLING, prompt)


def _check_length(prompt: Prompt, answer: WrittenAnswer) -> None:
    """Refuse an answer without measure, of which each line would be a row with the whole of it.

    Raises:
        ModelError: it has more lines, or more text, than its tokens can have.
    """
    text = answer.text or ""
    if text.count("\n") > prompt.tokens or len(text) > _LONGEST_TOKEN * prompt.tokens:
        raise ModelError(
            f"an answer has {len(text):,} characters, where {prompt.tokens:,} tokens were asked for",
            remedy="look at the server, or at the completions that are replayed",
        )


def _model_of(place: Path) -> str:
    """The model whose completions lie in an earlier output, by its manifest."""
    manifest = place / MANIFEST
    found = read_json(manifest).get("model") if manifest.is_file() else None
    if not isinstance(found, str):
        raise SettingsError(
            "nothing says which model answered what is to be replayed",
            remedy="name it with --model: of one at an address its name there",
        )
    return found.removeprefix(SERVED)
