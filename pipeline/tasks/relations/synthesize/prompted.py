"""Language models as writers of pairs: asked in two prompts, with the nearest pairs of L as examples."""

from collections.abc import Callable, Sequence, Set
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pipeline.core.errors import InputError
from pipeline.core.files import digest_of
from pipeline.corpus.licences import UNKNOWN
from pipeline.models.loading import identity, locate
from pipeline.models.roles import ENCODER, check_role
from pipeline.models.writers.protocol import TOO_LONG, Prompt, Writer, WrittenAnswer
from pipeline.tasks.relations.pairs import Pair, senses_of
from pipeline.tasks.relations.synthesize.completions import Completions
from pipeline.tasks.relations.synthesize.confused import Confused
from pipeline.tasks.relations.synthesize.definitions import Definitions
from pipeline.tasks.relations.synthesize.neighbours import (
    SentenceVectors,
    nearest,
    with_itself_first,
)
from pipeline.tasks.relations.synthesize.prompts import (
    has_it,
    is_last_cut,
    judging_prompt,
    listed,
    templates_digest,
    writing_prompt,
)
from pipeline.tasks.relations.synthesize.rows import NO_COMPLETION
from pipeline.tasks.relations.synthesize.settings import SynthesizeSettings
from pipeline.tasks.relations.synthesize.written import ConfusedPair, PairVerdict, WrittenArguments


class PromptedModel:
    """A language model as an author; see ``written.Authorship``.

    Raises:
        InputError: there is nothing to replay.
        ModelError: a model is not there, or is none of its kind.
        SettingsError: a confused sense has no definition, or nothing says which model answered.
    """

    kind = "a language model"
    gpus = True

    def __init__(self, settings: SynthesizeSettings, known: Confused) -> None:
        self._settings, self._known = settings, known
        self._senses = Definitions(settings.definitions, senses_of(settings.corpus))
        for cell in known.cells:
            self._senses.require(cell.true, cell.predicted)
        self._encoder = locate(settings.neighbours, settings.corpus, settings.seed)
        check_role(ENCODER, self._encoder)
        self._completions = Completions(settings)
        self.inert: Set[str] = {"error", "seed"}

    @property
    def identity(self) -> str:
        """Of the language model."""
        return self._completions.identity

    @property
    def name(self) -> str:
        """The same."""
        return self._completions.identity

    @property
    def license(self) -> str:
        """The terms of the model's maker on what it writes, as they were named."""
        return self._settings.writer_license or UNKNOWN

    def inputs(self) -> dict[str, Any]:
        """What the prompts are made of, and what chooses their examples."""
        return {
            "prompts": templates_digest(),
            "definitions": digest_of(self._senses.facts()),
            "neighbours": identity(self._encoder),
        }

    def keep_in(self, path: Path) -> None:
        """See ``AskingSource``."""
        self._completions.asked.keep_in(path)

    def settle(self) -> None:
        """See ``AskingSource``."""
        self._completions.asked.settle()

    def made_notes(self) -> dict[str, int]:
        """How many answers began in the user's message."""
        return self._completions.asked.made_notes()

    def prepare(self, device: torch.device) -> "PromptedWriter":
        """Load the models, or try the server."""
        completions, vectors = self._completions, SentenceVectors(self._encoder, device)
        return PromptedWriter(
            completions.connect(device), completions.question, vectors, self._senses,
            self._known.labelled, self._settings.tokens,
        )  # fmt: skip


class PromptedWriter:
    """Asks in the prompts of §4.4.1; see ``written.PairWriter``.

    Args:
        writer: the language model.
        question: the digest of what it is asked.
        vectors: by which examples are near.
        senses: their definitions.
        labelled: L, of which examples are taken.
        tokens: most of a list of new arguments.
    """

    def __init__(  # noqa: PLR0917 - what one made of settings has
        self,
        writer: Writer,
        question: Callable[[Prompt], str],
        vectors: SentenceVectors,
        senses: Definitions,
        labelled: Sequence[Pair],
        tokens: int,
    ) -> None:
        self._writer, self._question = writer, question
        self._vectors, self._senses = vectors, senses
        self._labelled, self._tokens = labelled, tokens
        self._of_sense: dict[str, tuple[list[Pair], Tensor]] = {}

    def write(self, sources: Sequence[ConfusedPair]) -> list[WrittenArguments]:
        """Stage 1: a list of second arguments for each source."""
        prompts = []
        for source in sources:
            pairs, vectors = self._shown(source.label)
            own = pairs.index(source.pair)
            (found,) = nearest(vectors[own, None], vectors)
            shown = [pairs[place] for place in with_itself_first(own, found)]
            sense = self._senses[source.label]
            prompts.append(writing_prompt(source.pair, sense, shown, self._tokens))
        answers = self._writer.complete(prompts)
        return [
            WrittenArguments(
                listed(answer),
                _missing(answer),
                self._question(prompt),
                answer.text,
                is_last_cut(answer),
            )
            for prompt, answer in zip(prompts, answers, strict=True)
        ]

    def judge(self, pairs: Sequence[Pair], sense: str) -> list[PairVerdict]:
        """Stage 2: whether each new pair has the sense that its own is taken for."""
        if not pairs:
            return []
        known, vectors = self._shown(sense)
        near = nearest(self._vectors.of([pair.words for pair in pairs]), vectors)
        prompts = [
            judging_prompt(
                " ".join(pair.words1), " ".join(pair.words2), self._senses[sense],
                [known[place] for place in found],
            )
            for pair, found in zip(pairs, near, strict=True)
        ]  # fmt: skip
        answers = self._writer.complete(prompts)
        return [
            PairVerdict(None if answer.text is None else has_it(answer.text), answer.text)
            for answer in answers
        ]

    def _shown(self, sense: str) -> tuple[list[Pair], Tensor]:
        """The pairs of L that have a sense, and their vectors, made once."""
        if sense not in self._of_sense:
            pairs = [pair for pair in self._labelled if sense in pair.senses]
            if not pairs:
                raise InputError(
                    f"no pair of L has the relation {sense!r}, which prompts must show",
                    remedy="name a --run of a larger draw",
                )
            self._of_sense[sense] = pairs, self._vectors.of([pair.words for pair in pairs])
        return self._of_sense[sense]


def _missing(answer: WrittenAnswer) -> str | None:
    """Why nothing came, where nothing did; what servers say is counted as one reason."""
    if answer.text is not None:
        return None
    return TOO_LONG if answer.reason == TOO_LONG else NO_COMPLETION
