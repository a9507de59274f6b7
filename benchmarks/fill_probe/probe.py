"""The fill probe: what a language model's fills are worth, compared with conjuncts people wrote.

``build_probe`` makes the questions of a corpus: its dev coordinations, a judge of categories fitted on
its conjuncts, and senses from its text. ``Probe`` asks a model and judges the fills.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from benchmarks.fill_probe.categories import Judge
from benchmarks.fill_probe.questions import (
    Held,
    held_out,
    in_lower_case,
    is_echo,
    ordered,
    phrases,
    rng_of,
)
from pipeline.core.console import say
from pipeline.core.corpus_folder import SENTENCES_FILE
from pipeline.core.files import digest_of
from pipeline.core.schema import read_sentences
from pipeline.core.tally import Tally
from pipeline.core.types import CATEGORIES, Reject, Sentence
from pipeline.infill import BertInfiller, Fill, Infiller, InfillRequest, T5Infiller, fill
from pipeline.infill.candidates import make_candidate
from pipeline.models.optim import evaluating
from pipeline.text.word_vectors import Senses

UNKNOWN = "no word of the conjunct is known from the text"
ALONE = "no other conjunct to compare its sense with"

_JUDGED = ("category", "length", "sense", "echo", "exact")
_RIVALS = 20
_Known = tuple[Held, NDArray[np.float32]]

ENOUGH = 0.75
"""Share of comparisons that a fill right in sense wins; a fill of random sense does so in 2 of 7."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """How often the fills recover what was taken out; shares of all ``n`` coordinations.

    ``filled`` is the share with a usable fill, ``refused`` says why the others have none; they
    count as wrong. ``category``, ``length`` and ``sense`` are the shares right in each,
    ``echo`` is the share of fills that only say the shown conjunct again (``is_echo``);
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
        shares = {k: round(v, 4) if isinstance(v, float) else v for k, v in asdict(self).items()}
        return shares | {"by_category": {k: list(pair) for k, pair in self.by_category.items()}}


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
        """Digest of all that the results of a model depend on, besides the model and the code.

        It is taken of words, not of their vectors, whose rounding differs by machine.
        """
        asked = []
        for question in self.questions:
            held, span = question.held, question.held.reference.span
            place = (held.reference.sentence_id, held.reference.words, span.start, span.end)
            asked.append((*place, held.coordinator, held.conjunct, held.category, question.others))
        return digest_of([self._material, asked])

    def measure(
        self, family: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
    ) -> ProbeResult:
        """What the model fills in, greedily and with synchronized twins, compared with the conjuncts.

        The model may be in training: its modules get their modes back afterwards. Fills depend
        on the model alone; no random numbers are drawn.
        """
        make: Callable[..., Infiller[Any]] = BertInfiller if family == "bert" else T5Infiller
        fills: list[Fill] = [Fill("")] * len(self.questions)
        with evaluating(model), torch.no_grad():
            for word in sorted({question.held.coordinator for question in self.questions}):
                places = [i for i, q in enumerate(self.questions) if q.held.coordinator == word]
                infiller = make(model, tokenizer, InfillRequest(word))
                references = [self.questions[i].held.reference for i in places]
                for place, found in zip(places, fill(infiller, references), strict=True):
                    fills[place] = found[0]
        return self.read(fills)

    def read(self, fills: Sequence[Fill]) -> ProbeResult:
        """The result of given fills, one for each question."""
        refused: Counter[str] = Counter()
        answers: dict[int, tuple[str, ...]] = {}
        for i, (question, each) in enumerate(zip(self.questions, fills, strict=True)):
            outcome = make_candidate(question.held.reference, each, question.held.coordinator)
            if isinstance(outcome, Reject):
                refused[outcome.reason] += 1
            else:
                span = outcome.conjuncts[-1]
                answers[i] = outcome.words[span.start : span.end]
        categories = dict(zip(answers, self._judge.categories(list(answers.values())), strict=True))
        right: Counter[str] = Counter()
        recovered: Counter[str] = Counter()
        nearer = 0.0
        for i, words in answers.items():
            question = self.questions[i]
            won = self._won(question, words)
            nearer += won
            lengths = len(words), len(question.held.conjunct)
            fits = {
                "category": categories[i] == question.held.category,
                "length": max(lengths) <= 2 * min(lengths),
                "sense": won >= ENOUGH,
                "exact": in_lower_case(words) == in_lower_case(question.held.conjunct),
                "echo": is_echo(words, question.held.first),
            }
            right.update(name for name, fit in fits.items() if fit)
            if fits["category"] and fits["length"] and fits["sense"] and not fits["echo"]:
                recovered[question.held.category] += 1
        n = len(self.questions)
        asked = Counter(question.held.category for question in self.questions)
        return ProbeResult(
            n=n,
            filled=len(answers) / n,
            recovered=recovered.total() / n,
            **{name: right[name] / n for name in _JUDGED},
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


def build_probe(corpus: Path, count: int, seed: int) -> Probe | None:
    """The probe of a corpus, deterministic; None, and a line that says why, if nothing can be probed.

    Args:
        corpus: folder with ``sentences.parquet`` and ``text.txt``.
        count: coordinations to ask for; all there are, if fewer.
        seed: of the draw, of the rivals and of the word vectors.

    Raises:
        InputError: one of the files is missing or damaged.
    """
    splits: dict[str, list[Sentence]] = {"train": [], "dev": []}
    for sentence in read_sentences(
        corpus / SENTENCES_FILE, lambda s: s.split in splits and bool(s.coordinations)
    ):
        splits[sentence.split].append(sentence)
    held, tally = held_out(splits["dev"])
    learnt = phrases(splits["train"], seed)
    if not held or not learnt or not count:
        _say_why_not(corpus, held, count, tally)
        return None
    senses = Senses.read(corpus / "text.txt", seed)
    questions = _questions(held, senses, count, seed, tally)
    if not questions:
        _say_why_not(corpus, [], count, tally)
        return None
    judge = Judge(learnt)
    accuracy = judge.accuracy([(each.conjunct, each.category) for each in held])
    say(
        f"probe: {len(questions):,} of {tally.kept:,} coordinations of the dev split"
        f"{_left_out(tally)}; the judge of categories is right on {accuracy:.1%} of its conjuncts"
    )
    known = [(each.reference.sentence_id, each.conjunct, each.category) for each in held]
    material = digest_of([seed, known, learnt, senses.source])
    return Probe(questions, judge, senses, accuracy, material)


def _say_why_not(corpus: Path, held: Sequence[Held], count: int, tally: Tally) -> None:
    why = "its training split has no conjunct to learn categories from"
    if not count:
        why = "none was asked for"
    elif not held:
        why = (
            "its dev split has no coordination of two conjuncts with and, or that can be asked for"
        )
    say(f"no probe of {corpus}: {why}{_left_out(tally)}")


def _left_out(tally: Tally) -> str:
    parts = [f"{count:,} {reason}" for reason, count in tally.rows()[1:]]
    return f" (left out: {'; '.join(parts)})" if parts else ""


def _questions(
    held: Sequence[Held], senses: Senses, count: int, seed: int, tally: Tally
) -> list[Question]:
    """The first ``count`` in the order of the draw that can be judged; the tally counts the others."""
    known: list[_Known] = []
    for each in ordered(held, seed):
        vector = senses.of(each.conjunct)
        if vector is None:
            _refuse(tally, UNKNOWN)
        else:
            known.append((each, vector))
    found: list[Question] = []
    for each, vector in known:
        rivals = _rivals(each, known, seed)
        if not rivals:
            _refuse(tally, ALONE)
        elif len(found) < count:
            others = tuple(other.conjunct for other, _ in rivals)
            found.append(Question(each, vector, np.stack([v for _, v in rivals]), others))
    return found


def _refuse(tally: Tally, reason: str) -> None:
    tally.keep(-1)
    tally.refuse(reason)


def _rivals(held: Held, known: Sequence[_Known], seed: int) -> list[_Known]:
    """Up to 20 other conjuncts of the same category, of other words; of any, if there is none."""
    words = in_lower_case(held.conjunct)
    others = [other for other in known if in_lower_case(other[0].conjunct) != words]
    pool = [other for other in others if other[0].category == held.category] or others
    return rng_of(held, seed).sample(pool, min(_RIVALS, len(pool)))
