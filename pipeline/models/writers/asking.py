"""What sources of rows ask a language model: answers are kept by unit, or are those of an earlier run."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pipeline.core.console import tell
from pipeline.models.loading import load_tokenizer
from pipeline.models.writers.keeping import EmptyShare, KeepingScorer, KeepingWriter
from pipeline.models.writers.kept import EarlierAnswers, KeptAnswers
from pipeline.models.writers.protocol import (
    Answering,
    Prompt,
    Sampling,
    Scoring,
    TextScore,
    WrittenAnswer,
)
from pipeline.models.writers.replay import ReplayWriter
from pipeline.models.writers.served import ServedWriter


class AskedModel:
    """A language model whose answers are kept beside each unit's record, or what it once answered.

    It keeps to ``Writer``, and to ``AskingSource`` as far as that is about answers.

    Args:
        model: what identifies it.
        sampling: how it chooses tokens.
        asked: the note that counts answers whose beginning the model was only asked to go on with.
        replayed: what an earlier output kept; None: the model is asked.
    """

    def __init__(
        self, model: str, sampling: Sampling, asked: str, replayed: EarlierAnswers | None
    ) -> None:
        self.model, self.sampling = model, sampling
        self._asked, self._replay = asked, None
        if replayed is not None:
            self._replay = ReplayWriter(replayed, model, sampling)
        self._kept, self._begun = KeptAnswers(), Counter[str]()
        self._written = EmptyShare()
        self._scored = EmptyShare(
            "scores of texts", "let a causal LM here rank, if the command has --scorer"
        )
        self._writer: Answering | None = None
        self._scorer: Scoring | None = None

    @property
    def replays(self) -> bool:
        """Whether it needs no model."""
        return self._replay is not None

    @property
    def kept_in(self) -> Path | None:
        """The file of what is answered for the unit at hand; None: it is not kept."""
        return self._kept.path

    def connect(self, writer: Answering, scorer: Scoring | None = None) -> None:
        """Have the model at hand that answers what is not kept, and what scores texts."""
        self._writer, self._scorer = writer, scorer

    def keep_in(self, path: Path) -> None:
        """See ``AskingSource``."""
        if self._replay is None:
            self._kept = KeptAnswers.going_on(path)
        else:
            self._replay.begin_unit(path.name)

    def settle(self) -> None:
        """See ``AskingSource``."""
        if self._replay is None:
            self._kept.settle()

    def made_notes(self) -> dict[str, int]:
        """How many answers began in the user's message, since the last call."""
        found = {self._asked: self._begun["asked"]}
        self._begun.clear()
        return found

    def complete(self, prompts: Sequence[Prompt]) -> list[WrittenAnswer]:
        """See ``Writer``.

        Raises:
            InputError: a prompt is not among those that are replayed.
            ModelError: of the model; or most answers are empty.
        """
        if self._replay is not None:
            found = self._replay.complete(prompts)
        else:
            assert self._writer is not None  # noqa: S101 - connect comes first
            found = KeepingWriter(self._writer, self._kept, self._written).complete(prompts)
        self._begun.update(answer.begun for answer in found)
        return found

    def scored(self, texts: Sequence[str]) -> list[TextScore | None]:
        """The score of each text, in their order; None where none came.

        Raises:
            InputError: a text is not among those that are replayed.
            ModelError: of the scorer; or most scores did not come.
        """
        if self._replay is not None:
            return self._replay.scored(texts)
        assert self._scorer is not None  # noqa: S101 - connect comes first
        return KeepingScorer(self._scorer, self._kept, self._scored).scored(texts)


def connected(
    address: str, model: str, sampling: Sampling, *, remote: bool, key_env: str | None, begun: str
) -> ServedWriter:
    """Try a server, before anything of an earlier run is removed.

    Args:
        address: its own.
        model: the name there.
        sampling: how it chooses tokens.
        remote: whether the address may be another machine's.
        key_env: name of the environment variable with the key; None: no key is sent.
        begun: what it is told of a server that cannot go on with what was begun, in words.

    Raises:
        SettingsError: the server is on another machine, or the key's variable is not set.
        ModelError: the server does not answer.
    """
    # Servers call a model by its folder where they were given one.
    here = (Path(model) / "tokenizer_config.json").is_file()
    server = ServedWriter(
        address, model, sampling, remote=remote, key_env=key_env,
        tokenizer=load_tokenizer(model) if here else None,
    )  # fmt: skip
    if server.begun == "asked":
        tell(f"the server does not go on with {begun}: it is only asked to, in the question")
    return server
