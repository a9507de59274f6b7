"""What a run of Algorithm 1 reads: L and the validation set, which a draw names (§5.1), and U."""

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from typing import Any

import torch

from pipeline.core.corpus_folder import draw_file
from pipeline.core.draws import read_draw
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence
from pipeline.models.loading import locate
from pipeline.tasks.coordination.examples import Example
from pipeline.tasks.coordination.model import Predictor
from pipeline.train.gold import sentences_of_parser
from pipeline.train.learner import learnable
from pipeline.train.selection import SELECTIONS
from pipeline.train.settings import Train
from pipeline.train.stream import CandidateStream

OF_L = "of a sentence of L or its validation sentences"


@dataclass(frozen=True, slots=True)
class TrainData:
    """L, the validation set and U of a run.

    Attributes:
        labelled: L as drawn.
        others: sentences of the treebank that extend it (``--gold-of``).
        learned: those of both that the predictor can learn from.
        sources: the sentences that they are of, in their order.
        measured: the validation sentences, with everything in them.
        candidates: U with what generation made of it; None for a baseline.
        uncovered: labels of L that no candidate has.
        excluded: what could not be scored of both sets, with the reasons.
    """

    labelled: list[Sentence]
    others: list[Sentence]
    learned: list[Example]
    sources: list[Sentence]
    measured: list[Example]
    candidates: CandidateStream | None
    uncovered: list[str]
    excluded: dict[str, Tally]

    @property
    def size(self) -> int:
        """Sentences of the draw."""
        return len(self.labelled)

    def about(self, *, trees: bool = False) -> dict[str, Any]:
        """Digests that tell it from other data.

        Args:
            trees: whether those of L do.
        """
        own = {"trees": digest_of([sentence.tree for sentence in self.sources])} if trees else {}
        return {
            **own,
            "labelled sentences": _digest(self.learned),
            "validation sentences": _digest(self.measured),
            "candidates": self.candidates.digest if self.candidates else None,
        }


def _digest(examples: Sequence[Example]) -> str:
    # ``twin``, which is false in all of them, came later, and changes no run made before.
    return digest_of([{k: v for k, v in asdict(e).items() if k != "twin"} for e in examples])


def fresh_predictor(settings: Train, seed: int, device: torch.device) -> Predictor:
    """A predictor with the run's pretrained encoder and a scorer of its own, drawn with ``seed``.

    Raises:
        ModelError: the encoder cannot be loaded.
    """
    return Predictor.create(
        locate(settings.encoder, settings.corpus, settings.seed),
        mlp_hidden=settings.mlp_hidden,
        dropout=settings.dropout,
        seed=seed,
        encoder_dropout=settings.encoder_dropout,
    ).to(device)


def read_data(
    settings: Train, predictor: Predictor, without: AbstractSet[str] = frozenset()
) -> TrainData:
    """Read everything before training, so that errors in the data cost no hours.

    Args:
        settings: of the run.
        predictor: says what it can learn from.
        without: sentences of L that are left out of it.

    Raises:
        InputError: the draw, the sentences or the candidates are missing, empty or inconsistent.
    """
    path = settings.corpus / draw_file(settings.seed, settings.labelled)
    labelled, validation = read_draw(settings.corpus, settings.seed, settings.labelled)
    drawn = {sentence.sentence_id for sentence in (*labelled, *validation)}
    others = list[Sentence]()
    if settings.gold_folder is not None:
        taught = sentences_of_parser(settings.corpus, settings.gold_folder, validation)
        others = [sentence for sentence in taught if sentence.sentence_id not in drawn | without]
        drawn |= {sentence.sentence_id for sentence in others}
    labelled = [sentence for sentence in labelled if sentence.sentence_id not in without]
    learned, _, tally = learnable(labelled, predictor)
    further, _, tally_others = learnable(others, predictor)
    learned += further
    every = [*labelled, *others]
    sources = [sentence for sentence in every if learnable([sentence], predictor)[0]]
    _, measured, tally_validation = learnable(validation, predictor)
    if not learned:
        raise InputError("no labelled sentence can be learned from", path=path)
    if settings.brackets is not None and all(sentence.tree is None for sentence in sources):
        raise InputError(
            "no labelled sentence has a tree whose brackets could be learned", path=path,
            remedy="leave out --brackets, or ingest a treebank with trees",
        )  # fmt: skip
    if not measured:
        raise InputError("no coordination in the validation sentences", path=path)
    if SELECTIONS[settings.select].needs_loss and not tally_validation.kept:
        raise InputError(
            "no validation sentence can be scored, so there is no loss to choose the weights by",
            path=path, remedy="say another --select, or take an encoder that reads longer sentences",
        )  # fmt: skip
    candidates, uncovered = None, list[str]()
    if settings.mode != "baseline" and settings.candidates is not None:
        candidates = CandidateStream(settings.candidates, settings.seed, settings.labels, drawn)
        wanted = {c.label for s in every for c in s.coordinations if c.is_evaluable}
        uncovered = sorted(wanted - candidates.labels.keys())
    excluded = {"labelled": tally, "validation": tally_validation}
    if settings.gold_of is not None:
        excluded["others"] = tally_others
    if candidates is not None and candidates.left_out:
        # such as natural text harvested beside a smaller L
        excluded["candidates"] = Tally(len(candidates), Counter({OF_L: candidates.left_out}))
    return TrainData(
        labelled, others, learned, sources, measured, candidates, uncovered, excluded
    )  # fmt: skip
