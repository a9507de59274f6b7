"""SIGKILL at random times against ingest, preparse, pretrain and evaluate: what is left, what a rerun makes.

Usage: python benchmarks/kill_stages.py [--rounds 10] [--seed 0] [--stages ingest preparse pretrain evaluate]

Each round copies a small corpus as it stood before the stage (by turns without the stage's outputs, and with
those of other settings), starts the command and kills it, workers and all, at a random time of its usual
duration. Then a command that reads those outputs must refuse them, unless they are wholly the old ones or
wholly the new ones; and the same command again must leave the bytes of an uninterrupted run. `generate` with
several workers has a campaign of its own, kill_campaign.py.
"""

import argparse
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_UNLIKE = {".lock", ".workers", "timing.json"}
"""Files that say nothing (locks) or something else each time (seconds)."""


@dataclass(frozen=True)
class Stage:
    """A command to be killed; CORPUS in a word stands for the corpus folder.

    Attributes:
        line: the command.
        otherwise: options with which it makes other outputs.
        outs: what it writes, relative to the corpus.
        reader: a command that reads that and nothing that comes later.
        read: those of the outputs that the reader goes by.
    """

    line: str
    otherwise: str
    outs: tuple[str, ...]
    reader: str
    read: tuple[str, ...]


_WORLD = f"{ROOT}/data/raw/world"
_INGESTED = ("sentences.parquet", "text.txt", "ingest.json", "draws")
STAGES = {
    "ingest": Stage(
        f"ingest world {_WORLD} --out CORPUS --sentences 900 --raw 600 --labelled 50 --validation 20",
        "--seed 1", _INGESTED, "preparse CORPUS --parser treebank --limit 20", ("sentences.parquet",),
    ),
    "preparse": Stage(
        "preparse CORPUS --parser-trees 60 --parser-epochs 1 --parser-hidden 16 --limit 120 --unit 10",
        "--limit 100", ("parser", "trees", "coordinated", "preparse.json"),
        "generate CORPUS --lm bert --trees parsed --dry-run", ("trees",),
    ),
    "pretrain": Stage(
        "pretrain CORPUS --lm bert --steps 60 --eval-every 20 --checkpoint-every 20 --batch-size 8 "
        "--hidden 16 --heads 2 --layers 1 --vocab-size 400 --held-out count",
        "--steps 40", ("models/bert",), 'fill --corpus CORPUS --lm bert "She saw a dog ." --span "a dog"',
        ("models/bert",),
    ),
    "evaluate": Stage(
        "evaluate CORPUS --threads 1", "--limit 5", ("evaluation",), "report CORPUS --examples 0",
        ("evaluation/metrics.json",),
    ),
}  # fmt: skip
_TRAIN = (
    "train CORPUS --mode baseline --system {0} --labelled 50 --steps 6 --eval-every 3 --warm-steps 0 "
    "--mlp-hidden 16 --encoder models/bert --seed {1}"
)


def words(line: str, corpus: Path) -> list[str]:
    """The command as a process is started with it."""
    named = [word.replace("CORPUS", str(corpus)) for word in shlex.split(line)]
    return [sys.executable, "-m", "pipeline", *named]


def start(line: str, corpus: Path, log: Path) -> subprocess.Popen[bytes]:
    """The command under way, in a process group of its own."""
    with log.open("wb") as file:
        return subprocess.Popen(  # noqa: S603
            words(line, corpus), stdout=file, stderr=file, start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}, cwd=corpus.parent,
        )  # fmt: skip


def whole(line: str, corpus: Path) -> float:
    """Run a command to its end; its seconds."""
    begun, log = time.monotonic(), corpus.parent / "log"
    if start(line, corpus, log).wait():
        raise SystemExit(f"FAILED: {line}\n{log.read_text(errors='replace')[-2000:]}")
    return time.monotonic() - begun


def contents(corpus: Path, outs: tuple[str, ...]) -> dict[str, bytes]:
    """The bytes of some outputs, by name."""
    found = {}
    for out in outs:
        place = corpus / out
        for path in sorted([place, *place.rglob("*")] if place.exists() else []):
            if path.is_file() and path.name not in _UNLIKE:
                found[str(path.relative_to(corpus))] = path.read_bytes()
    return found


def remove(corpus: Path, outs: tuple[str, ...]) -> None:
    """Remove outputs."""
    for place in (corpus / out for out in outs):
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)


def campaign(name: str, before: Path, scratch: Path, rounds: int) -> Counter[str]:
    """The rounds of one stage; ``before`` is the corpus without its outputs.

    Raises:
        SystemExit: a reader took what is neither old nor new, or a rerun made other bytes.
    """
    stage, counts = STAGES[name], Counter[str]()
    place = scratch / name / "corpus"

    def begin(source: Path) -> None:
        shutil.rmtree(place.parent, ignore_errors=True)
        shutil.copytree(source, place)

    begin(before)
    length = whole(stage.line, place)
    expected, after = contents(place, stage.outs), contents(place, stage.read)
    other = scratch / f"{name}-otherwise"
    begin(before)
    whole(f"{stage.line} {stage.otherwise}", place)
    shutil.copytree(place, other)
    for number in range(rounds):
        while True:
            begin(other if number % 2 else before)
            old = contents(place, stage.read)
            process = start(stage.line, place, scratch / "log")
            time.sleep(random.uniform(0, length))
            ended = process.poll() is not None
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not ended:
                break
            counts["ended before the kill, begun again"] += 1
            length *= 0.8  # the machine was busy when it was measured
        left = contents(place, stage.read)
        copy = scratch / f"{name}-read" / "corpus"
        shutil.copytree(place, copy, dirs_exist_ok=False)
        code = start(stage.reader, copy, scratch / "log").wait()
        said = (scratch / "log").read_text(errors="replace")
        shutil.rmtree(copy.parent)
        if code == 2:
            counts["refused by its reader"] += 1
        elif code == 0 and left in (old, after):
            counts["read: the old outputs" if left == old else "read: the new outputs"] += 1
        else:
            raise SystemExit(
                f"FAILED: {name}, round {number}: reader ended with {code}; neither old nor new: "
                f"{sorted(k for k in left.keys() | after.keys() if left.get(k) != after.get(k))}"
                f"\n{said[-2000:]}"
            )
        whole(stage.line, place)
        found = contents(place, stage.outs)
        if found != expected:
            names = sorted(
                k for k in found.keys() | expected.keys() if found.get(k) != expected.get(k)
            )
            one = names[-1]
            before_, after_ = (each.get(one, b"none").splitlines() for each in (expected, found))
            line = next(
                (pair for pair in zip(before_, after_, strict=False) if len(set(pair)) > 1), ""
            )
            raise SystemExit(
                f"FAILED: {name}, round {number}: a rerun made other bytes of {len(names)} files: "
                f"{names[:5]}; of {one}: {line}"
            )
        counts["rerun: the same bytes"] += 1
    return counts


def prepare(base: Path, until: str) -> None:
    """Bring a corpus to where a stage begins."""
    base.mkdir(parents=True, exist_ok=True)
    for name, stage in STAGES.items():
        if name == until:
            break
        if not contents(base, stage.outs):
            whole(stage.line, base)
        # What the other stages are read by needs a language model.
    if until in {"preparse", "evaluate"} and not (base / "models/bert").exists():
        whole(STAGES["pretrain"].line, base)
    if until == "evaluate":
        for system in ("baseline", "baseline-2"):
            whole(_TRAIN.format(system, 0), base)


def main(rounds: int, seed: int, stages: list[str]) -> None:
    """Run the campaigns and print what came of them."""
    random.seed(seed)
    table: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in stages:
            before = Path(scratch, f"before-{name}", "corpus")
            prepare(before, name)
            remove(before, STAGES[name].outs)
            table[name] = campaign(name, before, Path(scratch), rounds)
            print(f"### {name}: {dict(table[name])}", flush=True)
    columns = list(dict.fromkeys(key for counts in table.values() for key in sorted(counts)))
    print("| stage | rounds | " + " | ".join(columns) + " |")
    print("|---|" + "---|" * (len(columns) + 1))
    for name, counts in table.items():
        print(f"| {name} | {rounds} | " + " | ".join(str(counts[c]) for c in columns) + " |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    given = parser.parse_args()
    main(given.rounds, given.seed, given.stages)
