"""The documents of a release of new argument pairs, and among them README.md, its dataset card."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.core.corpora import RELATIONS
from pipeline.core.markdown import code, grid, plain, printable
from pipeline.corpus.licences import UNKNOWN
from pipeline.release.kinds.card import (
    reasons_table,
    rows_of_release,
    said,
    write_kind_documents,
)

_OF_A_ROW = (
    "Each row has in its column `license` the licence of its source pair and, where a language model wrote "
    "for it, the terms on what that writes, joined by AND."
)
_TAGS = ["discourse-relations", "implicit-relations", "synthetic", "conjoin"]
_WRITTEN = "A sense is the one that a pair was written for, not one that people gave it."
_ATTESTED = (
    "A sense is the one that people gave a pair with its connective; it may have another without."
)
_CONFUSED = "What a model confuses was counted on the validation pairs of one draw."
_READ = ("writer", "sentence_id", "label", "confused", "arg1", "arg2")


def words(what: str) -> dict[str, str]:
    """A part of ``relations.yaml``: ``columns``, ``reasons`` of rejects, ``filters`` or ``writers``."""
    found: dict[str, str] = said(RELATIONS)[what]
    return found


def write_pair_documents(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write README.md, LICENSE, CITATION.cff and croissant.json; the same input gives the same bytes.

    Args:
        folder: of the release, whose shards and ``manifest.json`` stand.
        manifest: what ``manifest.json`` holds.

    Raises:
        InputError: the folder cannot be written to.
    """
    manifest = printable(manifest)
    found = _Counts(folder, manifest)
    written = "; ".join(dict.fromkeys(words("writers")[kind] for kind in found.kinds))
    runs = [
        {"key": code(key), "run": run, "kind": words("writers")[kind], **_chosen(run)}
        for (key, run), kind in zip(manifest["generations"].items(), found.kinds, strict=True)
    ]
    attested, made = "attested" in found.kinds, set(found.kinds) != {"attested"}
    of_any = all(run["any"] for run in runs)
    limits = [_ATTESTED] * attested + [_WRITTEN] * made + [_CONFUSED] * (not of_any)
    write_kind_documents(
        folder, manifest, printable(sorted(found.origins)), template="pairs.md.jinja",
        front={
            "language": None,  # of which nothing is recorded
            "annotations_creators": ["found"] * attested + ["machine-generated"] * made,
            "language_creators": ["found"] if attested else ["machine-generated"],
            "multilinguality": None,
            "task_categories": ["text-classification"],
            "task_ids": None,
            "tags": _TAGS,
        },
        facts={
            "runs": runs,
            "attested": attested,
            "any": of_any,
            "writers": _writers(found),
            "senses": _senses(found),
            "reasons": reasons_table(found.reasons, manifest, words("reasons")),
            "samples": [
                f"**{plain(label)}** {code(row['arg1'])} ‖ {code(row['arg2'])}"
                for label, row in found.samples.items()
            ],
        },
        texts={
            "of_a_row": _OF_A_ROW,
            "changes": f"made new pairs of argument pairs: {written}",
            "abstract": "Argument pairs of discourse relations without a connective, "
            + ("of any sense." if of_any else "made for senses that a model takes for others."),
            "keywords": ["discourse relations", "synthetic data"],
            "columns": words("columns"),
            "verb": "synthesize",
            "collection": f"Argument pairs of a corpus became new ones: {written}.",
            "limits": limits,
        },
    )  # fmt: skip


class _Counts:
    """What the rows of a release come to.

    Attributes:
        labels: usable pairs by sense and what it is taken for.
        writers: rows by writer, usable and refused.
        reasons: rejects by reason.
        origins: what the ids of source pairs begin with.
        samples: the first row of each sense.
        kinds: what kind of writer each run has, a key of ``writers`` in ``relations.yaml``.
    """

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.labels, self.reasons = Counter[tuple[str, str]](), Counter[str]()
        self.writers: dict[str, Counter[str]] = {}
        self.origins: set[str] = set()
        self.samples: dict[str, Mapping[str, Any]] = {}
        for config, row in rows_of_release(folder, manifest, _READ):
            self.writers.setdefault(row["writer"], Counter())[config] += 1
            self.origins.add(row["sentence_id"].partition("/")[0])
            if config == "rejected":
                self.reasons[row["reason"]] += 1
                continue
            self.labels[row["label"], row["confused"] or ""] += 1
            self.samples.setdefault(row["label"], row)
        self.kinds = [_kind(run) for run in manifest["generations"].values()]


def _kind(run: Mapping[str, Any]) -> str:
    kind = str((run.get("inputs") or {}).get("writer"))
    return kind if kind in words("writers") else "a language model"


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
