"""A view of the page as the ``conjoin select`` command that writes its candidates into a folder.

The page writes nothing itself: whoever reads it starts the command.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from pipeline.core.console import shell_line
from pipeline.core.types import is_label
from pipeline.corpus.engine import quoted
from pipeline.sharing.browse.table import BINS, View


@dataclass(frozen=True, slots=True)
class CommandPlaces:
    """What a command has to name.

    Attributes:
        place: the corpus, as it was given to ``browse``.
        predictor: the folder of the predictor; None without one.
    """

    place: Path
    predictor: Path | None


def selection_of(view: View, origin: CommandPlaces, top: float) -> dict[str, str | None]:
    """The command that writes what a view lists, on whatever page of it.

    Args:
        view: filters and δ; order and page make no difference.
        origin: of the rows.
        top: the value of the slider's last step.

    Returns:
        ``command``, None where no selection is as the view; and ``note``: why not, or in what the
        result differs from what is seen.
    """
    if view.state == "rejected":
        return {"command": None, "note": "Rejects are not selected: show usable rows."}
    if origin.predictor is not None and view.keep == "below":
        return {
            "command": None,
            "note": "A predictor selects what reaches δ: show all rows, or those.",
        }
    notes = ["It selects usable candidates only."] if view.state == "all" else []
    line, where = _filters(view)
    if view.keep == "all" and view.cut:
        notes.append(
            "δ leaves nothing out while all rows are listed: choose ≥ δ for those that reach it."
        )
    elif view.keep != "all" and origin.predictor is not None:
        delta = f"{view.cut * top / BINS:g}"
        line += ["--predictor", os.path.abspath(origin.predictor), "--delta", delta]
        notes.append(
            "It asks the predictor about every candidate, not about the scored sample alone."
        )
    elif view.keep != "all":
        reaches = f"score <= 0 AND floor(exp(score::DOUBLE) * {BINS} / {top!r}) >= {view.cut}"
        reached = f"coalesce(isfinite(score) AND {reaches}, false)"
        where.append(reached if view.keep == "above" else f"NOT {reached}")
    if where:
        line += ["--where", " AND ".join(where)]
    notes.append("Of candidates that say the same it keeps the first.")
    whole = ["conjoin", "select", os.path.abspath(origin.place), *line, "--out", "selection"]
    return {"command": shell_line(whole), "note": " ".join(notes)}


def _filters(view: View) -> tuple[list[str], list[str]]:
    """Options of the command, and conditions for what has none."""
    line: list[str] = []
    where: list[str] = []
    if all(map(is_label, view.label)):
        line += [part for label in view.label for part in ("--label", label)]
    else:
        where.append(f"label IN ({_listed(view.label)})")
    if view.fill_min is not None or view.fill_max is not None:
        low, high = ("" if n is None else str(n) for n in (view.fill_min, view.fill_max))
        line.append(f"--words={low}-{high}")
    if view.coordinator:
        where.append(f"coalesce(coordinator_word, '') IN ({_listed(view.coordinator)})")
    for sign, bound in ((">=", view.words_min), ("<=", view.words_max)):
        if bound is not None:
            where.append(f"sentence_words {sign} {bound}")
    if view.q:
        where.append(f"contains(lower(text), lower({quoted(view.q)}))")
    return line, where


def _listed(texts: list[str]) -> str:
    return ", ".join(map(quoted, texts))
