"""What people had annotated for a run: L, and whatever its candidates, its encoder and its twins rest on."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.core.annotation import OTHERS, UNKNOWN, Annotation, joined, part_of
from pipeline.core.corpus_folder import annotation_of_trees, corpus_name, trees_folder
from pipeline.core.draws import annotation_of_draw, every_draw
from pipeline.core.runs import NO_TWINS
from pipeline.core.types import Sentence
from pipeline.models.annotated import annotation_of_model
from pipeline.models.loading import locate
from pipeline.train.augmentation.kinds import KINDS
from pipeline.train.candidate_location import annotation_of_candidates
from pipeline.train.settings import Train


def annotation_of_run(settings: Train, encoder: str, others: Sequence[Sentence]) -> Annotation:
    """The record of a run.

    Args:
        settings: of the run.
        encoder: its checkpoint.
        others: sentences that it learns from beside L (``--gold-of``).

    Raises:
        InputError: the draw, or what stands beside the candidates or the encoder, is damaged.
    """
    brackets = settings.brackets is not None  # of L's trees
    parts = [*annotation_of_draw(settings.corpus, settings.seed, settings.labelled, trees=brackets)]
    if settings.gold_folder is not None:
        parts += _gold_of(settings, settings.gold_folder, others)
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


def _gold_of(settings: Train, folder: Path, others: Sequence[Sentence]) -> Annotation:
    """The record of who learns the gold coordinations of the sentences that a parser learned from.

    It is the parser's, whose trees candidates may rest on: the same sentences, not two sets of them.
    """
    from pipeline.parsing.annotated import annotation_of_parser  # noqa: PLC0415 - stanza takes seconds

    learned = [part for part in annotation_of_parser(folder) if part.use == "learned"]
    if any(part.part == UNKNOWN for part in learned):
        name, draws = corpus_name(settings.corpus), every_draw(settings.corpus)
        return (part_of(name, OTHERS, others, trees=False, draws=draws),)
    return joined(part.model_copy(update={"trees": 0}) for part in learned)
