"""What people had annotated for a run: L, and what its candidates, its encoder and its variants rest on."""

from pathlib import Path
from typing import Any

from pipeline.core.annotation import (
    LABELLED,
    OTHERS,
    UNKNOWN,
    Annotation,
    joined,
    part_of,
    place_name,
)
from pipeline.core.cards.runs import BegunWith, RunCard
from pipeline.core.corpus_folder import annotation_of_trees, corpus_name, trees_folder
from pipeline.core.documents import read_json
from pipeline.core.draws import draw_name, every_draw
from pipeline.core.runs import NO_AUGMENTATION, System
from pipeline.corpus.annotated import annotation_of_predictor
from pipeline.models.annotated import annotation_of_model
from pipeline.models.loading import is_predictor, locate
from pipeline.tasks.protocol import Task
from pipeline.train.augmentation.kinds import kinds_of
from pipeline.train.candidate_location import annotation_of_candidates
from pipeline.train.data import TrainData
from pipeline.train.gold import corpus_of_parser
from pipeline.train.settings import TrainSettings


def annotation_of_run(
    settings: TrainSettings, task: Task[Any], encoder: str, data: TrainData
) -> Annotation:
    """The record of a run.

    Args:
        settings: of the run.
        task: of the corpus.
        encoder: its checkpoint.
        data: what it learned from; of L and the sentences of ``--gold-of`` trees are read for ``--brackets``.

    Raises:
        InputError: the draw, or what stands beside the candidates or the encoder, is damaged.
    """
    parts = [*task.annotation(settings.corpus, settings.seed, settings.labelled)]
    begun = is_predictor(encoder)
    parts += annotation_of_predictor(Path(encoder)) if begun else annotation_of_model(encoder)
    if settings.brackets is not None:
        name = corpus_name(settings.corpus)
        draw = draw_name(settings.seed, settings.labelled)
        parts.append(part_of(name, LABELLED, data.labelled, trees=True, draw=draw))
    if settings.gold_folder is not None:
        parts += _gold_of(settings, settings.gold_folder, data)
    if settings.mode != "baseline" and settings.candidates is not None:
        parts += annotation_of_candidates(settings.candidates)
    if settings.augment != NO_AUGMENTATION:
        if (
            settings.augment_lm is not None
            and "augment_lm" in kinds_of(task)[settings.augment].takes
        ):
            where = locate(settings.augment_lm, settings.corpus, settings.seed)
            parts += annotation_of_model(where)
        if settings.augment == "substitute":  # by constituents of the trees of U
            parts += annotation_of_trees(trees_folder(settings.corpus))
    return joined(parts)


def begun_with(encoder: str) -> BegunWith | None:
    """The predictor whose encoder a run begins with; None where it begins with a checkpoint.

    Of one that lies without its run it is not known whether candidates taught it: it is taken to be so, for a
    run may not pass for a rival of candidates that it has learned from.

    Raises:
        InputError: what ``train`` wrote beside it is damaged.
    """
    if not is_predictor(encoder):
        return None
    folder = Path(encoder).resolve().parent
    if not (folder / "run.json").is_file():
        return {"system": place_name(folder), "taught": True}
    first = System.of(read_json(folder / "run.json", RunCard))
    return {"system": str(first), "taught": first.has_candidates}


def _gold_of(settings: TrainSettings, folder: Path, data: TrainData) -> Annotation:
    """The record of who learns from the gold annotation of the sentences that a parser learned from.

    It is the parser's, whose trees candidates may rest on: the same sentences, not two sets of them.
    """
    from pipeline.parsing.annotated import annotation_of_parser  # noqa: PLC0415 - stanza takes seconds

    trees = settings.brackets is not None
    learned = [part for part in annotation_of_parser(folder) if part.use == "learned"]
    if any(part.part == UNKNOWN for part in learned):
        home = corpus_of_parser(settings.corpus, folder)
        name, draws = corpus_name(home), every_draw(home)
        return (part_of(name, OTHERS, data.others, trees=trees, draws=draws),)
    return joined(part if trees else part.model_copy(update={"trees": 0}) for part in learned)
