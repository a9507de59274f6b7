"""``conjoin evaluate``: every run of a corpus against gold coordination (Table 2).

A run's predictions are kept with the digest of what they depend on, and only those of a new or changed
run are made; ``metrics.json`` is computed from the rows of all of them, so it does not tell which.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from pipeline.core.console import say, table, track
from pipeline.core.corpus_folder import SENTENCES_FILE, require_ingested
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts, digest_of, sha256_of, write_json
from pipeline.core.fingerprint import Fingerprint, Output, versions_of
from pipeline.core.markdown import percent, points
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
from pipeline.core.runs import Card, System
from pipeline.core.schema import PREDICTIONS, read_sentences, sentence_row
from pipeline.core.types import CATEGORIES, Coordination, Sentence, Span
from pipeline.evaluate.settings import Evaluate

ALGORITHM = 1
"""Raise it when a code change changes the predictions of the same runs (tests/test_golden.py)."""

_COLUMNS = [*CATEGORIES, "overall"]


_COUNTS = ("best_step", "steps", "seen", "accepted")


def _whole(card: dict[str, Any]) -> dict[str, Any]:
    missing = [key for key in _COUNTS if card.get(key) is None]
    if "best_validation_accuracy" not in card:  # null where no validation sentence can be scored
        missing.append("best_validation_accuracy")
    if missing:
        raise ValueError(f"lacks {missing[0]}")
    return card


_Card = Annotated[Card, AfterValidator(_whole)]
"""The card of a run of this version; other readers make do with less."""


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
    sentences = {i.sentence.sentence_id: sentence_row(i.sentence) for i in instances}
    # Not the device: on another the last digits of probabilities differ, and to look for it would take
    # longer than to read what is kept.
    about = Fingerprint(
        settings={"batch_tokens": settings.batch_tokens},
        inputs={"sentences": digest_of(list(sentences.values()))},
        algorithm=ALGORITHM,
        versions=versions_of("torch", "transformers", "tokenizers"),
        machine={"threads": settings.threads},
    )
    runs, known = [], set[str]()
    correct: dict[tuple[int, System], dict[int, list[bool]]] = {}
    for folder, card in track(folders, "evaluate"):
        name = f"{card['system']}-{card['labelled']}-{card['seed']}"
        known.add(name)
        made_of = replace(about, model=sha256_of(folder / "predictor"))
        output = Output(out / "predictions", out / "kept" / f"{name}.json", made_of)
        rows = _rows(output, name, partial(_predict, folder, instances, settings))
        run_, right = _score(card, instances, rows)
        runs.append(run_)
        key = run_["labelled"], System.of(card)
        correct.setdefault(key, {})[run_["seed"]] = right
    for path in (*out.glob("kept/*.json"), *out.glob("predictions/*.parquet")):
        if path.stem not in known:  # of a run that is gone
            path.unlink()
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


def _rows(
    output: Output, name: str, predict: Callable[[], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """The rows of ``PREDICTIONS`` of a run in the order of the instances: those kept, or new ones."""
    path = output.folder / f"{name}.parquet"
    if output.state([path.name]).kind == "current":
        return list(read_rows(path, PREDICTIONS))
    rows = predict()
    output.begin()
    write_rows(path, PREDICTIONS, rows)
    output.finish({path.name: FileFacts.of(path, len(rows))}, {})
    return rows


def _runs(corpus: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Finished runs with their ``run.json``, in order of name; unfinished ones are named and left."""
    finished = []
    for folder in sorted((corpus / "runs").glob("*/*/seed-*")):
        if (folder / "run.json").is_file():
            finished.append((folder, _card_of(folder / "run.json")))
        else:
            say(f"left out, for it has no run.json: {folder}")
    if not finished:
        raise InputError("no trained run here", path=corpus / "runs", remedy="run `conjoin train`")
    _check_alike(finished)
    return finished


def _card_of(path: Path) -> dict[str, Any]:
    """A run's card, whose names make file names here."""
    remedy = "train it again, or remove the run's folder"
    card: dict[str, Any] = read_json(path, _Card, remedy=remedy)
    if "/" in card["system"]:
        raise InputError(
            f"not the card of a run: its system is {card['system']!r}", path=path, remedy=remedy
        )
    return card


def _check_alike(runs: Sequence[tuple[Path, dict[str, Any]]]) -> None:
    """Runs that are averaged may differ in nothing but their seed."""
    first: dict[Path, tuple[Path, dict[str, Any]]] = {}
    for folder, card in runs:
        # The candidates' folder names the seed too.
        alike = {
            k: v for k, v in card.get("settings", {}).items() if k not in {"seed", "candidates"}
        }
        other, expected = first.setdefault(folder.parent, (folder, alike))
        if alike != expected:
            names = sorted(k for k in {*alike, *expected} if alike.get(k) != expected.get(k))
            raise InputError(
                f"differs from {other.name} in {', '.join(names)}, so their mean says nothing",
                path=folder,
                remedy="remove the older run, or give it a --system of its own",
            )


def _instances(settings: Evaluate) -> list[_Instance]:
    require_ingested(settings.corpus)
    path = settings.corpus / SENTENCES_FILE
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
        **{key: card[key] for key in _COUNTS},
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
                *(percent(entry["mean"][name], entry["sd"][name]) for name in _COLUMNS),
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
                    points(c["gain"]), f"{points(c['low'])} … {points(c['high'])}",
                ]
                for c in metrics["comparisons"]
            ],
        )  # fmt: skip
    unscored = max(entry["unscored"] for entry in metrics["runs"])
    if unscored:
        say(f"Up to {unscored} instances could not be scored (too long, or at the edge): wrong.")
