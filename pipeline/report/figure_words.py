"""What a report calls the figure of its corpus's task, and what is of no task but coordination."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.core.corpora import ARGUMENTS, COORDINATION, QUESTIONS, RELATIONS


@dataclass(frozen=True, slots=True)
class FigureWords:
    """The words of a task.

    Attributes:
        title: of tables of figures: ``Accuracy``.
        name: of the first figure, within a sentence.
        reaches: what a system does: ``finds 80.1 % of the outer boundaries``, the figure in between.
        measured: what tables have, for the note below.
        compared: the same of the opening's picture.
        unit: what L has, in the singular.
        instances: of what answers are shown, in the plural.
        right: when an answer is.
        criteria: other figures, with what each is.
        criteria_title: of their table.
        parsers: whether ``evaluate --parser`` makes rows that candidates can be compared with.
    """

    title: str
    name: str
    reaches: tuple[str, str]
    measured: str
    compared: str
    unit: str
    instances: str = "instances"
    right: str = "all of it is right, and nothing is missing"
    criteria: Mapping[str, str] = field(default_factory=dict)
    criteria_title: str = ""
    parsers: bool = False


_WORDS = {
    COORDINATION: FigureWords(
        title="Accuracy",
        name="accuracy",
        reaches=("finds", "of the outer boundaries"),
        measured="Outer boundary per coordinator",
        compared="Outer boundaries found",
        unit="sentence",
        instances="coordinations",
        right="the outer boundary is right: where the first conjunct begins, and the last ends",
        criteria={
            "whole": "the first word of the first conjunct and the last word of the last are right: "
            "the outer boundary, the paper's accuracy",
            "outer": "the first and the last conjunct are exactly right",
            "inner": "the two conjuncts next to the coordinator are exactly right",
            "exact": "all conjuncts are exactly right",
        },
        criteria_title="Four criteria",
        parsers=True,
    ),
    RELATIONS: FigureWords(
        title="F1",
        name="macro-F1",
        reaches=("reaches", "macro-F1"),
        measured="F1 of each sense; overall: macro-F1, its mean over senses",
        compared="Macro-F1 over senses",
        unit="pair",
        instances="implicit pairs",
        criteria={
            "strict macro-F1": "macro-F1 where a prediction is right for that sense alone which it names",
            "strict micro-F1": "the share of senses of pairs that are predicted, of the same",
        },
        criteria_title="Strict figures",
    ),
    ARGUMENTS: FigureWords(
        title="F1",
        name="F1",
        reaches=("reaches", "F1"),
        measured="F1 of arguments, zeros (ZAR) and dependents (DEP), by role; overall: of all",
        compared="F1 of arguments",
        unit="sentence",
        instances="predicates with a zero",
        criteria={
            "ALL with mentions": "F1 where another mention of what fills a role is right, too",
            "ZAR with mentions": "the same of zeros",
            "DEP with mentions": "the same of dependents",
        },
        criteria_title="Figures with mentions",
    ),
    QUESTIONS: FigureWords(
        title="Accuracy",
        name="accuracy",
        reaches=("answers", "of the questions"),
        measured="Share of questions answered right, also of those for the cause and for the effect",
        compared="Questions answered right",
        unit="question",
        instances="questions",
    ),
}
_OTHER = FigureWords(
    "Figures", "figure", ("reaches", ""), "Figures of the task", "Figures", "source"
)

OF_COORDINATION = frozenset({"Annotations", "Filter", "Accepted, rejected", "The paper"})
"""Chapters that are about fills, or about the paper's tables."""


def words_of(task: str) -> FigureWords:
    """The words of a task, or those of any."""
    return _WORDS.get(task, _OTHER)
