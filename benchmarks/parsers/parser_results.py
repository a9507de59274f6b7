"""What parser_study.py writes and parser_tables.py reads: where units lie, and what a result says.

Usage, to keep results in benchmarks/outcomes/parsers.jsonl:
    python benchmarks/parsers/parser_results.py data/parser-study/results

The study takes more hours than a sitting has, so the file outlives the folder: ``units`` leaves out what it
has. It has no word of a treebank, but numbers of constituents, and coordinations by their places.
"""

import base64
import json
import sys
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired

from typing_extensions import TypedDict

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.outcomes import FOLDER
from pipeline.core.corpus_folder import SENTENCES_FILE
from pipeline.core.documents import parse_json, read_json
from pipeline.core.schema import read_sentences
from pipeline.core.types import Coordination, Sentence, Span

KEPT = FOLDER / "parsers.jsonl"
"""Results that outlive the folder they were made in."""

ALONE = "gold"
"""The arm of L's trees alone, and the teacher of the first round."""

TREEBANK = "treebank"
"""The teacher that knows the gold trees of U: no parser, but what a faultless one would teach."""

TREES = "trees"
"""What is made of a teacher before its candidates: the trees of U."""

Structure = list[Any]
"""A coordination in a result: the coordinator's place, the label, the conjuncts."""


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
    packed: NotRequired[str]


_PACKED = ("brackets", "found")
"""What a kept result has together, compressed."""


def packed(result: Result) -> Result:
    """The result as it is kept, a line of text."""
    rest: Any = {name: value for name, value in result.items() if name not in _PACKED}
    parts = {name: value for name, value in result.items() if name in _PACKED}
    data = zlib.compress(json.dumps(parts, separators=(",", ":")).encode(), 9)
    kept: Result = rest | {"packed": base64.b85encode(data).decode("ascii")}
    return kept


def unpacked(kept: Result) -> Result:
    """The result that ``packed`` was given."""
    rest: Any = dict(kept)
    parts = json.loads(zlib.decompress(base64.b85decode(rest.pop("packed"))))
    result: Result = rest | parts
    return result


def read_kept(path: Path = KEPT) -> list[Result]:
    """The results that are kept; none without the file.

    Raises:
        InputError: a line is none of a result.
    """
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    return [
        unpacked(parse_json(line, Result, path=path, line=number))
        for number, line in enumerate(lines, 1)
    ]


def keep(results: Iterable[Result], path: Path = KEPT) -> int:
    """Add results, each in the place of one of the same unit.

    Returns:
        How many are kept now.
    """
    every = {unit_name(each): each for each in [*read_kept(path), *results]}
    lines = (json.dumps(packed(each)) for _, each in sorted(every.items()))
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return len(every)


def unit_name(result: Result) -> str:
    """The name of the unit that a result is of, as that of its file."""
    folder = Path(result["corpus"])
    return Unit(
        Path(), folder, result["gold"], result["seed"], result["arm"], result["teacher"], result["equal"],
        making="found" not in result,
    ).result.stem  # fmt: skip


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

    def facts(self) -> dict[str, Any]:
        """What a result says of its unit."""
        return {
            "corpus": self.corpus.name, "gold": self.gold, "seed": self.seed, "arm": self.arm,
            "teacher": self.teacher, "equal": self.equal,
        }  # fmt: skip


def held_out(corpus: Path) -> list[Sentence]:
    """The test sentences that have a tree, in the order of the corpus.

    Raises:
        SystemExit: the corpus is not here.
    """
    if not (corpus / SENTENCES_FILE).is_file():
        raise SystemExit(
            f"{corpus}: there is no corpus here, whose test sentences the figures are of; the README beside "
            "this script has the command that ingests it"
        )
    return list(
        read_sentences(corpus / SENTENCES_FILE, lambda s: s.split == "test" and s.tree is not None)
    )


def evaluable(sentence: Sentence) -> list[Coordination]:
    """The gold coordinations of a sentence that the field evaluates."""
    return list(sentence.evaluable)


def structure_row(found: Coordination) -> Structure:
    """A coordination as a result has it."""
    return [found.coordinator, found.label, [[span.start, span.end] for span in found.conjuncts]]


def structures(rows: Sequence[Structure], words: Sequence[str]) -> list[Coordination]:
    """The coordinations that a result has of a sentence of these words."""
    return [
        Coordination(place, words[place], label, tuple(Span(*pair) for pair in conjuncts))
        for place, label, conjuncts in rows
    ]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    made = [read_json(path, Result) for path in sorted(Path(sys.argv[1]).glob("*.json"))]
    print(f"{KEPT}: {keep(made)} results")
