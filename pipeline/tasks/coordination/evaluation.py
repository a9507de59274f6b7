"""Coordination predicted and judged: whole, outer, inner and exact, by category."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pipeline.core.answered import AnsweredInstance
from pipeline.core.schema import PREDICTIONS
from pipeline.core.types import CATEGORIES, CRITERIA, Span, bracketed
from pipeline.tasks.coordination.figures import (
    accuracy,
    accuracy_by_category,
    categories,
    judge,
)
from pipeline.tasks.coordination.instances import (
    Instance,
    Row,
    digest,
    predicted,
    read_instances,
    row_of,
)
from pipeline.tasks.coordination.model import CoordinationPredictor
from pipeline.tasks.protocol import Evaluation, JudgedRows, counts_among


class CoordinationEvaluation(Evaluation[Instance]):
    """See ``tasks.protocol.Evaluation``; an instance is an evaluable coordination."""

    title = "Accuracy (%) of the outer boundary"
    figure = "accuracy"
    schema = PREDICTIONS
    columns = (*CATEGORIES, "overall")

    def instances(self, corpus: Path, split: str, limit: int | None) -> list[Instance]:
        """The evaluable coordinations of a split."""
        return read_instances(corpus, split, limit)

    def digest(self, instances: Sequence[Instance]) -> str:
        """What tells their sentences and annotation from others."""
        return digest(instances)

    def documents(self, instances: Sequence[Instance]) -> list[str]:
        """The documents that their sentences are of."""
        return [instance.sentence.doc_id for instance in instances]

    def sizes(self, instances: Sequence[Instance]) -> dict[str, int]:
        """How many there are of each category."""
        found = categories([instance.gold.label for instance in instances])
        return {name: len(members) for name, members in found.items()}

    def rows(
        self, model: CoordinationPredictor, instances: Sequence[Instance], batch_tokens: int
    ) -> list[Row]:
        """The predictor's conjuncts of each."""
        found = model.predict(
            [instance.sentence.words for instance in instances],
            [instance.gold.coordinator for instance in instances],
            batch_tokens,
        )
        return [
            row_of(instance, one.conjuncts, one.probability) if one else row_of(instance, (), 0.0)
            for instance, one in zip(instances, found, strict=True)
        ]

    def judged(self, instances: Sequence[Instance], rows: Sequence[Row]) -> JudgedRows:
        """The share of right boundaries by category, and of right structures by each criterion."""
        verdicts = [
            judge(instance.gold, predicted(row))
            for instance, row in zip(instances, rows, strict=True)
        ]
        labels = [instance.gold.label for instance in instances]
        right = [verdict["whole"] for verdict in verdicts]
        counts = np.ones((len(right), 1, 3), dtype=np.int64)
        counts[:, 0, 0] = right
        return JudgedRows(
            figures=accuracy_by_category(labels, right),
            criteria={c: accuracy([v[c] for v in verdicts]) for c in CRITERIA},
            unscored=sum(not row["predicted"] for row in rows),
            counts=counts,
            of_columns=counts_among(counts, categories(labels)),
        )

    def shown(self, instance: Instance) -> AnsweredInstance:
        """The sentence with its coordinator in brackets, and the coordination with its conjuncts in them."""
        sentence, gold = instance.sentence, instance.gold
        return AnsweredInstance(
            name=f"{sentence.sentence_id}:{gold.coordinator}",
            text=bracketed(sentence.words, [Span(gold.coordinator, gold.coordinator + 1)]),
            right=_in_words(sentence.words, gold.conjuncts),
            license=sentence.license,
        )

    def said(self, instance: Instance, row: Row) -> tuple[str, bool]:
        """The coordination, and whether its outer boundary is right."""
        conjuncts = predicted(row)
        is_right = judge(instance.gold, conjuncts)["whole"]
        return _in_words(instance.sentence.words, conjuncts), is_right


def _in_words(words: Sequence[str], conjuncts: Sequence[Span]) -> str:
    """From the first conjunct to the last, each in brackets; "": there are none."""
    if not conjuncts:
        return ""
    start, end = conjuncts[0].start, conjuncts[-1].end
    own = [Span(span.start - start, span.end - start) for span in conjuncts]
    return bracketed(words[start:end], own)
