"""What people had annotated for a run: L, and whatever its candidates, its encoder and its twins rest on."""

from pipeline.core.annotation import Annotation, joined
from pipeline.core.corpus_folder import annotation_of_trees, trees_folder
from pipeline.core.draws import annotation_of_draw
from pipeline.core.runs import NO_TWINS
from pipeline.models.annotated import annotation_of_model
from pipeline.models.loading import locate
from pipeline.train.augmentation.kinds import KINDS
from pipeline.train.candidate_location import annotation_of_candidates
from pipeline.train.settings import Train


def annotation_of_run(settings: Train, encoder: str) -> Annotation:
    """The record of a run.

    Args:
        settings: of the run.
        encoder: its checkpoint.

    Raises:
        InputError: the draw, or what stands beside the candidates or the encoder, is damaged.
    """
    parts = [*annotation_of_draw(settings.corpus, settings.seed, settings.labelled)]
    parts += annotation_of_model(encoder)
    if settings.mode != "baseline" and settings.candidates is not None:
        parts += annotation_of_candidates(settings.candidates)
    if settings.augment != NO_TWINS:
        if settings.augment_lm is not None and "augment_lm" in KINDS[settings.augment].takes:
            where = locate(settings.augment_lm, settings.corpus, settings.seed)
            parts += annotation_of_model(where)
        if settings.augment == "substitute":  # by constituents of the trees of U
            parts += annotation_of_trees(trees_folder(settings.corpus))
    return joined(parts)
