"""What a corpus folder tells of how it was made: counts, generation, runs, times, settings."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from pathlib import Path, PurePosixPath
from typing import Any

from pipeline.core.cards.candidates import CandidatesManifest, SelectionForm
from pipeline.core.cards.ingest import IngestCard
from pipeline.core.cards.times import Times
from pipeline.core.cards.trees import PreparseCard
from pipeline.core.corpora import COORDINATION
from pipeline.core.corpus_folder import INGEST_RECORD
from pipeline.core.documents import read_json
from pipeline.core.markdown import percent
from pipeline.core.parquet import MANIFEST
from pipeline.core.runs import Run
from pipeline.core.tally import Tally
from pipeline.core.types import SPLITS
from pipeline.report.examples import fill_statistics
from pipeline.report.markdown import Table, TableRow, records_table
from pipeline.report.prose import Fact
from pipeline.report.results import FULL, short_name, system_key
from pipeline.report.training_curves import examined

_COUNTS = ("sentences", "with_coordination", "instances", "evaluable_instances")  # as Table 1
_SEEDS = ("without_coordination", "of_10_words_or_more", "and_without_coordinator_word")

_ALL = ("baseline", "filter", "no-filter", "self-train")
_USED = {
    "delta": ("filter", "self-train"),
    "warm_steps": _ALL[1:],
    "k": _ALL[1:],
    "k_max": _ALL[1:],
}
"""Settings that only some modes use; every run records them."""


def corpus_table(corpus: Path) -> Table | None:
    """Table 1's counts and the labels of evaluable instances; None without ``ingest.json``."""
    path = corpus / INGEST_RECORD
    if not path.is_file():
        return None
    card = read_json(path, IngestCard)
    splits, labels = card.get("splits", {}), card.get("labels", {})
    names = ranked(splits, SPLITS)
    counts = {key for name in names for key in splits[name]}
    records = [
        {"": key.replace("_", " "), **{name: splits[name].get(key, 0) for name in names}}
        for key in ranked(counts, _COUNTS)
    ]
    totals = Counter[str]()
    for name in names:
        totals.update(labels.get(name, {}))
    for label, _ in sorted(totals.items(), key=lambda item: (-item[1], item[0])):
        counted = {name: labels.get(name, {}).get(label, 0) for name in names}
        records.append({"": f"evaluable: {label}", **counted})
    seeds, refused = (card.get(key) or {} for key in ("unlabelled_seeds", "refused"))
    note = Fact(
        "notes.corpus",
        seeds={name: seeds[name] for name in ranked(seeds, _SEEDS)},
        refused=dict(sorted(refused.items())),
    )
    if not records:
        return None
    return records_table("The corpus", records, note=note if seeds or refused else None)


def ranked(keys: Iterable[str], order: Sequence[str]) -> list[str]:
    """Known keys in a known order (JSON keeps none), then the others by name."""
    return sorted(keys, key=lambda key: (order.index(key) if key in order else len(order), key))


def generation_table(corpus: Path, task: str) -> Table | None:
    """Kept and refused candidates of each kind, all seeds together; of fills also how varied they are."""
    folders = candidate_folders(corpus)
    if not folders:
        return None
    tallies = {
        kind: Tally.merged(
            Tally.from_dict(read_json(f / MANIFEST, CandidatesManifest, needs=["tally"])["tally"])
            for f in found
        )
        for kind, found in folders.items()
    }
    of_fills = task == COORDINATION
    reasons = [reason for reason, _ in Tally.merged(tallies.values()).rows()[1:]]
    found = {
        kind: {
            "seeds": len(folders[kind]),
            ("fills tried" if of_fills else "tried"): tally.seen,
            "candidates": tally.kept,
            **{f"refused: {reason}": tally.refused[reason] for reason in reasons},
            **(_fills(folders[kind]) if of_fills else {}),
        }
        for kind, tally in tallies.items()
    }
    names = next(iter(found.values()))
    records = [
        {"": name, **{kind: figures[name] for kind, figures in found.items()}} for name in names
    ]
    return records_table("Generation", records)


def _fills(folders: Sequence[Path]) -> dict[str, float]:
    fills = fill_statistics(folders)
    return {
        "distinct fills, %": 100 * fills.distinct / max(fills.candidates, 1),
        "words per fill": fills.fill_words,
        "words per reference span": fills.reference_words,
    }


def confusions_table(corpus: Path) -> Table | None:
    """Which senses new pairs were made of, because a run's model takes them for others; None without any."""
    found: dict[tuple[str | int, ...], list[str]] = {}
    for kind, folders in candidate_folders(corpus).items():
        for folder in folders:
            about = read_json(folder / MANIFEST, CandidatesManifest)
            if about.get("settings", {}).get("confused") == "random":
                continue
            for cell in about.get("inputs", {}).get("confusions", ()):
                found.setdefault((folder.name, *cell), []).append(kind)
    records = [
        {
            "sense": true,
            "taken for": predicted,
            "candidates": ", ".join(kinds),
            "seed": str(seed).removeprefix("seed-"),
            "errors": errors,
            "of": there,
        }
        for (seed, true, predicted, errors, there), kinds in sorted(found.items())
    ]
    return (
        records_table(
            "The confusions that new pairs were made of",
            records,
            names=3,
            note=Fact("notes.confusions"),
        )
        if records
        else None
    )


def selections(corpus: Path) -> list[tuple[str, Fact]]:
    """Of each kind of candidates that were chosen among others: (its name, from what and how).

    Rows are those of all seeds together, the distance to L is the mean over them, and the command that
    of the first.
    """
    found = {
        kind: [
            made
            for f in folders
            if (made := read_json(f / MANIFEST, CandidatesManifest).get("selection"))
        ]
        for kind, folders in candidate_folders(corpus).items()
    }
    return [(kind, _chosen_of(each)) for kind, each in found.items() if each]


def candidate_folders(corpus: Path) -> dict[str, list[Path]]:
    """The folders of candidates, of all seeds, by the name of what made them."""
    folders: dict[str, list[Path]] = {}
    for path in sorted(corpus.glob(f"candidates/*/*/{MANIFEST}")):
        folders.setdefault(path.parent.parent.name, []).append(path.parent)
    return folders


def _chosen_of(made: Sequence[SelectionForm]) -> Fact:
    sources: dict[str, Counter[str]] = {}
    left_out, distances = Counter[str](), []
    for selection in made:
        left_out.update(selection["left_out"])
        for given in selection["inputs"]:
            counts = sources.setdefault(PurePosixPath(given["place"]).parts[0], Counter())
            counts.update(rows=given["rows"]["train"], kept=given["kept"]["train"])
        if distance := selection.get("sample", {}).get("distance"):
            distances.append((distance["before"], distance["after"]))
    return Fact(
        "provenance.selection",
        sources=sources,
        left_out=dict((+left_out).most_common()),
        distance=[fsum(side) / len(distances) for side in zip(*distances, strict=True)],
        command=made[0]["command"],
        more=len(made) - 1,
    )


def runs_table(runs: Sequence[Run]) -> Table | None:
    """Every run by itself: updates, validation, candidates, seconds; None without runs."""
    ordered = sorted(runs, key=lambda r: (r.labelled, system_key(r.system), r.seed))
    records = [
        {
            "system": short_name(run.system),
            "|L|": f"{run.draw} ({run.labelled:,})" if run.draw == FULL else run.labelled,
            "seed": run.seed,
            "updates": run.card.get("steps"),
            "best": run.card.get("best_step"),
            "validation, %": percent(run.card.get("best_validation_accuracy")),
            "examined": run.card.get("seen"),
            "different": run.card.get("distinct"),
            "of the corpus, %": percent(examined(run, run.card), digits=1),
            "accepted": run.card.get("accepted"),
            "seconds": None if run.seconds is None else round(run.seconds),
        }
        for run in ordered
    ]
    return records_table("All runs", records) if records else None


def made(corpus: Path, runs: Sequence[Run]) -> list[tuple[str, str | Fact]]:
    """How it was made: (what, in words)."""
    facts: list[tuple[str, str | Fact]] = []
    if (corpus / "preparse.json").is_file():
        card = read_json(corpus / "preparse.json", PreparseCard)
        parser = Fact(
            "provenance.parser",
            name=card.get("parser", "unknown"),
            trees=card.get("unlabelled", {}).get("kept"),
            training=card.get("training"),
        )
        facts.append(("parser", parser))
    for name, what in (
        ("encoder", "encoder of the predictor"), ("steps", "updates at most"),
        ("n_batch", "N_batch"), ("learning_rate", "learning rate"),
        ("warm_steps", "updates on L alone"), ("k", "K"), ("k_max", "K_max"), ("delta", "δ"),
    ):  # fmt: skip
        settings = [
            run.card.get("settings", {}) for run in runs if run.mode in _USED.get(name, _ALL)
        ]
        values = sorted({str(s[name]) for s in settings if name in s})
        if values:
            facts.append((what, ", ".join(values)))
    return facts


_ORDER = ("ingest", "pretrain", "preparse", "generate", "train", "evaluate", "audit", "report")


def times_table(corpus: Path) -> Table | None:
    """Cells, seconds and CPU seconds by stage; None where nothing was recorded for this corpus.

    Raises:
        InputError: the file is not what ``repro`` writes.
    """
    path = corpus.resolve().parent / "times.json"  # `repro` keeps it beside the corpus folders
    if not path.is_file():
        return None
    document = read_json(path, Times, remedy="remove it")
    folder = f"data/{corpus.resolve().name}/"  # a word of the command, or what one begins with
    cells = [
        cell for cell in document.values()
        if any(f"{word}/".startswith(folder) for word in cell["command"].split())
    ]  # fmt: skip
    stages = ranked({cell["stage"] for cell in cells}, _ORDER)
    rows = [_row(stage, [c for c in cells if c["stage"] == stage]) for stage in stages]
    if not rows:
        return None
    return Table(
        "Run times",
        ("Stage", "cells", "seconds", "CPU seconds"),
        (*rows, _row("all", cells, begins=True)),
        note=Fact("notes.times"),
    )


def _row(name: str, cells: list[Mapping[str, Any]], *, begins: bool = False) -> TableRow:
    seconds = sum(cell["seconds"] for cell in cells)
    known = [cell["cpu_seconds"] for cell in cells if "cpu_seconds" in cell]
    cpu = f"{sum(known):,.0f}" if len(known) == len(cells) else "–"
    return TableRow((name, f"{len(cells):,}", f"{seconds:,.0f}", cpu), begins=begins)
