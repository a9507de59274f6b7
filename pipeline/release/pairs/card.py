"""The documents of a release of new argument pairs, and among them README.md, its dataset card.

Every figure comes from the rows or the manifest, none is typed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from pipeline.core.files import write_text
from pipeline.core.markdown import code, grid, plain, printable
from pipeline.corpus.licences import UNKNOWN, terms
from pipeline.release.card import columns_of, place_of
from pipeline.release.card_text import settings as settings_table
from pipeline.release.card_text import templates
from pipeline.release.front_matter import front_matter, source_names
from pipeline.release.licence_files import bibtex, citation_file, licence_file, notices
from pipeline.release.method_text import annotated, resource

_OF_A_ROW = (
    "Each row has in its column `license` the licence of its source pair and, where a language model wrote "
    "for it, the terms on what that writes, joined by AND."
)
_TAGS = ["discourse-relations", "implicit-relations", "synthetic", "conjoin"]
_READ = 4096


@cache
def words(what: str) -> dict[str, str]:
    """A part of ``pairs.yaml``: ``columns``, ``reasons`` of rejects, ``filters`` or ``writers``."""
    found: dict[str, str] = yaml.safe_load(resource("pairs.yaml"))[what]
    return found


def write_pair_documents(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write README.md, LICENSE and CITATION.cff; the same input gives the same bytes.

    Args:
        folder: of the release, whose shards and ``manifest.json`` stand.
        manifest: what ``manifest.json`` holds.

    Raises:
        InputError: the folder cannot be written to.
    """
    manifest = printable(manifest)
    found = _Counts(folder, manifest)
    origins = printable(sorted(found.origins))
    changes = "made new pairs of argument pairs: " + "; ".join(
        dict.fromkeys(words("writers")[kind] for kind in found.kinds)
    )
    write_text(folder / "LICENSE", licence_file(manifest, origins, _OF_A_ROW, changes))
    about = {
        "message": "If you use this corpus, please cite it.",
        "abstract": "Argument pairs of discourse relations without a connective, made for senses that a "
        "model takes for others.",
        "keywords": ["discourse relations", "synthetic data"],
    }
    write_text(folder / "CITATION.cff", citation_file(manifest, about))
    write_text(folder / "README.md", _card(folder, manifest, found, origins))


class _Counts:
    """What the rows of a release come to.

    Attributes:
        labels: usable pairs by sense and what it is taken for.
        writers: rows by writer, usable and refused.
        reasons: rejects by reason.
        origins: what the ids of source pairs begin with.
        samples: the first row of each sense.
        kinds: what kind of writer each run has, a key of ``writers`` in ``pairs.yaml``.
    """

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.labels, self.reasons = Counter[tuple[str, str]](), Counter[str]()
        self.writers: dict[str, Counter[str]] = {}
        self.origins: set[str] = set()
        self.samples: dict[str, Mapping[str, Any]] = {}
        for config, row in _rows(folder, manifest):
            self.writers.setdefault(row["writer"], Counter())[config] += 1
            self.origins.add(row["sentence_id"].partition("/")[0])
            if config == "rejected":
                self.reasons[row["reason"]] += 1
                continue
            self.labels[row["label"], row["confused"] or ""] += 1
            self.samples.setdefault(row["label"], row)
        self.kinds = [_kind(run) for run in manifest["generations"].values()]


def _rows(folder: Path, manifest: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    wanted = ["writer", "sentence_id", "label", "confused", "arg1", "arg2"]
    for shard in manifest["shards"]:
        columns = wanted + ["reason"] * (shard["config"] == "rejected")
        with pq.ParquetFile(folder / shard["file"]) as file:
            for batch in file.iter_batches(_READ, columns=columns):
                for row in batch.to_pylist():
                    yield shard["config"], row


def _kind(run: Mapping[str, Any]) -> str:
    kind = str((run.get("inputs") or {}).get("writer"))
    return kind if kind in words("writers") else "a language model"


def _card(folder: Path, manifest: Mapping[str, Any], found: _Counts, origins: Sequence[str]) -> str:
    place = place_of(manifest)
    about = {
        "language": None,  # of which nothing is recorded
        "language_creators": ["machine-generated"]
        if {"a language model", "oracle"} >= set(found.kinds)
        else ["found"],
        "multilinguality": None,
        "task_categories": ["text-classification"],
        "task_ids": None,
        "tags": _TAGS,
    }
    runs = [
        {"key": code(key), "run": run, "kind": words("writers")[kind], **_chosen(run)}
        for (key, run), kind in zip(manifest["generations"].items(), found.kinds, strict=True)
    ]
    return templates().get_template("pairs.md.jinja").render(
        front_matter=front_matter(folder, manifest, origins, about),
        manifest=manifest,
        place=place,
        path="path/to/" + place.rpartition("/")[2],
        sources_named=source_names(manifest, origins),
        annotated=annotated(manifest),
        runs=runs,
        writers=_writers(found),
        senses=_senses(found),
        reasons=_reasons(found, manifest),
        samples=[
            f"**{plain(label)}** {code(row['arg1'])} ‖ {code(row['arg2'])}"
            for label, row in found.samples.items()
        ],
        columns=columns_of(folder, manifest, words("columns")),
        settings=settings_table(manifest),
        licences=[(code(name), n, terms(name)) for name, n in manifest["licenses"].items()],
        sources=notices(manifest, origins),
        bibtex=bibtex(manifest),
    )  # fmt: skip


def _chosen(run: Mapping[str, Any]) -> dict[str, Any]:
    """What a run's card says of its choice: k, the confusions, the filter, the model and its terms."""
    settings, inputs = run.get("settings", {}), run.get("inputs") or {}
    cells = [
        [code(true), code(predicted), errors, there]
        for true, predicted, errors, there in inputs.get("confusions", [])
    ]
    columns = ["sense", "taken for", "errors", "pairs of it in validation"]
    chosen = str(inputs.get("filter"))
    return {
        "k": settings.get("k"),
        "least": settings.get("least_errors"),
        "confusions": grid(columns, cells, names=2) if cells else None,
        "filter": chosen,
        "filter_words": words("filters").get(chosen, "not recorded"),
        "model": run.get("model"),
        "terms": settings.get("writer_license") or UNKNOWN,
        "any": settings.get("confused") == "random",
    }


def _writers(found: _Counts) -> str:
    rows = [
        [code(writer), counts["train"], counts["rejected"]]
        for writer, counts in sorted(found.writers.items())
    ]
    return grid(["writer", "rows in `default`", "in `rejected`"], rows)


def _senses(found: _Counts) -> str:
    every = sorted(found.labels.items(), key=lambda item: (-item[1], item[0]))
    whole = found.labels.total()
    rows = [
        [code(label), code(confused), count, f"{100 * count / whole:.1f} %"]
        for (label, confused), count in every
    ]
    return grid(["sense (`label`)", "taken for (`confused`)", "rows", "share"], rows, names=2)


def _reasons(found: _Counts, manifest: Mapping[str, Any]) -> str | None:
    whole = sum(manifest["rows"].values())
    rows = [
        [
            code(reason),
            plain(words("reasons").get(reason, "–")),
            count,
            f"{100 * count / whole:.2f} %",
        ]
        for reason, count in sorted(found.reasons.items(), key=lambda item: (-item[1], item[0]))
    ]
    return grid(["reason", "meaning", "rows", "of all rows"], rows, names=2) if rows else None
