"""What people had annotated for a run, where its card says, and where an earlier version wrote it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.core.annotation import (
    LABELLED,
    VALIDATION,
    Annotation,
    Part,
    from_json,
    joined,
    name_of_place,
    unknown,
)
from pipeline.core.cards.ingest import DrawFile
from pipeline.core.corpus_folder import corpus_name, draw_file
from pipeline.core.documents import read_json


def annotation_of_run_card(card: Mapping[str, Any], corpus: Path) -> Annotation:
    """The record of a run.

    One of an earlier version has none: its predictor learned from the boundaries of L and was chosen by the
    validation sentences; of its candidates, and of what its twins rest on, if it had any, nothing is known.

    Args:
        card: ``run.json``.
        corpus: the corpus folder, whose draw says how many sentences there were.
    """
    if "annotation" in card:
        return from_json(card["annotation"])
    drawn, seed = str(card.get("draw", card["labelled"])), card["seed"]
    path, name, draw = corpus / draw_file(seed, drawn), corpus_name(corpus), f"{drawn}/seed-{seed}"
    count = len(read_json(path, DrawFile)["validation"]) if path.is_file() else 0
    size = card["labelled"]
    parts = [
        Part(corpus=name, part=LABELLED, draw=draw, sentences=size, boundaries=size),
        Part(
            corpus=name, part=VALIDATION, draw=draw, use="chosen", sentences=count, boundaries=count
        ),
    ]
    settings = card.get("settings", {})
    if settings.get("augment") == "substitute":  # by constituents of the trees of U
        parts += unknown("a parser")
    if model := settings.get("augment_lm"):
        parts += unknown(_without_seed(str(model)))
    candidates = settings.get("candidates")
    if card["mode"] == "baseline":
        return joined(parts)
    return joined([*parts, *unknown(_without_seed(str(candidates or "candidates")))])


def _without_seed(folder: str) -> str:
    """A folder by its name that is alike for all seeds: ``attested-bert``."""
    return name_of_place(folder.strip("/").split("/"))
