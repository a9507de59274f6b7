"""Senses predicted and judged: F1 over senses, and of each."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.core.answered import AnsweredInstance
from pipeline.core.corpus_folder import RELATIONS_FILE
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of
from pipeline.core.pairs import Pair, pair_text
from pipeline.tasks.protocol import Evaluation, JudgedRows, Row
from pipeline.tasks.relations.examples import example_of
from pipeline.tasks.relations.figures import counted, f1
from pipeline.tasks.relations.model import RelationModel
from pipeline.tasks.relations.pairs import known_pairs

MICRO = "micro-F1"
STRICT, STRICT_MICRO = "strict macro-F1", "strict micro-F1"


class RelationEvaluation(Evaluation[Pair]):
    """See ``tasks.protocol.Evaluation``; an instance is an implicit pair with the senses that models tell."""

    title = "F1 (%) of senses, overall: the mean over senses (macro-F1)"
    figure = "macro-F1"
    schema = pa.schema(
        [
            pa.field("pair_id", pa.string(), nullable=False),
            pa.field(
                "senses", pa.list_(pa.field("element", pa.string(), nullable=False)), nullable=False
            ),
            pa.field("predicted", pa.string(), nullable=False),
            pa.field("probability", pa.float32(), nullable=False),
        ]
    )
    columns = ("overall", MICRO)

    def instances(self, corpus: Path, split: str, limit: int | None) -> list[Pair]:
        """The implicit pairs of a split that have such a sense."""
        found = known_pairs(corpus, {split})[:limit]
        if not found:
            raise InputError(
                f"no implicit pair in split {split!r} of a sense that models tell apart",
                path=corpus / RELATIONS_FILE,
                remedy="choose another --split or a greater --limit",
            )
        return found

    def digest(self, instances: Sequence[Pair]) -> str:
        """What tells their words and senses from others."""
        return digest_of([[p.pair_id, p.words1, p.words2, p.senses] for p in instances])

    def documents(self, instances: Sequence[Pair]) -> list[str]:
        """The documents that they are of."""
        return [pair.doc_id for pair in instances]

    def sizes(self, instances: Sequence[Pair]) -> dict[str, int]:
        """How many pairs there are, and of each sense, the most frequent first."""
        every = len(instances)
        of_senses = {sense: 0 for pair in instances for sense in pair.senses}
        for pair in instances:
            for sense in pair.senses:
                of_senses[sense] += 1
        order = sorted(of_senses, key=lambda sense: (-of_senses[sense], sense))
        return {"overall": every, MICRO: every} | {sense: of_senses[sense] for sense in order}

    def rows(self, model: RelationModel, instances: Sequence[Pair], batch_tokens: int) -> list[Row]:
        """The most probable sense of each."""
        found = model.answers([example_of(pair) for pair in instances], batch_tokens)
        return [
            {
                "pair_id": pair.pair_id,
                "senses": list(pair.senses),
                "predicted": answer.example.senses[0] if answer else "",
                "probability": answer.probability if answer else 0.0,
            }
            for pair, answer in zip(instances, found, strict=True)
        ]

    def judged(self, instances: Sequence[Pair], rows: Sequence[Row]) -> JudgedRows:
        """Macro- and micro-F1 over the senses that the split has, and F1 of each sense."""
        senses = list(self.sizes(instances))[len(self.columns) :]
        right, said = [pair.senses for pair in instances], [row["predicted"] for row in rows]
        counts = counted(right, said, senses)
        strict = counted(right, said, senses, strict=True)
        of_senses = f1(counts.sum(0))
        micro = counts.sum(1, keepdims=True)
        micro[..., 1] = micro[..., 2]  # as ``micro_f1`` takes what is said
        return JudgedRows(
            figures={"overall": macro_f1(counts), MICRO: micro_f1(counts)}
            | dict(zip(senses, of_senses, strict=True)),
            criteria={STRICT: macro_f1(strict), STRICT_MICRO: micro_f1(strict)},
            unscored=sum(not each for each in said),
            counts=counts,
            of_columns={"overall": counts, MICRO: micro}
            | {sense: counts[:, at : at + 1] for at, sense in enumerate(senses)},
        )

    def shown(self, instance: Pair) -> AnsweredInstance:
        """Both arguments in brackets, and the senses, each of which is right."""
        return AnsweredInstance(
            name=instance.pair_id,
            text=pair_text(instance.arg1, instance.arg2),
            right=" or ".join(instance.senses),
            license=instance.license,
        )

    def said(self, instance: Pair, row: Row) -> tuple[str, bool]:
        """The sense."""
        return row["predicted"], row["predicted"] in instance.senses


def macro_f1(counts: npt.NDArray[np.int64]) -> float:
    """The mean of the F1 of all senses; of ``[pairs, senses, 3]``."""
    return fmean(value or 0.0 for value in f1(counts.sum(0)))


def micro_f1(counts: npt.NDArray[np.int64]) -> float:
    """Right answers over all that pairs have: a prediction counts once for each sense of its pair."""
    return float(counts[..., 0].sum() / counts[..., 2].sum())
