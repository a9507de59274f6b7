"""``conjoin evaluate``: every run of a corpus against gold coordination (Table 2).

A run's predictions are kept with the digest of what they depend on, and only those of a new or changed
run are made; ``metrics.json`` is computed from the rows of all of them, so it does not tell which.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

from pipeline.core.console import say, table, track
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of, read_json, sha256_of, write_json
from pipeline.core.metrics import (
    CRITERIA,
    accuracy,
    accuracy_by_category,
    as_conjuncts,
    categories,
    compare_all,
    compared,
    judge,
    mean_sd,
)
from pipeline.core.parquet import read_rows, write_rows
from pipeline.core.runs import System
from pipeline.core.schema import PREDICTIONS, read_sentences, sentence_row
from pipeline.core.types import CATEGORIES, Coordination, Sentence, Span
from pipeline.evaluate.settings import Evaluate

ALGORITHM = 1
"""To be raised when other code makes other predictions of the same predictor: kept ones are then redone."""

ALGORITHM = 1
"""Raise it when other code makes other predictions of the same runs (tests/test_golden.py)."""

_COLUMNS = [*CATEGORIES, "overall"]


@dataclass(frozen=True, slots=True)
class _Instance:
    sentence: Sentence
    gold: Coordination


def run(settings: Evaluate) -> None:
    """Predict and score all evaluable coordinations of the split with every run's predictor.

    All figures in ``metrics.json`` are fractions in [0, 1], or null where there is no instance (a
    mean) or only one seed (an sd).

    Raises:
        InputError: there is no run, or the split has no evaluable coordination.
        ModelError: a run's predictor cannot be loaded.
    """
    folders = _runs(settings.corpus)
    instances = _instances(settings)
    out = settings.corpus / "evaluation"
    (out / "metrics.json").unlink(missing_ok=True)
    kept = _Kept(out, settings, instances)
    runs = []
    correct: dict[tuple[int, System], dict[int, list[bool]]] = {}
    for folder in track(folders, "evaluate"):
        card = read_json(folder / "run.json")
        run_, right = _score(card, instances, kept.rows(folder, card))
        runs.append(run_)
        key = run_["labelled"], System.of(card)
        correct.setdefault(key, {})[run_["seed"]] = right
    kept.sweep()
    systems = dict.fromkeys(system for _, system in correct)
    labels = [instance.gold.label for instance in instances]
    metrics = {
        "split": settings.split,
        "instances": {name: len(members) for name, members in categories(labels).items()},
        "runs": runs,
        "summary": _summary(runs),
        "comparisons": [asdict(c) for c in compare_all(correct, compared(systems))],
    }
    write_json(out / "metrics.json", metrics)
    _tell(metrics)


class _Kept:
    """``evaluation/predictions``, and in ``kept.json`` what each file of it was made of.

    The device is no part of that: predictions made on another differ in the last digits of their
    probabilities, and to look for it would take longer than to read what is kept.
    """

    def __init__(self, out: Path, settings: Evaluate, instances: Sequence[_Instance]) -> None:
        self.folder, self.settings, self.instances = out / "predictions", settings, instances
        self.path = out / "kept.json"
        sentences = {i.sentence.sentence_id: sentence_row(i.sentence) for i in instances}
        self.about = {
            "algorithm": ALGORITHM,
            "sentences": digest_of(list(sentences.values())),
            "batch_tokens": settings.batch_tokens,
            "threads": settings.threads,
            "versions": {name: version(name) for name in ("torch", "transformers", "tokenizers")},
        }
        try:
            record = read_json(self.path)
        except InputError:
            record = None  # missing or damaged: nothing is known of what is kept
        self.found: dict[str, Any] = record if isinstance(record, dict) else {}
        self.current: dict[str, Any] = {}

    def rows(self, folder: Path, card: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The rows of ``PREDICTIONS`` of a run, in the order of the instances, written to its file."""
        name = f"{card['system']}-{card['labelled']}-{card['seed']}.parquet"
        path = self.folder / name
        made_of = digest_of({**self.about, "predictor": sha256_of(folder / "predictor")})
        if path.is_file() and self.found.get(name) == {"of": made_of, "sha256": sha256_of(path)}:
            self.current[name] = self.found[name]
            return list(read_rows(path, PREDICTIONS))
        rows = _predict(folder, self.instances, self.settings)
        write_rows(path, PREDICTIONS, rows)
        self.current[name] = {"of": made_of, "sha256": sha256_of(path)}
        # After each run, so that what a killed evaluation has predicted is not predicted again.
        write_json(self.path, {**self.found, **self.current})
        return rows

    def sweep(self) -> None:
        """Remove the predictions of runs that are gone."""
        for path in self.folder.glob("*.parquet"):
            if path.name not in self.current:
                path.unlink()
        write_json(self.path, self.current)


def _runs(corpus: Path) -> list[Path]:
    """Folders of finished runs, in order of name; unfinished ones are named and left."""
    finished = []
    for folder in sorted((corpus / "runs").glob("*/*/seed-*")):
        if (folder / "run.json").is_file():
            finished.append(folder)
        else:
            say(f"left out, for it has no run.json: {folder}")
    if not finished:
        raise InputError("no trained run here", path=corpus / "runs", remedy="run `conjoin train`")
    _check_alike(finished)
    return finished


def _check_alike(folders: Sequence[Path]) -> None:
    """Runs that are averaged may differ in nothing but their seed."""
    first: dict[Path, tuple[Path, dict[str, Any]]] = {}
    for folder in folders:
        settings = dict(read_json(folder / "run.json").get("settings", {}))
        # The candidates' folder names the seed too.
        alike = {k: v for k, v in settings.items() if k not in {"seed", "candidates"}}
        other, expected = first.setdefault(folder.parent, (folder, alike))
        if alike != expected:
            names = sorted(k for k in {*alike, *expected} if alike.get(k) != expected.get(k))
            raise InputError(
                f"differs from {other.name} in {', '.join(names)}, so their mean says nothing",
                path=folder,
                remedy="remove the older run, or give it a --system of its own",
            )


def _instances(settings: Evaluate) -> list[_Instance]:
    path = settings.corpus / "sentences.parquet"
    found = list(read_sentences(path, lambda sentence: sentence.split == settings.split))
    sentences = found[: settings.limit]
    instances = [_Instance(s, c) for s in sentences for c in s.coordinations if c.is_evaluable]
    if not instances:
        raise InputError(
            f"no evaluable coordination in split {settings.split!r}",
            path=path,
            remedy="choose another --split or a greater --limit",
        )
    return instances


def _predict(
    folder: Path, instances: Sequence[_Instance], settings: Evaluate
) -> list[dict[str, Any]]:
    """What a run's predictor says of every instance, as rows of ``PREDICTIONS``."""
    # These take seconds, and are not needed where all predictions are kept.
    import torch  # noqa: PLC0415

    from pipeline.predictor.model import Predictor, best_device  # noqa: PLC0415

    torch.set_num_threads(settings.threads)
    predictor = Predictor.load(folder / "predictor").to(best_device())
    found = predictor.predict(
        [instance.sentence.words for instance in instances],
        [instance.gold.coordinator for instance in instances],
        settings.batch_tokens,
    )
    rows = []
    for instance, prediction in zip(instances, found, strict=True):
        gold, words = instance.gold, instance.sentence.words
        conjuncts: tuple[Span, ...] = ()
        if prediction is not None:
            conjuncts = as_conjuncts(words, gold.coordinator, prediction.span)
        rows.append(
            {
                "sentence_id": instance.sentence.sentence_id,
                "coordinator": gold.coordinator,
                "word": gold.word,
                "label": gold.label,
                "gold": [{"start": s.start, "end": s.end} for s in gold.conjuncts],
                "predicted": [{"start": s.start, "end": s.end} for s in conjuncts],
                "probability": prediction.probability if prediction else 0.0,
            }
        )
    return rows


def _score(
    card: Mapping[str, Any], instances: Sequence[_Instance], rows: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, Any], list[bool]]:
    """A run's entry in ``metrics.json``, and for every instance whether it got the boundary right."""
    verdicts = [
        judge(instance.gold, [Span(s["start"], s["end"]) for s in row["predicted"]])
        for instance, row in zip(instances, rows, strict=True)
    ]
    labels = [instance.gold.label for instance in instances]
    right = [verdict["whole"] for verdict in verdicts]
    return {
        **{key: card[key] for key in ("system", "mode", "labelled", "seed")},
        "draw": str(card.get("draw", card["labelled"])),
        "accuracy": accuracy_by_category(labels, right),
        "criteria": {c: accuracy([v[c] for v in verdicts]) for c in CRITERIA},
        "validation_accuracy": card["best_validation_accuracy"],
        **{key: card[key] for key in ("best_step", "steps", "seen", "accepted")},
        "unscored": sum(not row["predicted"] for row in rows),
    }, right


def _summary(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and sample standard deviation over seeds, by system and |L|."""

    def key(entry: dict[str, Any]) -> tuple[int, str]:
        return entry["labelled"], entry["system"]

    summary = []
    for (labelled, system), group in groupby(sorted(runs, key=lambda m: (*key(m), m["seed"])), key):
        members = list(group)
        columns = {name: mean_sd([m["accuracy"][name] for m in members]) for name in _COLUMNS}
        criteria = {name: mean_sd([m["criteria"][name] for m in members]) for name in CRITERIA}
        summary.append(
            {
                "system": system,
                "labelled": labelled,
                "draw": members[0]["draw"],
                "seeds": [m["seed"] for m in members],
                "mean": {name: value[0] for name, value in columns.items()},
                "sd": {name: value[1] for name, value in columns.items()},
                "criteria": {
                    name: {"mean": mean, "sd": sd} for name, (mean, sd) in criteria.items()
                },
            }
        )
    return summary


def _cell(mean: float | None, sd: float | None) -> str:
    if mean is None:
        return "-"
    return f"{100 * mean:.2f}" + (f" ± {100 * sd:.2f}" if sd is not None else "")


def _size(entry: dict[str, Any]) -> str:
    """|L|, and the draw's name where that is a word."""
    draw, labelled = entry["draw"], str(entry["labelled"])
    return labelled if draw == labelled else f"{draw} ({labelled})"


def _tell(metrics: dict[str, Any]) -> None:
    counts = metrics["instances"]
    sizes = {entry["labelled"]: _size(entry) for entry in metrics["summary"]}
    table(
        f"Accuracy (%) of the outer boundary on {metrics['split']}, mean ± sd over seeds",
        ["|L| system", "seeds", *(f"{name} ({counts[name]})" for name in _COLUMNS)],
        [
            [
                f"{_size(entry)} {entry['system']}",
                len(entry["seeds"]),
                *(_cell(entry["mean"][name], entry["sd"][name]) for name in _COLUMNS),
            ]
            for entry in metrics["summary"]
        ],
    )
    if metrics["comparisons"]:
        table(
            "Gain in points, with the 95 % bootstrap interval over seeds and instances",
            ["|L| system", "against", "seeds", "gain", "interval"],
            [
                [
                    f"{sizes[c['labelled']]} {c['system']}", c["against"], len(c["seeds"]),
                    f"{100 * c['gain']:+.2f}", f"{100 * c['low']:+.2f} … {100 * c['high']:+.2f}",
                ]
                for c in metrics["comparisons"]
            ],
        )  # fmt: skip
    unscored = max(entry["unscored"] for entry in metrics["runs"])
    if unscored:
        say(f"Up to {unscored} instances could not be scored (too long, or at the edge): wrong.")
