"""What a run of Algorithm 1 reads: L and the validation set, which a draw names (§5.1), and U."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from typing import Any

import torch

from pipeline.core.corpus_folder import draw_file
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of
from pipeline.core.tally import Tally
from pipeline.models.loading import locate
from pipeline.tasks.protocol import Model, Task
from pipeline.train.gold import sentences_of_parser
from pipeline.train.selection import SELECTIONS
from pipeline.train.settings import TrainSettings
from pipeline.train.stream import CandidateStream

_LATER = {"variant", "conjuncts"}
OF_L = "of a sentence that is L's, validates or is learned from as gold"
HELD_OUT = "of a sentence that is held out now, for dev or a test"


@dataclass(frozen=True, slots=True)
class TrainData:
    """L, the validation set and U of a run.

    Attributes:
        labelled: L as drawn.
        others: sentences of the treebank that extend it (``--gold-of``).
        learned: those of both that the predictor can learn from.
        sources: the sentences that they are of, in their order.
        held_out: digest of the ids that the corpus keeps for dev and tests.
        measured: the validation sentences, with everything in them.
        candidates: U with what generation made of it; None for a baseline.
        uncovered: labels of L that no candidate has.
        excluded: what could not be scored of both sets, with the reasons.
        notes: counts of what else is to be known of L.
    """

    labelled: list[Any]
    others: list[Any]
    learned: list[Any]
    sources: list[Any]
    held_out: str
    measured: list[Any]
    candidates: CandidateStream | None
    uncovered: list[str]
    excluded: dict[str, Tally]
    notes: dict[str, int]

    @property
    def size(self) -> int:
        """Sentences of the draw, or what else it names."""
        return len({source.sentence_id for source in self.labelled})

    def about(self, *, trees: bool = False) -> dict[str, Any]:
        """Digests that tell it from other data.

        Args:
            trees: whether those of L do.
        """
        own = {"trees": digest_of([sentence.tree for sentence in self.sources])} if trees else {}
        return {
            **own,
            "labelled sentences": digest_of_examples(self.learned),
            "validation sentences": digest_of_examples(self.measured),
            "candidates": self.candidates.digest if self.candidates else None,
        }


def digest_of_examples(examples: Sequence[Any]) -> str:
    """What tells examples and what is learned of them from others."""
    # These came later: ``variant`` is false in all, and on ``conjuncts`` no predicted boundary depends;
    # see ``digest_of_conjuncts``.
    return digest_of([{k: v for k, v in asdict(e).items() if k not in _LATER} for e in examples])


def digest_of_conjuncts(examples: Sequence[Any]) -> str:
    """What is learned of examples when the weights have been chosen (``Model.complete``)."""
    return digest_of([asdict(each)["conjuncts"] for each in examples])


def encoder_of(settings: TrainSettings) -> str:
    """What to hand to ``from_pretrained`` for a run's encoder.

    Raises:
        ModelError: as ``locate``.
    """
    return locate(settings.of_draw(settings.encoder), settings.corpus, settings.seed)


def fresh_model(
    settings: TrainSettings, task: Task[Any], seed: int, device: torch.device
) -> Model[Any]:
    """A model with the run's pretrained encoder and a head of its own, drawn with ``seed``.

    Raises:
        ModelError: the encoder cannot be loaded.
    """
    return task.create(encoder_of(settings), settings, seed).to(device)


def read_data(
    settings: TrainSettings,
    task: Task[Any],
    model: Model[Any],
    without: AbstractSet[str] = frozenset(),
) -> TrainData:
    """Read everything before training, so that errors in the data cost no hours.

    Args:
        settings: of the run.
        task: of the corpus.
        model: says what it can learn from.
        without: sentences of L that are left out of it.

    Raises:
        InputError: the draw, the sentences or the candidates are missing, empty or inconsistent.
    """
    path = settings.corpus / draw_file(settings.seed, settings.labelled)
    labelled, validation = task.draw(settings.corpus, settings.seed, settings.labelled)
    held_out = task.held_out(settings.corpus)
    drawn = {sentence.sentence_id for sentence in (*labelled, *validation)}
    apart = set(task.kept_apart(labelled, validation))
    others = list[Any]()
    if settings.gold_folder is not None:
        taught = sentences_of_parser(settings.corpus, settings.gold_folder)
        # Another corpus may have a sentence of the draw under another id.
        words = {sentence.words for sentence in (*labelled, *validation)}
        others = [
            sentence
            for sentence in taught
            if sentence.sentence_id not in drawn | without and sentence.words not in words
        ]
        apart |= {sentence.sentence_id for sentence in others}
    labelled = [sentence for sentence in labelled if sentence.sentence_id not in without]
    own, further = task.examples(labelled, model), task.examples(others, model)
    learned = own.learned + further.learned
    every = [*labelled, *others]
    sources = [source for source in every if task.examples([source], model).learned]
    checked = task.examples(validation, model)
    measured = checked.measured
    if not learned:
        raise InputError("no labelled sentence can be learned from", path=path)
    if settings.brackets is not None and all(sentence.tree is None for sentence in sources):
        raise InputError(
            "no labelled sentence has a tree whose brackets could be learned", path=path,
            remedy="leave out --brackets, or ingest a treebank with trees",
        )  # fmt: skip
    if not measured:
        raise InputError("nothing in the validation sentences to measure on", path=path)
    if SELECTIONS[settings.select].needs_loss and not checked.tally.kept:
        raise InputError(
            "no validation sentence can be scored, so there is no loss to choose the weights by",
            path=path, remedy="say another --select, or take an encoder that reads longer sentences",
        )  # fmt: skip
    candidates, uncovered = None, list[str]()
    if settings.mode != "baseline" and settings.candidates is not None:
        candidates = CandidateStream(
            settings.candidates, task.rows, settings.seed, settings.labels,
            # The corpus may have been divided anew since the candidates were made.
            {OF_L: apart, HELD_OUT: held_out},
        )  # fmt: skip
        wanted = {label for source in every for label in task.labels(source)}
        uncovered = sorted(wanted - candidates.labels.keys())
    excluded = {"labelled": own.tally, "validation": checked.tally}
    if settings.gold_of is not None:
        excluded["others"] = further.tally
    if candidates is not None and candidates.left_out:
        # such as natural text harvested beside a smaller L
        excluded["shards"] = Tally(len(candidates), candidates.left_out)
    return TrainData(
        labelled, others, learned, sources, digest_of(sorted(held_out)), measured, candidates, uncovered,
        excluded, dict(own.notes),
    )  # fmt: skip
