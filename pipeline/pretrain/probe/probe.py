"""What a language model's fills are worth: held against the conjuncts that people wrote."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.core.files import digest_of
from pipeline.core.settings import Family
from pipeline.core.types import CATEGORIES, Reject
from pipeline.infill import BertInfiller, Fill, Infiller, T5Infiller, Task, fill
from pipeline.infill.candidates import make_candidate
from pipeline.pretrain.probe.categories import Judge
from pipeline.pretrain.probe.questions import Held, is_echo
from pipeline.pretrain.probe.word_vectors import Senses

ENOUGH = 0.75
"""Share of comparisons that a fill right in sense wins; a fill of random sense does so in 2 of 7."""

_SHARES = (
    "filled", "category", "length", "sense", "recovered", "echo", "exact", "nearer", "judge",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """How often the twins gave back what was taken out; shares of all ``n`` coordinations.

    ``filled`` is the share with a usable fill, ``refused`` says why the others have none; they
    count as wrong. ``category``, ``length`` and ``sense`` are the shares right in each,
    ``echo`` is the share of fills that only say the shown conjunct again (:mod:`.echo`);
    ``recovered`` are right in all three and no echo, ``exact`` equal to the conjunct but for case.
    ``nearer`` is the mean share of the comparisons of sense that were won, ``judge`` the share of
    the conjuncts themselves in which the judge finds the right category: the most that ``category``
    means. ``by_category`` counts, for each category asked for, the recovered and all of it.
    """

    n: int
    filled: float
    category: float
    length: float
    sense: float
    recovered: float
    echo: float
    exact: float
    nearer: float
    judge: float
    by_category: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready form, shares to four digits."""
        rounded = {name: round(getattr(self, name), 4) for name in _SHARES}
        counts = {name: list(pair) for name, pair in self.by_category.items()}
        return {"n": self.n, **rounded, "by_category": counts, "refused": dict(self.refused)}


@dataclass(frozen=True, slots=True)
class Question:
    """A coordination, the unit vector ``[width]`` of its conjunct, and those of rivals ``[k, width]``.

    ``others`` are the words of the rivals.
    """

    held: Held
    vector: NDArray[np.float32]
    rivals: NDArray[np.float32]
    others: tuple[tuple[str, ...], ...]


class Probe:
    """Questions about natural coordinations, and the judges of their answers.

    Args:
        questions: at least one.
        judge: of categories.
        senses: of words.
        accuracy: the judge's own, on real conjuncts.
        material: digest of what the judges learnt from.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        judge: Judge,
        senses: Senses,
        accuracy: float,
        material: str = "",
    ) -> None:
        self.questions = tuple(questions)
        self._material = material
        self._judge, self._senses, self._accuracy = judge, senses, accuracy

    def digest(self) -> str:
        """Digest of all that the readings of a model depend on, beside it and the code.

        It is of words: vectors are a function of them, but for rounding that differs by machine.
        """
        asked = []
        for question in self.questions:
            held, span = question.held, question.held.reference.span
            place = (held.reference.sentence_id, held.reference.words, span.start, span.end)
            asked.append((*place, held.coordinator, held.conjunct, held.category, question.others))
        return digest_of([self._material, asked])

    def measure(
        self, family: Family, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
    ) -> Reading:
        """What the model fills in, greedily and with synchronized twins, held against the conjuncts.

        The model may be training: its modules' modes are what they were, afterwards. Fills depend
        on the model alone; no random numbers are drawn.
        """
        make: Callable[..., Infiller[Any]] = BertInfiller if family == "bert" else T5Infiller
        fills: list[Fill] = [Fill("")] * len(self.questions)
        with _evaluating(model):
            for word in sorted({question.held.coordinator for question in self.questions}):
                places = [i for i, q in enumerate(self.questions) if q.held.coordinator == word]
                infiller = make(model, tokenizer, Task(word))
                references = [self.questions[i].held.reference for i in places]
                for place, found in zip(places, fill(infiller, references), strict=True):
                    fills[place] = found[0]
        return self.read(fills)

    def read(self, fills: Sequence[Fill]) -> Reading:
        """The reading of a fill for each question, whoever wrote them."""
        refused: Counter[str] = Counter()
        answers: dict[int, tuple[str, ...]] = {}
        for i, (question, each) in enumerate(zip(self.questions, fills, strict=True)):
            outcome = make_candidate(question.held.reference, each, question.held.coordinator)
            if isinstance(outcome, Reject):
                refused[outcome.reason] += 1
            else:
                span = outcome.conjuncts[-1]
                answers[i] = outcome.words[span.start : span.end]
        return self._read(answers, refused)

    def _read(self, answers: Mapping[int, tuple[str, ...]], refused: Counter[str]) -> Reading:
        categories = dict(zip(answers, self._judge.categories(list(answers.values())), strict=True))
        right: Counter[str] = Counter()
        recovered: Counter[str] = Counter()
        nearer = 0.0
        for i, words in answers.items():
            question = self.questions[i]
            won = self._won(question, words)
            nearer += won
            fits = {
                "category": categories[i] == question.held.category,
                "length": _like_length(len(words), len(question.held.conjunct)),
                "sense": won >= ENOUGH,
                "exact": _lower(words) == _lower(question.held.conjunct),
                "echo": is_echo(words, question.held.first),
            }
            right.update(name for name, fit in fits.items() if fit)
            if fits["category"] and fits["length"] and fits["sense"] and not fits["echo"]:
                recovered[question.held.category] += 1
        n = len(self.questions)
        asked = Counter(question.held.category for question in self.questions)
        return Reading(
            n=n,
            filled=len(answers) / n,
            category=right["category"] / n,
            length=right["length"] / n,
            sense=right["sense"] / n,
            recovered=recovered.total() / n,
            echo=right["echo"] / n,
            exact=right["exact"] / n,
            nearer=nearer / n,
            judge=self._accuracy,
            by_category={c: (recovered[c], asked[c]) for c in CATEGORIES if asked[c]},
            refused=dict(sorted(refused.items(), key=lambda item: (-item[1], item[0]))),
        )

    def _won(self, question: Question, words: Sequence[str]) -> float:
        """Share of rivals that are less like the words than the conjunct is; 0 for unknown words."""
        vector = self._senses.of(words)
        if vector is None:
            return 0.0
        return float((question.rivals @ vector < question.vector @ vector).mean())


def _like_length(found: int, wanted: int) -> bool:
    return wanted <= 2 * found and found <= 2 * wanted


def _lower(words: Sequence[str]) -> list[str]:
    return [word.lower() for word in words]


@contextmanager
def _evaluating(model: PreTrainedModel) -> Iterator[None]:
    """Without dropout and gradients; then every module in the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode
