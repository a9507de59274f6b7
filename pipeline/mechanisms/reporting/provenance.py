"""What a corpus folder tells of how it was made: counts, generation, runs, models."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.ground.files import read_json
from pipeline.ground.tally import Tally
from pipeline.mechanisms.reporting.examples import fill_statistics
from pipeline.mechanisms.reporting.results import FULL
from pipeline.mechanisms.reporting.runs import Run
from pipeline.mechanisms.reporting.systems import short_name, system_key
from pipeline.mechanisms.reporting.tables import Table, percent, records_table

__all__ = ["corpus_table", "generation_table", "made", "runs_table"]

_SPLITS = ("train", "dev", "test")
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
    path = corpus / "ingest.json"
    if not path.is_file():
        return None
    card = read_json(path)
    splits, labels = card.get("splits", {}), card.get("labels", {})
    names = _ranked(splits, _SPLITS)
    counts = {key for name in names for key in splits[name]}
    records = [
        {"": key.replace("_", " "), **{name: splits[name].get(key, 0) for name in names}}
        for key in _ranked(counts, _COUNTS)
    ]
    totals = Counter[str]()
    for name in names:
        totals.update(labels.get(name, {}))
    for label, _ in sorted(totals.items(), key=lambda item: (-item[1], item[0])):
        counted = {name: labels.get(name, {}).get(label, 0) for name in names}
        records.append({"": f"evaluable: {label}", **counted})
    notes = []
    for key, what in (("unlabelled_seeds", "Unlabelled seeds U"), ("refused", "Refused")):
        found = card.get(key) or {}
        if found:
            listed = (f"{n.replace('_', ' ')} {found[n]:,}" for n in _ranked(found, _SEEDS))
            notes.append(f"{what}: {', '.join(listed)}.")
    return records_table("The corpus", records, note=" ".join(notes)) if records else None


def _ranked(keys: Iterable[str], order: Sequence[str]) -> list[str]:
    """Known keys in a known order (JSON keeps none), then the others by name."""
    return sorted(keys, key=lambda key: (order.index(key) if key in order else len(order), key))


def generation_table(corpus: Path) -> Table | None:
    """Kept and refused candidates of each kind, all seeds together, and how varied the fills are."""
    manifests = sorted((corpus / "candidates").glob("*/*/manifest.json"))
    kinds = sorted({path.parent.parent.name for path in manifests})
    columns = {}
    reasons = Tally()
    for kind in kinds:
        folders = [path.parent for path in manifests if path.parent.parent.name == kind]
        tallies = []
        for folder in folders:
            counts = read_json(folder / "manifest.json")["tally"]
            tally = Tally(kept=counts["kept"])
            tally.refused.update(counts["refused"])
            tallies.append(tally)
        total, fills = Tally.merged(tallies), fill_statistics(folders)
        reasons.refused.update(total.refused)
        columns[kind] = {
            "seeds": len(folders),
            "fills tried": total.seen,
            "candidates": total.kept,
            **{f"refused: {reason}": count for reason, count in total.refused.items()},
            "distinct fills, %": 100 * fills.distinct / max(fills.candidates, 1),
            "words per fill": fills.fill_words,
            "words per reference span": fills.reference_words,
        }
    if not columns:
        return None
    refused = [f"refused: {reason}" for reason, _ in reasons.rows()[1:]]
    lines = ["seeds", "fills tried", "candidates", *refused,
             "distinct fills, %", "words per fill", "words per reference span"]  # fmt: skip
    records = [{"": line, **{kind: columns[kind].get(line, 0) for kind in kinds}} for line in lines]
    return records_table("Generation", records)


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
            "of the corpus, %": _share(run.card),
            "accepted": run.card.get("accepted"),
            "seconds": None if run.seconds is None else round(run.seconds),
        }
        for run in ordered
    ]
    return records_table("All runs", records) if records else None


def _share(card: Mapping[str, Any]) -> str:
    """How much of its candidates a run examined."""
    distinct, pool = card.get("distinct"), card.get("candidates")
    return f"{100 * distinct / pool:.1f}" if pool and distinct is not None else "–"


def made(corpus: Path, runs: Sequence[Run]) -> list[tuple[str, str]]:
    """How it was made: (what, in words)."""
    facts = []
    if (corpus / "preparse.json").is_file():
        card = read_json(corpus / "preparse.json")
        kept = card.get("unlabelled", {}).get("kept")
        text = f"{card.get('parser', 'unknown')}" + ("" if kept is None else f"; {kept:,} trees")
        if training := card.get("training"):
            tags = "the treebank's tags" if training.get("tags") == "treebank" else "no tags"
            text += f"; bracket F1 {100 * training['f1']:.2f} % on dev" if "f1" in training else ""
            text += (
                f"; learnt from {training.get('trees', 0):,} gold trees of training sentences "
                f"outside U, most of them not in L, and read {tags}"
            )
        facts.append(("parser", text))
    for path in sorted((corpus / "models").glob("*/seed-*/*.json")):
        if path.name in {"pretrain.json", "ready.json"}:
            facts.append(
                (
                    f"language model {path.parent.parent.name}, {path.parent.name}",
                    _model(read_json(path)),
                )
            )
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


def _model(card: dict[str, Any]) -> str:
    if "name" in card:
        return f"{card['name']}, used as it is"
    parts = [f"continued from {card['base']}" if card.get("base") else "trained here from scratch"]
    parts += [
        f"{card[key]:,} {word}"
        for key, word in (("parameters", "parameters"), ("steps", "updates"), ("tokens", "tokens"))
        if isinstance(card.get(key), int)
    ]
    loss = card.get("validation_loss")
    return "; ".join(parts + ([] if loss is None else [f"validation loss {loss:.3f}"]))
