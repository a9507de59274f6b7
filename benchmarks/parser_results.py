"""What parser_study.py writes and parser_tables.py reads: where units lie, and what a result says."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired

from typing_extensions import TypedDict

from pipeline.core.corpus_folder import SENTENCES_FILE
from pipeline.core.schema import read_sentences
from pipeline.core.types import Coordination, Sentence, Span

ALONE = "gold"
"""The arm of L's trees alone, and the teacher of the first round."""


class Structure(TypedDict):
    """A coordination in a result."""

    coordinator: int
    word: str
    label: str
    conjuncts: list[list[int]]


class Result(TypedDict):
    """A unit's result; those of candidates have no more than the first block."""

    corpus: str
    gold: int
    seed: int
    arm: str
    teacher: str
    equal: bool
    settings: dict[str, Any]
    cpu_s: float
    wall_s: float
    candidates: NotRequired[int]
    trees: NotRequired[dict[str, int]]
    best_epoch: NotRequired[int]
    training_cpu_s: NotRequired[float]
    parsing_cpu_s: NotRequired[float]
    brackets: NotRequired[list[list[int]]]
    found: NotRequired[list[list[Structure]]]
    spans: NotRequired[list[list[int] | None]]


@dataclass(frozen=True, slots=True)
class Unit:
    """One piece of the study.

    Attributes:
        work: folder of the study.
        corpus: folder of the treebank.
        gold: |L|.
        seed: of the draw of L, and of training.
        arm: what is learned from, or the source of candidates that are made.
        teacher: whose parser makes the candidates.
        equal: whether all arms have as many candidates.
        making: whether candidates are made, not learned from.
    """

    work: Path
    corpus: Path
    gold: int
    seed: int
    arm: str
    teacher: str = ALONE
    equal: bool = False
    making: bool = False

    @property
    def name(self) -> str:
        """Of the arm with what sets it apart."""
        return self.arm + "-equal" * self.equal + f"-after-{self.teacher}" * (self.teacher != ALONE)

    @property
    def _folder(self) -> Path:
        return self.work / f"{self.corpus.name}-{self.gold}" / f"seed-{self.seed}"

    @property
    def copy(self) -> Path:
        """The corpus folder whose trees and candidates the teacher's parser made."""
        return self._folder / f"taught-by-{self.teacher}" / self.corpus.name

    @property
    def locks(self) -> Path:
        """Folder with the lock of who works on the unit; candidates of a teacher are made one by one."""
        return (
            self._folder / f"taught-by-{self.teacher}" if self.making else self.parser_of(self.name)
        )

    def parser_of(self, name: str) -> Path:
        """The folder of the parser of an arm."""
        return self._folder / "parsers" / name

    def trees(self, source: str) -> Path:
        """The exported trees of a source's candidates."""
        return self._folder / f"taught-by-{self.teacher}" / f"{source}.mrg"

    @property
    def result(self) -> Path:
        """Where the result goes."""
        kind = "made-" * self.making
        return (
            self.work
            / "results"
            / f"{self.corpus.name}-{self.gold}-{self.seed}-{kind}{self.name}.json"
        )

    def told(self) -> dict[str, Any]:
        """What a result says of its unit."""
        return {
            "corpus": self.corpus.name, "gold": self.gold, "seed": self.seed, "arm": self.arm,
            "teacher": self.teacher, "equal": self.equal,
        }  # fmt: skip


def held_out(corpus: Path) -> list[Sentence]:
    """The test sentences that have a tree, in the order of the corpus."""
    return list(
        read_sentences(corpus / SENTENCES_FILE, lambda s: s.split == "test" and s.tree is not None)
    )


def evaluable(sentence: Sentence) -> list[Coordination]:
    """The gold coordinations of a sentence that the field evaluates."""
    return [each for each in sentence.coordinations if each.is_evaluable]


def structure_row(found: Coordination) -> Structure:
    """A coordination as a result has it."""
    conjuncts = [[span.start, span.end] for span in found.conjuncts]
    return Structure(
        coordinator=found.coordinator, word=found.word, label=found.label, conjuncts=conjuncts
    )


def structures(rows: Sequence[Structure]) -> list[Coordination]:
    """The coordinations that a result has of a sentence."""
    return [
        Coordination(
            row["coordinator"], row["word"], row["label"],
            tuple(Span(*pair) for pair in row["conjuncts"]),
        )
        for row in rows
    ]  # fmt: skip
