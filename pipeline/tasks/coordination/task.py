"""Coordination as a task: the outer boundary of each coordinator's structure (§2)."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from pipeline.core.annotation import Annotation
from pipeline.core.corpora import COORDINATION
from pipeline.core.corpus_folder import coordinators_of
from pipeline.core.draws import annotation_of_draw, read_draw
from pipeline.core.schema import SCORED
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence, Span
from pipeline.tasks.coordination.evaluation import CoordinationEvaluation
from pipeline.tasks.coordination.examples import CoordinationExample, protected
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.coordination.rows import CoordinationRows
from pipeline.tasks.coordination.substitutions import Substitutions
from pipeline.tasks.protocol import HeadSettings, Learnable, Task


class CoordinationTask(Task[CoordinationExample]):
    """See ``tasks.protocol.Task``; a source is a sentence of a treebank."""

    name = COORDINATION
    options = frozenset({"labels", "gold_of", "brackets", "mlp_hidden", "dropout"})
    augmentations = {"substitute": Substitutions}  # noqa: RUF012 - nobody changes it
    answer_columns = (SCORED.field("start"), SCORED.field("end"))
    rows = CoordinationRows()
    evaluation = CoordinationEvaluation()

    def draw(self, corpus: Path, seed: int, labelled: str) -> tuple[list[Sentence], list[Sentence]]:
        """Sentences with coordination: L, and the validation set."""
        return read_draw(corpus, seed, labelled)

    def annotation(self, corpus: Path, seed: int, labelled: str) -> Annotation:
        """The boundaries of L and of its validation sentences."""
        return annotation_of_draw(corpus, seed, labelled)

    def examples(
        self, sources: Sequence[Sentence], model: CoordinationPredictor
    ) -> Learnable[CoordinationExample]:
        """The evaluable coordinations of each sentence as an example."""
        learned, measured, tally = [], [], Tally()
        for sentence in sources:
            each = [
                CoordinationExample(
                    sentence.words,
                    (c.coordinator,),
                    (Span(c.start, c.end),),
                    conjuncts=(c.conjuncts,),
                )
                for c in sentence.evaluable
            ]
            reasons = model.obstacles(each)
            kept = [one for one, reason in zip(each, reasons, strict=True) if reason is None]
            tally.keep(len(kept))
            for reason in reasons:
                if reason is not None:
                    tally.refuse(reason)
            if each:
                measured.append(each[0].joined(each[1:]))
            if kept:
                learned.append(kept[0].joined(kept[1:]))
        return Learnable(learned, measured, tally)

    def labels(self, source: Sentence) -> AbstractSet[str]:
        """Those of its evaluable coordinations."""
        return {c.label for c in source.evaluable}

    def protected(self, source: Sentence) -> frozenset[int]:
        """The words that say where structures are."""
        return protected(source)

    def create(self, where: str, settings: HeadSettings, seed: int) -> CoordinationPredictor:
        """An encoder with a fresh endpoint scorer."""
        return CoordinationPredictor.create(
            where,
            mlp_hidden=settings.mlp_hidden,
            dropout=settings.dropout,
            seed=seed,
            encoder_dropout=settings.encoder_dropout,
            coordinators=coordinators_of(settings.corpus),
        )

    def load(self, folder: Path) -> CoordinationPredictor:
        """The predictor of a folder."""
        return CoordinationPredictor.load(folder)
