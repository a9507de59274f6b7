"""What each model of a task said of each test instance, kept as a letter an instance, and gains by it.

The file of a corpus, benchmarks/outcomes/CORPUS.jsonl, has no word of it: its first line says which instances
they are, every other line is a run.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from typing_extensions import TypedDict

from benchmarks.outcomes import FOLDER, kept_lines
from benchmarks.table_parts import interval, signed
from pipeline.core.comparison import Counts, compare_counts, mean_sd, t_interval
from pipeline.core.documents import parse_json, read_json
from pipeline.tasks.protocol import Evaluation


class _Head(TypedDict):
    """The first line; ``digest`` is that of the instances, ``senses`` are what letters stand for, if any."""

    split: str
    digest: str
    senses: list[str]


class Said(TypedDict):
    """A run's line; ``synthetic`` is the number of examples besides L's, ``steps`` that of updates."""

    system: str
    seed: int
    steps: int
    synthetic: int
    said: str


def file_of(corpus: Path) -> Path:
    """Where the runs of a corpus are kept."""
    return FOLDER / f"{corpus.name}.jsonl"


def known(path: Path) -> tuple[_Head, dict[tuple[str, int], Said]]:
    """The head and the runs of a file.

    Raises:
        InputError: a line is none of a run.
        SystemExit: nothing is kept there.
    """
    first, *rest = kept_lines(path)
    runs = [parse_json(line, Said, path=path, line=n) for n, line in enumerate(rest, 2)]
    return parse_json(first, _Head, path=path, line=1), {(r["system"], r["seed"]): r for r in runs}


def keep(
    corpus: Path, evaluation: Evaluation[Any], senses: Sequence[str], letter: Callable[[Any], str]
) -> None:
    """Add the runs that ``conjoin evaluate`` measured.

    Args:
        corpus: the folder.
        evaluation: its task's.
        senses: what letters stand for.
        letter: of what a model predicted of an instance.

    Raises:
        SystemExit: the file is of other instances.
    """
    metrics = read_json(corpus / "evaluation/metrics.json")
    instances = evaluation.instances(corpus, metrics["split"], None)
    head = _Head(split=metrics["split"], digest=evaluation.digest(instances), senses=list(senses))
    path = file_of(corpus)
    kept, runs = known(path) if path.is_file() else (head, {})
    if kept != head:
        raise SystemExit(f"{path}: of other instances than {corpus}: remove it to begin anew")
    for run in metrics["runs"]:
        name = f"{run['system']}-{run['labelled']}-{run['seed']}.parquet"
        said = pq.read_table(corpus / "evaluation/predictions" / name)["predicted"].to_pylist()
        card = read_json(corpus / f"runs/{run['system']}/{run['draw']}/seed-{run['seed']}/run.json")
        runs[run["system"], run["seed"]] = Said(
            system=run["system"],
            seed=run["seed"],
            steps=run["steps"],
            synthetic=card["candidates"],
            said="".join(map(letter, said)),
        )
    lines = [head, *(run for _, run in sorted(runs.items()))]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    print(f"{path}: {len(runs)} runs")


def spread(values: Sequence[float]) -> str:
    """Mean ± sd over seeds, in per cent."""
    mean, sd = mean_sd(values)
    return f"{100 * (mean or 0):.1f}" + ("" if sd is None else f" ± {100 * sd:.1f}")


def gain(
    of: Mapping[int, Counts], over: Mapping[int, Counts], documents: list[int] | None
) -> list[str]:
    """The gain with its interval, and the interval over seeds; nothing of vanilla itself."""
    found = None if of is over else compare_counts(of, over, (0,), documents)
    if found is None:
        return ["", ""]
    by_t = t_interval(found.by_seed)
    return [signed(found), interval(found._replace(low=by_t[0], high=by_t[1])) if by_t else ""]
