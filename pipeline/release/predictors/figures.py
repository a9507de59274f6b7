"""What ``evaluate`` found of the very predictor that is released, with intervals over documents."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.core.cards.evaluation import MetricsCard
from pipeline.core.cards.predictors import PredictorFigures
from pipeline.core.comparison import FEWEST_DOCUMENTS, Difference, compare_counts, documents_of
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import sha256_of
from pipeline.core.fingerprint import Fingerprint, Output
from pipeline.core.parquet import read_rows
from pipeline.release.predictors.finished import FinishedRun
from pipeline.tasks.protocol import JudgedRows

_EVALUATION, _METRICS = "evaluation", "metrics.json"


def figures_of(run: FinishedRun) -> PredictorFigures | str:  # noqa: PLR0911 - a reason each
    """The figures of a run, or why there are none.

    Predictions are kept with the digest of the predictor that made them and of the instances: those of
    another predictor, or of other instances, are not this one's.

    Raises:
        InputError: what ``evaluate`` wrote is damaged.
    """
    if run.corpus is None:
        return "its corpus is not at hand"
    folder = run.corpus / _EVALUATION
    if not (folder / _METRICS).is_file():
        return "nothing of its corpus was evaluated"
    metrics = read_json(folder / _METRICS, MetricsCard, remedy="run `conjoin evaluate` again")
    name = f"{run.card['system']}-{run.card['labelled']}-{run.card['seed']}"
    path = folder / "predictions" / f"{name}.parquet"
    about = _about(folder, name, path)
    if about is None:
        return "there are no predictions of it"
    if about.get("model") != sha256_of(run.predictor):
        return "what was evaluated is another predictor of this name"
    evaluation = run.task.evaluation
    instances = evaluation.instances(run.corpus, metrics["split"], None)
    if (about.get("inputs") or {}).get("sentences") != evaluation.digest(instances):
        return f"what was evaluated is not the whole of {metrics['split']} as it is now"
    judged = evaluation.judged(instances, list(read_rows(path, evaluation.schema)))
    documents = documents_of(evaluation.documents(instances))
    seed = (0, run.card["labelled"])  # the same draws as in the tables of `evaluate`
    found = _beside_nothing(judged.counts, seed, documents)
    if found is None:
        return "there is nothing to resample"
    return {
        "title": evaluation.title,
        "figure": evaluation.figure,
        "split": metrics["split"],
        "resampled": "instances" if documents is None else evaluation.together,
        "overall": found.gain,
        "low": found.low,
        "high": found.high,
        "figures": dict(judged.figures),
        "instances": dict(evaluation.sizes(instances)),
        "criteria": dict(judged.criteria),
        "intervals": intervals_of(judged, evaluation.documents(instances), seed),
    }


def _beside_nothing(
    counts: npt.NDArray[np.int64], seed: tuple[int, ...], documents: Sequence[int] | None
) -> Difference | None:
    """The figure of some counts with its interval: the gain over as much said, and none of it right."""
    nothing = counts.copy()
    nothing[..., 0] = 0
    return compare_counts({0: counts}, {0: nothing}, seed, documents)


def intervals_of(
    judged: JudgedRows, documents: Sequence[str], seed: tuple[int, ...]
) -> dict[str, list[float]]:
    """The 95 % intervals of the columns beside ``overall``, resampled as it is.

    Of a column are the instances in which something was said or there; where it has fewer than
    ``FEWEST_DOCUMENTS`` of what is resampled, there is none.

    Args:
        judged: what was found.
        documents: the id of each instance's document.
        seed: of the resampling.

    Returns:
        The lower and the upper bound, in [0, 1], by column.
    """
    whole = documents_of(documents) is not None
    found = {}
    for name, counts in judged.of_columns.items():
        own = np.flatnonzero(counts[..., 1:].any((1, 2)))
        of = [documents[at] for at in own.tolist()]
        if name == "overall" or len(set(of) if whole else of) < FEWEST_DOCUMENTS:
            continue
        interval = _beside_nothing(counts[own], seed, documents_of(of) if whole else None)
        if interval is not None:
            found[name] = [interval.low, interval.high]
    return found


def _about(folder: Path, name: str, path: Path) -> dict[str, Any] | None:
    """What predictions were made of, if they are still those that were written."""
    try:
        record = Output(path.parent, folder / "kept" / f"{name}.json", Fingerprint()).read()
    except InputError:
        return None
    if record is None or path.name not in record.files or record.files[path.name].fault(path):
        return None
    about: dict[str, Any] = record.facts.get("about") or {}
    return about
