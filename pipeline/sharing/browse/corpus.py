"""A corpus as the page sees it: what it is, and answers to views; for the server and for export."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from pipeline.core.candidates import HARVESTED
from pipeline.corpus.layout import Shards
from pipeline.corpus.licences import terms
from pipeline.corpus.rows import generations
from pipeline.sharing.browse.selection import CommandPlaces, selection_of
from pipeline.sharing.browse.table import BINS, View, bin_of, contents, rows_of_view, summary

if TYPE_CHECKING:  # without a predictor there is no need of torch, which takes seconds
    from pipeline.sharing.browse.scores import BoundaryScorer


_TOPS = (0.1, 0.2, 0.5, 1.0)  # ends of the slider whose steps are round numbers
_PAPER = 0.7  # δ of §5.1, a probability of the predictor


@dataclass(frozen=True, slots=True)
class BrowsedCorpus:
    """A corpus table and what is known of it.

    Attributes:
        database: with the table ``corpus.rows``.
        about: what ``describe`` says.
        judge: the predictor; None without one.
        origin: what a command that selects these rows names.
    """

    database: duckdb.DuckDBPyConnection
    about: Mapping[str, Any]
    judge: "BoundaryScorer | None" = field(default=None)
    origin: CommandPlaces | None = None

    def answer(self, view: View) -> dict[str, Any]:
        """What ``summary`` counts, and ``rows``, each with its ``bin``. May be called by many threads.

        With a predictor every usable row has its probability, also outside the sample that δ judges.
        """
        top = self.about["top"]
        with self.database.cursor() as cursor:
            answer = summary(cursor, view, top)
            answer["rows"] = rows = rows_of_view(cursor, view, top)
        if self.judge:
            unseen = [row for row in rows if row["reason"] is None and not row["judged"]]
            for row, value in zip(unseen, self.judge.probabilities(unseen), strict=True):
                row["value"] = value
        for row in rows:
            row["bin"] = bin_of(row["value"], top)
        return answer

    def selection(self, view: View) -> dict[str, str | None]:
        """The command that selects what a view lists; see ``selection_of``."""
        if self.origin is None:
            return {"command": None, "note": "Nothing says where these rows are."}
        return selection_of(view, self.origin, self.about["top"])

    def everything(self) -> list[dict[str, Any]]:
        """All rows, as ``answer`` has them."""
        pages = range(0, self.about["usable"] + self.about["rejected"], 200)
        views = (View(state="all", offset=first, limit=200) for first in pages)
        return [row for view in views for row in self.answer(view)["rows"]]


def describe(
    database: duckdb.DuckDBPyConnection,
    shards: Shards,
    *,
    predictor: Path | None,
    judged: int,
    sample: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """What the page says of the corpus, JSON-ready: ``contents`` of the table and

    - ``name``; ``kind`` (what lies there); ``sample`` ({rows, of, seed} if these are not all rows);
    - ``terms``: of each licence its name and ``why`` it may not be passed on, null if it may;
    - ``made``: {generation: a few words about the run};
    - ``predictor`` (its folder, or null), ``judged`` (rows that δ judges), ``top`` (the value at the
      slider's end), ``delta`` (where it begins), ``bins``.
    """  # noqa: D415 - the first sentence is a list
    found = contents(database)
    usual = next((top for top in _TOPS if found["highest"] <= top), 1.0)
    return {
        **found,
        "name": _name(shards),
        "kind": shards.kind,
        "sample": dict(sample) if sample else None,
        "terms": {expression: _terms(expression) for expression, *_ in found["licenses"]},
        "made": {key: _made(run) for key, run in generations(shards).items()},
        "predictor": predictor and "/".join(predictor.resolve().parts[-4:]),
        "judged": judged,
        "top": 1.0 if predictor else usual,
        "delta": _PAPER if predictor else 0.0,
        "bins": BINS,
    }


def _terms(expression: str | None) -> dict[str, Any]:
    """Name of a licence, and why text under it may not be passed on."""
    known = terms(expression or "unknown")
    return {
        "name": known.name if known.known else str(expression),
        "why": None if known.redistributable else known.why,
    }


def _name(shards: Shards) -> str:
    """A release's own name, else the last folders of where it lies."""
    named = (shards.manifest or {}).get("name")
    parts = shards.place.resolve().parts
    if "candidates" in parts[:-1]:
        parts = tuple(part for part in parts[-4:] if part != "candidates")
    return str(named or " / ".join(parts[-3 if shards.kind == "candidates" else -1 :]))


def _made(run: Mapping[str, Any]) -> str:
    """Generator, decoding and seed of a run, in a few words."""
    settings = run.get("settings") or {}
    if not isinstance(settings, Mapping):
        return ""
    sync = {True: "synchronized", False: "not synchronized"}.get(settings.get("sync", ""), "")
    seed = f"seed {settings['seed']}" if "seed" in settings else ""
    if settings.get("fills") == HARVESTED:
        return ", ".join(filter(None, (HARVESTED, f"parser {settings.get('parser', '?')}", seed)))
    return ", ".join(
        str(part) for part in (settings.get("lm"), sync, settings.get("decoding"), seed) if part
    )
