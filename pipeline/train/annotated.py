"""What people had annotated for a run: L, and whatever its candidates, its encoder and its twins rest on."""

from pipeline.core.annotation import LABELLED, OTHERS, Annotation, joined, part_of
from pipeline.core.corpus_folder import annotation_of_trees, corpus_name, trees_folder
from pipeline.core.draws import annotation_of_draw, draw_name, every_draw
from pipeline.core.runs import NO_TWINS
from pipeline.models.annotated import annotation_of_model
from pipeline.models.loading import locate
from pipeline.train.augmentation.kinds import KINDS
from pipeline.train.candidate_location import annotation_of_candidates
from pipeline.train.data import TrainData
from pipeline.train.settings import Train


def annotation_of_run(settings: Train, encoder: str, data: TrainData) -> Annotation:
    """The record of a run.

    Args:
        settings: of the run.
        encoder: its checkpoint.
        data: what it learned from; of L and the sentences of ``--gold-of`` trees are read for ``--brackets``.

    Raises:
        InputError: the draw, or what stands beside the candidates or the encoder, is damaged.
    """
    parts = [*annotation_of_draw(settings.corpus, settings.seed, settings.labelled)]
    parts += annotation_of_model(encoder)
    name, trees = corpus_name(settings.corpus), settings.brackets is not None
    if trees:
        draw = draw_name(settings.seed, settings.labelled)
        parts.append(part_of(name, LABELLED, data.labelled, trees=True, draw=draw))
    if data.others:
        draws = every_draw(settings.corpus)
        parts.append(part_of(name, OTHERS, data.others, trees=trees, draws=draws))
    if settings.mode != "baseline" and settings.candidates is not None:
        parts += annotation_of_candidates(settings.candidates)
    if settings.augment != NO_TWINS:
        if settings.augment_lm is not None and "augment_lm" in KINDS[settings.augment].takes:
            where = locate(settings.augment_lm, settings.corpus, settings.seed)
            parts += annotation_of_model(where)
        if settings.augment == "substitute":  # by constituents of the trees of U
            parts += annotation_of_trees(trees_folder(settings.corpus))
    return joined(parts)
