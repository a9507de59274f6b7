"""``conjoin evaluate``: every run of a corpus against gold coordination (Table 2), and parsers beside them.

A run's predictions are kept with the digest of what they depend on, and only those of a new or changed
run are made; ``metrics.json`` is computed from the rows of all of them, so it does not tell which. A parser
(``--parser``) parses the split once; its structures are a row of their own, and two more with every predictor
(``tasks/coordination/with_parser.py``).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import AfterValidator

from pipeline.core.annotation import Annotation, from_json, shared_level
from pipeline.core.answered import ANSWERS_FILE, write_answered
from pipeline.core.cards.evaluation import (
    ComparisonRow,
    MetricsDocument,
    SummaryRow,
    measured_on,
)
from pipeline.core.cards.runs import RunCard
from pipeline.core.claims import Claim, Listed
from pipeline.core.comparison import Comparison, Counts, compare_all, documents_of
from pipeline.core.console import in_one_piece, say, table, track
from pipeline.core.corpora import COORDINATION
from pipeline.core.corpus_folder import corpus_name
from pipeline.core.device import best_device
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import LOCK, WORKERS, digest_of, sha256_of, write_json
from pipeline.core.fingerprint import Fingerprint, versions_of
from pipeline.core.markdown import percent, points
from pipeline.core.run_annotation import annotation_of_run_card
from pipeline.core.runs import System
from pipeline.evaluate.answers import Answers
from pipeline.evaluate.kept import Kept, Made
from pipeline.evaluate.parser_rows import ParserRows
from pipeline.evaluate.scoring import COUNTS, Scored, entry, summary
from pipeline.evaluate.settings import EvaluateSettings
from pipeline.tasks.coordination.task import CoordinationTask
from pipeline.tasks.known import task_of
from pipeline.tasks.protocol import Evaluation, Task

ALGORITHM = 2
"""Raise it when a code change changes the predictions of the same runs (tests/test_golden.py)."""

_METRICS = "metrics.json"

_SEED = re.compile(r"seed-\d+(?=/|$)")
"""Of a folder of candidates or of a parser: which seed's it is."""


def _whole(card: dict[str, Any]) -> dict[str, Any]:
    missing = [key for key in COUNTS if card.get(key) is None]
    if "best_validation_accuracy" not in card:  # null where no validation sentence can be scored
        missing.append("best_validation_accuracy")
    if missing:
        raise ValueError(f"lacks {missing[0]}")
    return card


_Card = Annotated[RunCard, AfterValidator(_whole)]
"""The card of a run of this version; other readers make do with less."""


def run(settings: EvaluateSettings) -> None:
    """Predict and score all evaluable coordinations of the split with every run's predictor.

    All figures in ``metrics.json`` are fractions in [0, 1], or null where there is no instance (a
    mean) or only one seed (an sd).

    Raises:
        InputError: there is no run or parser, or the split has no evaluable coordination.
        ModelError: a run's predictor, or a parser, cannot be loaded.
        SettingsError: a parser is named, and the corpus is of another task than coordination.
    """
    task = task_of(settings.corpus)
    folders = _apart(settings.corpus, task, _runs(settings.corpus))
    _check_alike(folders)
    if settings.parser and not isinstance(task, CoordinationTask):
        raise SettingsError(
            f"a corpus of {task.name}, and parsers find coordination alone",
            path=settings.corpus, remedy="evaluate it without --parser",
        )  # fmt: skip
    instances = task.evaluation.instances(settings.corpus, settings.split, settings.limit)
    out = settings.corpus / "evaluation"
    # Not the device: on another the last digits of probabilities differ, and to look for it would take
    # longer than to read what is kept.
    about = Fingerprint(
        settings={"batch_tokens": settings.batch_tokens},
        inputs={"sentences": task.evaluation.digest(instances)},
        algorithm=ALGORITHM,
        versions=versions_of("torch", "transformers", "tokenizers"),
        machine={"threads": settings.threads},
    )
    kept = Kept(out, task.evaluation.schema)
    answers = Answers(task.evaluation, instances)
    # Looked for before any work: a slip in a name costs nothing that was there.
    parsers = ParserRows(settings, instances, kept, about, answers) if settings.parser else None
    Claim(out, "evaluate", earlier=_earlier, parts=(_METRICS, ANSWERS_FILE), alone=False).check()
    for name in (ANSWERS_FILE, _METRICS):  # the record last: it says that the other is ours
        (out / name).unlink(missing_ok=True)
    scored: list[Scored] = []
    for folder, card in track(folders, "evaluate"):
        name = f"{card['system']}-{card['labelled']}-{card['seed']}"
        made_of = replace(about, model=sha256_of(folder / "predictor"))
        rows, _ = kept.rows(name, made_of, partial(_predict, task, folder, instances, settings))
        record = annotation_of_run_card(card, settings.corpus)
        judged = task.evaluation.judged(instances, rows)
        answers.add(card["system"], card, rows)
        scored.append(entry(System.of(card), card, record, judged))
    if parsers is not None:
        scored += parsers.of(folders)
    kept.remove_others()
    with in_one_piece("compare systems"):
        metrics = _metrics(settings, task.evaluation, instances, scored)
        if task.name != COORDINATION:
            metrics["task"] = task.name
        if settings.limit is not None:
            metrics["limit"] = settings.limit
    write_json(out / _METRICS, metrics)
    write_answered(out / ANSWERS_FILE, answers.answered())
    _tell(metrics, task.evaluation)


def _earlier(there: Path) -> Listed:
    """The record of an earlier evaluation, which lists its runs."""
    try:
        card = read_json(there / _METRICS)
    except InputError:
        return None
    return (_METRICS, ANSWERS_FILE) if isinstance(card.get("runs"), list) else None


def _metrics(
    settings: EvaluateSettings,
    evaluation: Evaluation[Any],
    instances: Sequence[Any],
    scored: Sequence[Scored],
) -> MetricsDocument:
    """The document: runs, their means, and comparisons, those of different annotation apart."""
    runs = [each for each, _ in scored]
    counted: dict[tuple[int, System], dict[int, Counts]] = {}
    records: dict[tuple[int, System], dict[int, Annotation]] = {}
    for each, counts in scored:
        cell = each["labelled"], System.of_row(each)
        counted.setdefault(cell, {})[each["seed"]] = counts
        records.setdefault(cell, {})[each["seed"]] = from_json(each["annotation"])
    levels = {cell: shared_level(found) for cell, found in records.items()}
    documents = documents_of(evaluation.documents(instances))
    found = compare_all(counted, levels, documents)
    return {
        "split": settings.split,
        "corpus": (name := corpus_name(settings.corpus)),
        "instances": dict(evaluation.sizes(instances)),
        "resampled": "instances" if documents is None else evaluation.together,
        "runs": runs,
        "summary": summary(runs, name),
        "comparisons": [_as_row(each) for each in found if not each.across],
        "across": [_as_row(each) for each in found if each.across],
    }


def _as_row(comparison: Comparison) -> ComparisonRow:
    """Which list it stands in says whether it is across levels."""
    return {
        "system": comparison.system,
        "against": comparison.against,
        "labelled": comparison.labelled,
        "seeds": list(comparison.seeds),
        "gain": comparison.gain,
        "low": comparison.low,
        "high": comparison.high,
        "by_seed": list(comparison.by_seed),
        "by_t": list(comparison.by_t) if comparison.by_t else None,
    }


def _runs(corpus: Path) -> list[tuple[Path, RunCard]]:
    """Finished runs with their ``run.json``, in order of name; unfinished ones are named and left."""
    finished = []
    for folder in sorted((corpus / "runs").glob("*/*/seed-*")):
        if (folder / "run.json").is_file():
            finished.append((folder, _card_of(folder / "run.json")))
        elif not folder.is_dir() or {p.name for p in folder.iterdir()} - {LOCK, WORKERS}:
            # else it never began; of a file or a link to nothing it is said, too
            say(f"left out, for it has no run.json: {folder}")
    if not finished:
        raise InputError("no trained run here", path=corpus / "runs", remedy="run `conjoin train`")
    return finished


def _apart(
    corpus: Path, task: Task[Any], runs: Sequence[tuple[Path, RunCard]]
) -> list[tuple[Path, RunCard]]:
    """Those runs that were apart from what the corpus holds out now; others may have learned of it.

    A run of an earlier version does not say what was held out then, and passes.

    Raises:
        InputError: no run is left.
    """
    now, left = digest_of(sorted(task.held_out(corpus))), []
    for folder, card in runs:
        if card.get("held_out", now) == now:
            left.append((folder, card))
        else:
            say(f"left out, for the corpus is divided otherwise since it was trained: {folder}")
    if not left:
        raise InputError(
            "the corpus is divided otherwise since its runs were trained", path=corpus / "runs",
            remedy="run `conjoin train` again, or ingest the corpus as it was",
        )  # fmt: skip
    return left


def _card_of(path: Path) -> RunCard:
    """A run's card, whose names make file names here."""
    remedy = "train it again, or remove the run's folder"
    card: RunCard = read_json(path, _Card, remedy=remedy)
    return card


def _check_alike(runs: Sequence[tuple[Path, RunCard]]) -> None:
    """Runs that are averaged may differ in nothing but seed and threads; these change last digits."""
    first: dict[Path, tuple[Path, dict[str, Any], str | None]] = {}
    for folder, card in runs:
        given = card.get("settings", {}).items()
        alike: dict[str, Any] = {k: v for k, v in given if k not in {"seed", "threads"}}
        for place in alike.keys() & {"candidates", "gold_of", "encoder"}:  # may name a seed, too
            alike[place] = _SEED.sub("seed", str(alike[place]).rstrip("/"))
        other, expected, model = first.setdefault(folder.parent, (folder, alike, card.get("model")))
        names = {k for k in {*alike, *expected} if alike.get(k) != expected.get(k)}
        if model is not None and card.get("model") == model:
            names -= {"encoder"}  # it lies elsewhere, and has the same weights
        if names:
            raise InputError(
                f"differs from {other.name} in {', '.join(sorted(names))}, so their mean says nothing",
                path=folder,
                remedy="remove the older run, or give it a --system of its own",
            )


def _predict(
    task: Task[Any], folder: Path, instances: Sequence[Any], settings: EvaluateSettings
) -> Made:
    """What a run's predictor says of every instance."""
    torch.set_num_threads(settings.threads)
    model = task.load(folder / "predictor").to(best_device())
    return task.evaluation.rows(model, instances, settings.batch_tokens), {}


def _size(row: SummaryRow) -> str:
    """|L|, and the draw's name where that is a word."""
    draw, labelled = row["draw"], str(row["labelled"])
    return labelled if draw == labelled else f"{draw} ({labelled})"


def _tell(metrics: MetricsDocument, evaluation: Evaluation[Any]) -> None:
    counts = metrics["instances"]
    columns = [*evaluation.columns, *(name for name in counts if name not in evaluation.columns)]
    systems = {row["system"]: System.of_row(row) for row in metrics["runs"]}
    named = {name: system.called(system.predictor) for name, system in systems.items()}
    sizes = {row["labelled"]: _size(row) for row in metrics["summary"]}
    for annotated in dict.fromkeys(row["annotated"] for row in metrics["summary"]):
        table(
            f"{evaluation.title} on {measured_on(metrics)}, mean ± sd over seeds; annotated: "
            f"{annotated}",
            ["|L| system", "seeds", *(f"{name} ({counts[name]})" for name in columns)],
            [
                [
                    f"{_size(row)} {named[row['system']]}",
                    len(row["seeds"]),
                    *(percent(row["mean"][name], row["sd"][name]) for name in columns),
                ]
                for row in metrics["summary"]
                if row["annotated"] == annotated
            ],
        )
    over = f"with the 95 % bootstrap interval over seeds and {metrics['resampled']}"
    for rows, title in (
        (metrics["comparisons"], f"Gain in points at equal annotation, {over}"),
        (
            metrics["across"],
            f"Differences in points between levels of annotation, {over}: no gains",
        ),
    ):
        if rows:
            table(
                title,
                ["|L| system", "against", "seeds", "difference", "interval"],
                [
                    [
                        f"{sizes[c['labelled']]} {named[c['system']]}", named[c["against"]], len(c["seeds"]),
                        points(c["gain"]), f"{points(c['low'])} … {points(c['high'])}",
                    ]
                    for c in rows
                ],
            )  # fmt: skip
    unscored = max(row["unscored"] for row in metrics["runs"] if row["combined"] is None)
    if unscored:
        say(f"Up to {unscored} instances could not be scored (too long, or at the edge): wrong.")
