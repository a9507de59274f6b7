"""What the runs of a study got right on test, kept in benchmarks/outcomes/CORPUS.jsonl.

Usage, after `conjoin evaluate DATA`; and, to make only the runs that it lacks:
    python benchmarks/outcomes.py DATA
    conjoin repro genia-cpu --skip "$(python benchmarks/outcomes.py DATA --skip)"

GENIA's study takes more hours of two cores than one sitting has. The file outlives the runs, so that runs
made another day, or on another machine, join the same table, with intervals over test instances as well as
seeds. It has no word of the treebank: a bit for each test instance, by category, in the order of the corpus.
Its first line has the split and the numbers of instances, every other one a run.
"""

import base64
import hashlib
import json
import re
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, Self

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
from typing_extensions import TypedDict

from pipeline.core.annotation import described, from_json
from pipeline.core.corpus_folder import SENTENCES_FILE
from pipeline.core.documents import parse_json, read_json
from pipeline.core.runs import ALONE, System
from pipeline.core.schema import read_sentences
from pipeline.core.types import REST
from pipeline.tasks.coordination.figures import categories

FOLDER = Path(__file__).with_name("outcomes")


def kept_lines(path: Path) -> list[str]:
    """The lines of a file of outcomes.

    Raises:
        SystemExit: nothing is kept there.
    """
    if not path.is_file():
        raise SystemExit(f"{path}: no outcomes are kept of a corpus folder of this name")
    return path.read_text("utf-8").splitlines()


class _Head(TypedDict):
    """The first line."""

    split: str
    instances: dict[str, int]


class Outcome(TypedDict):
    """A run's line.

    ``size`` is the draw's name; ``seen`` and ``accepted`` count candidates; ``seconds`` are of the whole
    run on the machine that made it; ``encoder`` is equal for runs that began with the same weights; a
    predictor beside a parser has these of its run, a parser alone has none; ``right`` has a bit per
    instance of a category, the first one highest, in hexadecimal; ``annotated`` says what people did for it,
    ``has_candidates`` whether its predictor, what that began with or its parser learned from candidates.
    """

    system: str
    size: str
    seed: int
    steps: int
    candidates: int
    seen: int
    accepted: int
    seconds: float
    encoder: str
    right: dict[str, str]
    annotated: NotRequired[str]
    has_candidates: NotRequired[bool]


class _Timing(TypedDict):
    """timing.json of a run, as far as it is read here."""

    seconds: float


Key = tuple[str, str, int]
"""System, size and seed: what tells runs apart."""


@dataclass(slots=True)
class Outcomes:
    """The runs of a study that are kept.

    Attributes:
        split: the runs were measured on.
        instances: how many it has, by category.
        runs: by their keys.
    """

    split: str
    instances: dict[str, int]
    runs: dict[Key, Outcome] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file of outcomes.

        Raises:
            InputError: a line is none of an outcome.
            SystemExit: nothing is kept there.
        """
        first, *rest = kept_lines(path)
        head = parse_json(first, _Head, path=path, line=1)
        found = cls(head["split"], head["instances"])
        for number, text in enumerate(rest, 2):
            found.add(parse_json(text, Outcome, path=path, line=number))
        return found

    def add(self, run: Outcome) -> None:
        """Add a run, in the place of one of the same key."""
        self.runs[run["system"], run["size"], run["seed"]] = run

    def write(self, path: Path) -> None:
        """Write the file; runs are in order of their keys."""
        path.parent.mkdir(exist_ok=True)
        head = _Head(split=self.split, instances=self.instances)
        lines = [head, *(run for _, run in sorted(self.runs.items()))]
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")

    def of(self, system: str, size: str, seeds: Iterable[int]) -> dict[int, Outcome]:
        """The runs of a system by seed; only seeds that have been run."""
        return {s: self.runs[system, size, s] for s in seeds if (system, size, s) in self.runs}

    def right(self, run: Outcome, *names: str) -> list[bool]:
        """Whether each instance's outer boundary was found, of some categories; of all without a name."""
        shown = names or tuple(self.instances)
        return list(
            chain.from_iterable(unpacked(run["right"][n], self.instances[n]) for n in shown)
        )

    def by_instance(self, run: Outcome, labels: Sequence[str]) -> list[bool]:
        """The same of all, in the order of the corpus, whose instances have these labels.

        Raises:
            ValueError: the file has other instances.
        """
        right = [False] * len(labels)
        for name, places in members(labels).items():
            bits = unpacked(run["right"][name], self.instances[name])
            for place, bit in zip(places, bits, strict=True):
                right[place] = bit
        return right


def members(labels: Sequence[str]) -> dict[str, list[int]]:
    """The instances of each category, by their places among the labels; each is in one."""
    found = categories(labels)
    del found["overall"]
    found.setdefault(REST, [])
    return found


def packed(bits: Sequence[bool]) -> str:
    """Bits in hexadecimal, the first one highest."""
    return f"{int('0' + ''.join('01'[bit] for bit in bits), 2):x}"


def unpacked(text: str, count: int) -> list[bool]:
    """The ``count`` bits that ``packed`` made a text of."""
    return [bit == "1" for bit in f"{int(text, 16):0{count}b}"[-count:]] if count else []


def packed_counts(counts: npt.NDArray[np.int64]) -> str:
    """Small counts of any shape, deflated, in base 64.

    Raises:
        ValueError: one is no byte.
    """
    if counts.size and not 0 <= counts.min() <= counts.max() < 256:
        raise ValueError(f"counts of {counts.min()} to {counts.max()} are no bytes")
    return base64.b64encode(zlib.compress(counts.astype(np.uint8).tobytes(), 9)).decode()


def unpacked_counts(text: str, *shape: int) -> npt.NDArray[np.int64]:
    """The counts that ``packed_counts`` made a text of; of one axis the length may be −1."""
    counts = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    return counts.reshape(shape).astype(np.int64)


def whole(gold: Sequence[Mapping[str, int]], predicted: Sequence[Mapping[str, int]]) -> bool:
    """Whether the outer boundary of a row of predictions is right."""
    return bool(predicted) and all(
        (gold[end][edge] == predicted[end][edge]) for end, edge in ((0, "start"), (-1, "end"))
    )


def evaluated(corpus: Path) -> Outcomes:
    """The runs of a corpus that ``conjoin evaluate`` measured."""
    metrics = read_json(corpus / "evaluation/metrics.json")
    split = metrics["split"]
    sentences = read_sentences(corpus / SENTENCES_FILE, lambda each: each.split == split)
    gold = (c for sentence in sentences for c in sentence.evaluable)
    places = members([each.label for each in gold])
    found = Outcomes(split, {name: len(each) for name, each in places.items()})
    for run in metrics["runs"]:
        name = f"{run['system']}-{run['labelled']}-{run['seed']}.parquet"
        rows = pq.read_table(corpus / "evaluation/predictions" / name).to_pylist()
        right = [whole(row["gold"], row["predicted"]) for row in rows]
        made = _made(corpus, run)
        found.add(
            Outcome(
                system=run["system"],
                size=run["draw"],
                seed=run["seed"],
                steps=run["steps"],
                candidates=made.candidates,
                seen=run["seen"],
                accepted=run["accepted"],
                seconds=made.seconds,
                encoder=made.encoder,
                right={n: packed([right[index] for index in each]) for n, each in places.items()},
                has_candidates=System.of_row(run).has_candidates,
                annotated=described(from_json(run["annotation"]), metrics["corpus"]),
            )
        )
    return found


class _Made(NamedTuple):
    """What the folder of a run says of it; nothing of a parser alone, which has none."""

    candidates: int = 0
    seconds: float = 0.0
    encoder: str = ""


def _made(corpus: Path, run: Mapping[str, Any]) -> _Made:
    """The same of the run whose predictor an entry of ``metrics.json`` is about, beside a parser or not."""
    system = System.of_row(run)
    if system.combined == ALONE:
        return _Made()
    folder = corpus / f"runs/{system.predictor}/{run['draw']}/seed-{run['seed']}"
    card = read_json(folder / "run.json")
    return _Made(
        card["candidates"],
        round(read_json(folder / "timing.json", _Timing)["seconds"], 1),
        hashlib.sha256(json.dumps(card["model"]).encode()).hexdigest()[:8],
    )


def commands_of(runs: Iterable[Key]) -> str:
    """A regular expression of the commands of dvc.yaml that make some runs; it matches nothing of none."""
    each = (
        f"--system {re.escape(name)} .*--labelled {size} --seed {seed} "
        for name, size, seed in runs
    )
    return "|".join(each) or "(?!)"


def main(corpus: Path) -> None:
    """Add a corpus's runs to its file."""
    path, new = FOLDER / f"{corpus.name}.jsonl", evaluated(corpus)
    known = Outcomes.read(path) if path.is_file() else Outcomes(new.split, new.instances)
    if (known.split, known.instances) != (new.split, new.instances):
        sys.exit(f"{path}: of other test instances than {corpus}: remove it to begin anew")
    changed = sum(known.runs[key] != run for key, run in new.runs.items() if key in known.runs)
    added = len(new.runs.keys() - known.runs.keys())
    known.runs |= new.runs
    known.write(path)
    print(f"{path}: {len(known.runs)} runs, {added} new, {changed} changed")


if __name__ == "__main__":
    match sys.argv[1:]:
        case [corpus]:
            main(Path(corpus))
        case [corpus, "--skip"]:
            print(commands_of(sorted(Outcomes.read(FOLDER / f"{Path(corpus).name}.jsonl").runs)))
        case _:
            sys.exit(__doc__)
