"""Arguments predicted and judged: F1 of zero anaphora (ZAR), of dependents (DEP) and of all."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from pipeline.core.answered import AnsweredInstance
from pipeline.core.corpus_folder import ARGUMENTS_FILE
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of
from pipeline.core.predicates import DEP, ROLES, ZAR, predicate_row
from pipeline.tasks.arguments.examples import example_of
from pipeline.tasks.arguments.figures import KINDS, counted, f1
from pipeline.tasks.arguments.model import ArgumentModel
from pipeline.tasks.arguments.predicates import Clause, clauses_of_split
from pipeline.tasks.protocol import Evaluation, JudgedRows, Row
from pipeline.text.natural import readable

WITH_MENTIONS = "with mentions"
"""Of figures where another mention of a filler is right, too."""

_CHOICE = pa.struct(
    [
        pa.field("role", pa.string(), nullable=False),
        pa.field("word", pa.int32(), nullable=False),
        pa.field("probability", pa.float32(), nullable=False),
        pa.field("chosen", pa.bool_(), nullable=False),
    ]
)


class ArgumentEvaluation(Evaluation[Clause]):
    """See ``tasks.protocol.Evaluation``; an instance is a predicate of a sentence."""

    title = "F1 (%) of arguments, overall: of all roles and kinds"
    figure = "F1"
    together = "sentences"
    schema = pa.schema(
        [
            pa.field("sentence_id", pa.string(), nullable=False),
            pa.field("predicate", pa.int32(), nullable=False),
            pa.field(
                "choices", pa.list_(pa.field("element", _CHOICE, nullable=False)), nullable=False
            ),
        ]
    )
    columns = ("overall", ZAR, DEP)

    def instances(self, corpus: Path, split: str, limit: int | None) -> list[Clause]:
        """The predicates of a split, or of its first ``limit`` sentences with one."""
        found = clauses_of_split(corpus, split, limit)
        if not any(clause.predicate.arguments for clause in found):
            raise InputError(
                f"no predicate with an argument in its sentence in split {split!r}",
                path=corpus / ARGUMENTS_FILE,
                remedy="choose another --split or a greater --limit",
            )
        return found

    def digest(self, instances: Sequence[Clause]) -> str:
        """What tells their sentences and arguments from others."""
        rows = [[clause.words, predicate_row(clause.predicate)] for clause in instances]
        return digest_of(rows)

    def documents(self, instances: Sequence[Clause]) -> list[str]:
        """The sentences that they are of, whose predicates are drawn together."""
        return [clause.sentence_id for clause in instances]

    def sizes(self, instances: Sequence[Clause]) -> dict[str, int]:
        """How many arguments there are: of all, of each kind, and of its roles."""
        there = counted([each.predicate for each in instances], [{} for _ in instances])
        of_roles = there[..., 2].sum(0)
        sizes = {"overall": int(of_roles.sum())}
        sizes |= {kind: int(own.sum()) for kind, own in zip(KINDS, of_roles, strict=True)}
        return sizes | {
            f"{kind} {role}": int(of_roles[k, r])
            for k, kind in enumerate(KINDS)
            for r, role in enumerate(ROLES)
            if of_roles[k, r]
        }

    def rows(
        self, model: ArgumentModel, instances: Sequence[Clause], batch_tokens: int
    ) -> list[Row]:
        """The most probable word of each role, and whether it is chosen."""
        found = model.choices([example_of(clause) for clause in instances], batch_tokens)
        rows: list[Row] = []
        for clause, own in zip(instances, found, strict=True):
            words = model.chosen(own)
            choices = [
                {
                    "role": role,
                    "word": choice.word,
                    "probability": choice.probability,
                    "chosen": role in words,
                }
                for role, choice in zip(ROLES, own, strict=True)
                if choice is not None
            ]
            rows.append(
                {
                    "sentence_id": clause.sentence_id,
                    "predicate": clause.predicate.predicate,
                    "choices": choices,
                }
            )
        return rows

    def judged(self, instances: Sequence[Clause], rows: Sequence[Row]) -> JudgedRows:
        """F1 of all, of each kind and its roles; as criteria the same where mentions are right, too."""
        predicates = [clause.predicate for clause in instances]
        chosen = [chosen_in(row) for row in rows]
        counts = counted(predicates, chosen)
        loose = counted(predicates, chosen, mentions=True)
        of_columns = {"overall": counts.sum((1, 2))}
        of_columns |= {kind: counts[:, k].sum(1) for k, kind in enumerate(KINDS)}
        for name in list(self.sizes(instances))[len(self.columns) :]:
            kind, role = name.split()
            of_columns[name] = counts[:, KINDS.index(kind), ROLES.index(role)]
        criteria = {f"ALL {WITH_MENTIONS}": f1(loose)}
        criteria |= {f"{kind} {WITH_MENTIONS}": f1(loose[:, k]) for k, kind in enumerate(KINDS)}
        return JudgedRows(
            figures={name: f1(own) for name, own in of_columns.items()},
            criteria=criteria,
            unscored=sum(not row["choices"] for row in rows),
            counts=np.asarray(of_columns["overall"][:, None]),
            of_columns={name: own[:, None] for name, own in of_columns.items()},
        )

    def shown(self, instance: Clause) -> AnsweredInstance | None:
        """A predicate with a zero argument, its fillers by role, those that are zeros marked."""
        predicate, words = instance.predicate, instance.words
        if all(argument.kind != ZAR for argument in predicate.arguments):
            return None
        right = [
            _in_words(each.role, words, each.fillers, zero=each.kind == ZAR)
            for each in predicate.arguments
        ]
        natural = readable(words)
        start, end = natural.offsets[predicate.predicate]
        return AnsweredInstance(
            name=f"{instance.sentence_id}:{predicate.predicate}",
            text=f"{natural.text[:start]}[{natural.text[start:end]}]{natural.text[end:]}",
            right=", ".join(right),
            license=instance.sentence.license,
        )

    def said(self, instance: Clause, row: Row) -> tuple[str, bool]:
        """The chosen words by role."""
        predicate, chosen = instance.predicate, chosen_in(row)
        right, said, there = counted([predicate], [chosen]).sum((0, 1, 2))
        kinds = {(a.role, word): a.kind for a in predicate.arguments for word in a.fillers}
        text = [
            _in_words(
                role,
                instance.words,
                [word],
                zero=kinds.get((role, word), predicate.kind_of(word)) == ZAR,
            )
            for role, word in chosen.items()
        ]
        return ", ".join(text), bool(right == said == there)


def _in_words(role: str, words: Sequence[str], fillers: Sequence[int], *, zero: bool) -> str:
    """An argument: ``ACC 公園 (zero)``; of several fillers, each of which is right, all.

    Of a word that the sentence has several times, ``国家 2 of 3`` says which.
    """
    found = []
    for place in fillers:
        word = words[place]
        times = words.count(word)
        found.append(f"{word} {words[: place + 1].count(word)} of {times}" if times > 1 else word)
    return f"{role} {' or '.join(found)}{' (zero)' * zero}"


def chosen_in(row: Mapping[str, object]) -> dict[str, int]:
    """The words that a row of predictions chooses, by role."""
    choices: list[dict[str, int]] = row["choices"]  # type: ignore[assignment]
    return {str(each["role"]): each["word"] for each in choices if each["chosen"]}
