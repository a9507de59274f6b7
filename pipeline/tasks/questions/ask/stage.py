"""The ``ask`` stage: event pairs in, shards of questions with four choices and of rejects out."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from pipeline.core.annotation import OTHERS, Annotation, Part, joined, place_name, recorded
from pipeline.core.cards.candidates import CandidatesManifest
from pipeline.core.console import say
from pipeline.core.corpus_folder import (
    QUESTIONS_FILE,
    SENTENCES_FILE,
    TEXT_FILE,
    corpus_around,
    corpus_name,
    require_ingested,
)
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of, sha256_of
from pipeline.core.parquet import MANIFEST
from pipeline.core.questions import (
    CORE_PAIRS_FILE,
    PSEUDO_QUESTION_REJECTS,
    PSEUDO_QUESTIONS,
    pair_of_events,
    question_candidate_id,
)
from pipeline.corpus.handing_on import require_home_of_text
from pipeline.corpus.licences import combined
from pipeline.executor.launch import in_launch, threads_of_torch
from pipeline.executor.run import OnBatch
from pipeline.models.sampling import uniform
from pipeline.sources.making import RowMaking, make_candidates
from pipeline.tasks.questions.ask.bands import Band
from pipeline.tasks.questions.ask.distractors import Bands, DistractorPool, choose
from pipeline.tasks.questions.ask.settings import AskSettings
from pipeline.tasks.questions.leakage import HeldOutQuestions
from pipeline.tasks.questions.pairs import EventPair, read_core_pairs, read_event_pairs
from pipeline.tasks.questions.votes import read_votes
from pipeline.text.clauses import ClauseWording, context_text
from pipeline.text.word_vectors import Senses

ALGORITHM = 2
"""Raise it when a code change changes the rows made from the same settings and inputs."""

NOBODY_ASKED = "nobody voted on it"
FEW_VOTES = "too few votes"
NO_VECTOR = "a clause without a word that has a vector"
FEW_DISTRACTORS = "fewer than three distractors"

NOT_BASIC = "pairs are not basic: no core events, or another pair's"

_MAKING = RowMaking(
    algorithm=ALGORITHM,
    packages=("numpy", "pyarrow", "rapidfuzz", "torch"),
    shown=frozenset({"condition", "bands", "seed"}),
    covered=frozenset({"pairs", "votes"}),  # which the inputs tell by their content
)


def run(settings: AskSettings) -> None:
    """Make every unit that is missing, stale or damaged, in ``settings.processes`` processes.

    Raises:
        InputError: of the pairs, their corpus, the held-out questions or the votes; no question comes of
            them; or another run writes to the output folder.
    """
    home = _home(settings)
    out = settings.out or home / "candidates" / "asked" / f"seed-{settings.seed}"
    if not settings.own_use:
        require_home_of_text(out, home)  # before the minutes that distractors take
    source = AskedQuestions(settings, home)
    named = [settings.pairs]
    named += [settings.votes] if settings.votes else []
    named += [_held_out(settings, home) / QUESTIONS_FILE] if settings.apart else []
    make_candidates(settings, source, out, _MAKING, named, home=home)


@dataclass(frozen=True, slots=True)
class Asked:
    """An event pair as a question.

    Attributes:
        pair: it.
        context: its cause, written with the connective.
        choices: its effect, and the distractors if it has them.
        answer: the place of its effect.
        events: its pair of core events; of the condition *reliable* the words of both clauses.
        latter: what tells its effect from others.
        license: of all that is shown.
        reason: why it is refused, if it is.
    """

    pair: EventPair
    context: str
    choices: tuple[str, ...]
    answer: int
    events: str
    latter: str
    license: str
    reason: str | None = None


class AskedQuestions:
    """Questions with four choices; see ``sources.protocol.CandidateSource``.

    All distractors are chosen when it is made, for how often a clause is one is a matter of all questions.

    A clause's vector is the mean of its words' (``text.word_vectors.Senses``, of the corpus's own text). The
    thesis takes the mean over content words of word2vec's vectors; here no list says what a content word is,
    and a word weighs less the more frequent it is, so that function words hardly count; and the mean of all
    words is subtracted. Cosines so have another scale, for which ``--bands quantile`` is there.

    Args:
        settings: the stage's.
        home: the corpus that the pairs' text is of.

    Raises:
        InputError: an input cannot be read, or no question comes of it.
    """

    called = "pairs"
    gpus = False
    schemas: Mapping[str, pa.Schema] = {
        "candidates": PSEUDO_QUESTIONS, "rejects": PSEUDO_QUESTION_REJECTS,
    }  # fmt: skip
    text_file = SENTENCES_FILE
    added: str | None = None

    def __init__(self, settings: AskSettings, home: Path) -> None:
        self._settings, self._home = settings, home
        every = read_event_pairs(settings.pairs)
        self._manifest: CandidatesManifest = read_json(
            settings.pairs / MANIFEST, CandidatesManifest, needs=["shards"]
        )
        require_ingested(home, TEXT_FILE)
        with threads_of_torch(settings.threads):
            self._senses = Senses.read(home / TEXT_FILE, seed=0)
        known = {pair.pair_id: pair for pair in every}
        self._votes = read_votes(settings.votes, known) if settings.votes else None
        questions = self._refused(self._unanswered(every))
        self.notes: Mapping[str, int] = {NOT_BASIC: len(every) - len(questions)}
        questions, counts = self._with_distractors(questions)
        self.notes = {**self.notes, **{f"pairs were {what}": n for what, n in counts.items()}}
        self._require_some(questions, counts)
        starts = range(0, len(questions), settings.unit)
        self._units = [questions[start : start + settings.unit] for start in starts]
        self.sizes: Sequence[int] = list(map(len, self._units))
        self.inert: Set[str] = frozenset() if settings.votes else frozenset({"least"})

    def _unanswered(self, every: Sequence[EventPair]) -> list[Asked]:
        """The pairs that meet the condition, each with its answer alone."""
        wording = ClauseWording(side for pair in every for side in (pair.former, pair.latter))
        if self._settings.condition == "basic":
            cores = {
                each.pair_id: (each.former_core, each.latter_core)
                for each in read_core_pairs(self._settings.pairs)
            }
        else:
            cores = {
                pair.pair_id: (" ".join(pair.former).lower(), " ".join(pair.latter).lower())
                for pair in every
            }
        return [
            Asked(
                pair,
                context_text(pair.connective, wording.clause(pair.former)),
                (wording.clause(pair.latter),), 0,
                pair_of_events(*cores[pair.pair_id]), cores[pair.pair_id][1], pair.license,
            )
            for pair in every
            if pair.pair_id in cores
        ]  # fmt: skip

    def _refused(self, questions: list[Asked]) -> list[Asked]:
        """The same, with the reason of those that too few people vote for, or that leak."""
        settings = self._settings
        votes, held_out = self._votes, None
        if settings.apart:
            corpus = _held_out(settings, self._home)
            held_out = HeldOutQuestions.read(corpus, settings.apart)

        def reason(question: Asked) -> str | None:
            if (
                votes is not None
                and (given := votes.get(question.pair.pair_id, -1)) < settings.least
            ):
                return NOBODY_ASKED if given < 0 else FEW_VOTES
            if held_out is None:
                return None
            return held_out.leak(
                [question.context, *question.choices], question.events, question.pair
            )

        return [replace(question, reason=reason(question)) for question in questions]

    def _with_distractors(self, questions: list[Asked]) -> tuple[list[Asked], Counter[str]]:
        """The same, with distractors or the reason why there are none; and counts of pairs looked at."""
        settings = self._settings
        contexts = [self._senses.of(question.pair.former) for question in questions]
        answers = [self._senses.of(question.pair.latter) for question in questions]
        places = []
        for place, (question, *vectors) in enumerate(
            zip(questions, contexts, answers, strict=True)
        ):
            if question.reason is None and any(vector is None for vector in vectors):
                questions[place] = replace(question, reason=NO_VECTOR)
            elif question.reason is None:
                places.append(place)
        pool = DistractorPool(
            [questions[place].pair.pair_id for place in places],
            _stacked([contexts[place] for place in places]),
            _stacked([answers[place] for place in places]),
            np.array([len(questions[place].pair.latter) for place in places], dtype=np.int64),
            _numbered([questions[place].choices[0].lower() for place in places]),
            _numbered([questions[place].latter for place in places]),
        )
        bands = Bands(
            *map(Band.read, (settings.choice_band, settings.context_band, settings.length_band))
        )
        if settings.bands == "quantile":
            bands = bands.as_quantiles(pool, settings.seed)
            if not in_launch():
                say(f"bands of cosines: choice {bands.choice}, context {bands.context}")
        choices, counts = choose(pool, bands, reuse=settings.reuse, seed=settings.seed)
        made = list(questions)
        for place, choice in zip(places, choices, strict=True):
            own = questions[place]
            if choice is None:
                made[place] = replace(own, reason=FEW_DISTRACTORS)
                continue
            others = [questions[places[each]] for each in choice.distractors]
            texts = [each.choices[0] for each in others]
            texts.insert(choice.answer, own.choices[0])
            made[place] = replace(
                own, choices=tuple(texts), answer=choice.answer, license=_license([own, *others])
            )
        return made, counts

    def _require_some(self, questions: Sequence[Asked], counts: Counter[str]) -> None:
        """Raise where no question is made.

        Raises:
            InputError: none is; the counts say why.
        """
        if any(question.reason is None for question in questions):
            return
        reasons = Counter(question.reason for question in questions)
        why = [f"{number:,} {reason}" for reason, number in reasons.most_common()]
        looked = [f"{number:,} {what}" for what, number in counts.items()]
        raise InputError(
            f"no question comes of {len(questions):,} pairs ({', '.join(why)}; pairs {', '.join(looked)})",
            path=self._settings.pairs,
            remedy="take more pairs, or wider bands: 0.4- has no upper bound, and --bands quantile goes by "
            "the cosines that there are",
        )

    def inputs(self) -> dict[str, Any]:
        """The pairs, the text of the vectors, and what pairs are refused by."""
        settings = self._settings
        found: dict[str, Any] = {
            "pairs": digest_of(self._manifest["shards"]), "vectors": self._senses.source,
        }  # fmt: skip
        if settings.condition == "basic":
            found["core_pairs"] = sha256_of(settings.pairs / CORE_PAIRS_FILE)
        if settings.votes:
            found["votes"] = sha256_of(settings.votes)
        if settings.apart:
            found["held_out"] = sha256_of(_held_out(settings, self._home) / QUESTIONS_FILE)
        return found

    def model(self) -> str | None:
        """None of its own."""
        return None

    def annotation(self) -> Annotation:
        """That of the pairs, and of each pair that people voted on whether it is one of cause and effect."""
        record = recorded(self._manifest, place_name(self._settings.pairs))
        if self._votes is None:
            return record
        voted = Part(
            corpus=corpus_name(self._home), part=OTHERS, ids=digest_of(sorted(self._votes))[:8],
            sentences=len(self._votes), questions=len(self._votes),
        )  # fmt: skip
        return joined([*record, voted])

    def items(self, unit: int) -> tuple[list[Asked], dict[str, int]]:
        """The questions of a unit."""
        return self._units[unit], {}

    def prepare(
        self, device: torch.device
    ) -> Callable[[Sequence[Asked], OnBatch], tuple[list[dict[str, Any]], dict[str, int]]]:
        """All is ready; returns what makes the rows of questions."""
        del device

        def make(
            items: Sequence[Asked], on_batch: OnBatch
        ) -> tuple[list[dict[str, Any]], dict[str, int]]:
            rows = list(map(_row, items))
            on_batch(len(items), 0)
            return rows, {}

        return make

    def tables(self, rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
        """The rows of each kind of file."""
        kept = [row for row in rows if row["reason"] is None]
        return {
            "candidates": [{name: row[name] for name in PSEUDO_QUESTIONS.names} for row in kept],
            "rejects": [row for row in rows if row["reason"] is not None],
        }


def _home(settings: AskSettings) -> Path:
    found = corpus_around(settings.pairs.absolute()) or settings.corpus
    if found is None:
        raise InputError(
            "no corpus folder around these pairs, whose text has the word vectors", path=settings.pairs,
            remedy="name the folder with --corpus",
        )  # fmt: skip
    return found


def _held_out(settings: AskSettings, home: Path) -> Path:
    return settings.corpus or home


def _row(question: Asked) -> dict[str, Any]:
    pair = question.pair
    return {
        "candidate_id": question_candidate_id(
            pair.pair_id, question.context, question.choices, question.answer
        ),
        "sentence_id": pair.pair_id,
        "label": pair.connective,
        "context": question.context,
        "choices": list(question.choices),
        "answer": question.answer,
        "events": question.events,
        "split": split_of(question.events),
        "score": None,
        "license": question.license,
        "reason": question.reason,
    }


def split_of(events: str) -> str:
    """The split of a pair of core events, by its hash: 8 of 10 train, one dev, one test, for every seed."""
    share = uniform(0, events, 0, 0)
    return "train" if share < 0.8 else "dev" if share < 0.9 else "test"


def _license(questions: Sequence[Asked]) -> str:
    found = {question.license for question in questions}
    return questions[0].license if len(found) == 1 else combined(found)


def _stacked(vectors: Sequence[Any]) -> Any:
    return np.stack(vectors).astype(np.float32) if vectors else np.zeros((0, 1), dtype=np.float32)


def _numbered(texts: Sequence[str]) -> Any:
    """A number for each text, the same for equal ones."""
    known = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    return np.array([known[text] for text in texts], dtype=np.int64)
