"""What a corpus folder tells of how it was made: counts, generation, runs, times, settings.

It also lists what differs from the paper, for the corpus at hand.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from pathlib import Path, PurePosixPath
from typing import Any

from pipeline.core.candidates import HARVESTED
from pipeline.core.corpus_folder import INGEST_RECORD
from pipeline.core.documents import read_json
from pipeline.core.families import FAMILY_FACTS, papers_families
from pipeline.core.markdown import percent
from pipeline.core.parquet import MANIFEST
from pipeline.core.runs import Run
from pipeline.core.tally import Tally
from pipeline.core.times import Times
from pipeline.core.types import SPLITS
from pipeline.report.examples import fill_statistics
from pipeline.report.forms import Counted, Ingested, Parsed, Selected, Selection
from pipeline.report.language_models import read_models
from pipeline.report.markdown import Row, Table, records_table
from pipeline.report.results import (
    FULL,
    full_method,
    generator_name,
    is_ours,
    is_papers_method,
    read_generation,
    short_name,
    system_key,
)
from pipeline.report.training_curves import examined

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
    path = corpus / INGEST_RECORD
    if not path.is_file():
        return None
    card = read_json(path, Ingested)
    splits, labels = card.get("splits", {}), card.get("labels", {})
    names = _ranked(splits, SPLITS)
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
    folders = _candidates(corpus)
    if not folders:
        return None
    tallies = {
        kind: Tally.merged(
            Tally.from_dict(read_json(f / MANIFEST, Counted)["tally"]) for f in found
        )
        for kind, found in folders.items()
    }
    fills = {kind: fill_statistics(folders[kind]) for kind in tallies}

    reasons = [reason for reason, _ in Tally.merged(tallies.values()).rows()[1:]]
    found = {
        kind: {
            "seeds": len(folders[kind]),
            "fills tried": tally.seen,
            "candidates": tally.kept,
            **{f"refused: {reason}": tally.refused[reason] for reason in reasons},
            "distinct fills, %": 100 * fills[kind].distinct / max(fills[kind].candidates, 1),
            "words per fill": fills[kind].fill_words,
            "words per reference span": fills[kind].reference_words,
        }
        for kind, tally in tallies.items()
    }
    names = next(iter(found.values()))
    records = [
        {"": name, **{kind: figures[name] for kind, figures in found.items()}} for name in names
    ]
    return records_table("Generation", records)


def selections(corpus: Path) -> list[tuple[str, str]]:
    """Of each kind of candidates that were chosen among others: (its name, from what and how).

    Rows are those of all seeds together, the distance to L is the mean over them, and the command that
    of the first.
    """
    found = {
        kind: [
            made for f in folders if (made := read_json(f / MANIFEST, Selected).get("selection"))
        ]
        for kind, folders in _candidates(corpus).items()
    }
    return [(kind, _chosen_of(each)) for kind, each in found.items() if each]


def _candidates(corpus: Path) -> dict[str, list[Path]]:
    """The folders of candidates, of all seeds, by the name of what made them."""
    folders: dict[str, list[Path]] = {}
    for path in sorted(corpus.glob(f"candidates/*/*/{MANIFEST}")):
        folders.setdefault(path.parent.parent.name, []).append(path.parent)
    return folders


def _chosen_of(made: Sequence[Selection]) -> str:
    sources: dict[str, Counter[str]] = {}
    left_out, distances = Counter[str](), []
    for selection in made:
        left_out.update(selection["left_out"])
        for given in selection["inputs"]:
            counts = sources.setdefault(PurePosixPath(given["place"]).parts[0], Counter())
            counts.update(looked_at=given["rows"]["train"], kept=given["kept"]["train"])
        if distance := selection.get("sample", {}).get("distance"):
            distances.append((distance["before"], distance["after"]))
    parts = ["; ".join(f"{c['kept']:,} of {c['looked_at']:,} from {n}" for n, c in sources.items())]
    if left_out := +left_out:
        parts.append(
            "left out: " + ", ".join(f"{reason} {n:,}" for reason, n in left_out.most_common())
        )
    if distances:
        before, after = (fsum(side) / len(distances) for side in zip(*distances, strict=True))
        parts.append(f"total-variation distance to L {before:.3f} before, {after:.3f} after")
    parts.append(made[0]["command"] + (f" and {len(made) - 1} more" if made[1:] else ""))
    return "; ".join(parts)


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
            "of the corpus, %": percent(examined(run, run.card), digits=1),
            "accepted": run.card.get("accepted"),
            "seconds": None if run.seconds is None else round(run.seconds),
        }
        for run in ordered
    ]
    return records_table("All runs", records) if records else None


def made(corpus: Path, runs: Sequence[Run]) -> list[tuple[str, str]]:
    """How it was made: (what, in words)."""
    facts = []
    if (corpus / "preparse.json").is_file():
        card = read_json(corpus / "preparse.json", Parsed)
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


_ENCODER = "bert-base-cased"
_NAMES = {
    "steps": "updates", "warm_steps": "updates on L alone", "eval_every": "updates between validations",
    "n_batch": "N_batch", "k": "K", "k_max": "K_max", "delta": "δ",
    "select": "weights kept", "weight": "λ",
}  # fmt: skip
_UNTOLD = {"candidates", "mode", "labelled", "seed", "encoder", "threads"}
"""Settings of a run that name things, or that other sentences tell of."""

_ALIKE = ("n_batch", "k", "k_max", "delta")


def differences(corpus: Path, runs: Sequence[Run]) -> list[str]:
    """One sentence or two for each thing that this corpus does otherwise than the paper."""
    facts = [
        _corpus(corpus),
        *_models(corpus),
        _chosen(corpus),
        _encoder(runs),
        _finite(runs),
        _training(runs),
        *_own(runs),
    ]
    return [fact for fact in facts if fact]


def _corpus(corpus: Path) -> str:
    path = corpus / INGEST_RECORD
    if not path.is_file():
        return ""
    card = read_json(path, Ingested)
    train = card.get("splits", {}).get("train", {}).get("sentences")
    size = f"{train:,} training sentences" if train else "its training sentences"
    if card.get("reader") == "world":
        return (
            f"The corpus is an artificial grammar’s English, {size} of it, not newspaper text: that is "
            "what makes an exact audit possible. Its sentences are simpler than the paper’s, so no "
            "accuracy here compares with one there; what compares is the order of the systems."
        )
    if card.get("reader") == "text":
        return ""
    return (
        f"The corpus has {size}; the paper uses the Penn Treebank (39,832) and GENIA (14,326), with "
        "250 and 500 labelled sentences and five runs."
    )


def _models(corpus: Path) -> list[str]:
    """How the generators came to be, where that is not the paper's way; one model of each name."""
    models = {model.name: model for model in reversed(read_models(corpus))}
    facts = []
    for name in _ranked(models, papers_families()):
        model, family = models[name], FAMILY_FACTS.get(name)
        ready, paper = (family and family.paper) or ("", "")
        if model.adapted:
            facts.append(
                f"{model.phrase}, which the paper does not have, goes on from "
                f"{model.card.get('base')} with twins of natural coordinations."
            )
        elif paper and not model.ready:
            facts.append(_trained(model.phrase, paper, model.card))
        elif paper and model.ready and not model.ready.endswith(ready):
            facts.append(f"{model.phrase} is {model.ready}; the paper’s generator is {paper}.")
    return facts


def _chosen(corpus: Path) -> str:
    """Which folders have fills that no model wrote, in sentences; empty if there are none."""
    made = [read_generation(corpus, name) for name in _candidates(corpus)]
    generations = sorted(made, key=lambda generation: generation.key)
    told = []
    if named := "; ".join(g.name for g in generations if g.fills == "attested"):
        told.append(
            f"The fills of some candidates ({named}) are not written by a model, as the paper’s are, but "
            "constituents of other sentences with the reference’s label, which a model at most ranks."
        )
    if named := "; ".join(g.name for g in generations if g.fills == HARVESTED):
        told.append(
            f"Some candidates ({named}) are not generated, as the paper’s are, but sentences of the "
            "training split with a coordination that a parser found."
        )
    return " ".join(told)


def _trained(generator: str, name: str, card: Mapping[str, Any]) -> str:
    texts = card.get("texts", {}).get("kept")
    size = f", {card['parameters']:,} parameters" if isinstance(card.get("parameters"), int) else ""
    origin = f"continued from {card['base']}" if card.get("base") else "trained here from scratch"
    on = f" on {texts:,} sentences" if texts else ""
    return (
        f"{generator} was {origin}{on}{size}; the paper’s generator is {name}, which has hundreds of "
        "millions of parameters and has read billions of words."
    )


def _encoder(runs: Sequence[Run]) -> str:
    used = sorted({str(run.card["settings"]["encoder"]) for run in runs
                   if "encoder" in run.card.get("settings", {})})  # fmt: skip
    if not used or all(name.endswith(_ENCODER) for name in used):
        return ""
    if used == ["models/bert"]:
        return "The predictor’s encoder is that same BERT; the paper’s is BERT-base-cased."
    return f"The predictor’s encoder is {', '.join(used)}; the paper’s is BERT-base-cased."


def _finite(runs: Sequence[Run]) -> str:
    """Generation comes first here, so a long training meets candidates again."""
    cards = [run.card for run in runs if run.mode == "filter"]
    known = [c for c in cards if isinstance(c.get("candidates"), int) and c["candidates"]]
    if not known:
        return ""
    pool = sum(c["candidates"] for c in known) / len(known)
    seen = sum(int(c.get("seen") or 0) for c in known) / len(known)
    return (
        "Candidates are generated before training, not during it, so U is finite: a run that filters "
        f"examined {seen:,.0f} on average out of {pool:,.0f} different ones."
    )


def _training(runs: Sequence[Run]) -> str:
    """Settings of training that are not the paper's, as each run records them."""
    told = [run for run in runs if run.mode == "filter" and is_papers_method(run.system)]
    unlike: dict[str, Any] = {}
    for run in told:
        unlike |= dict(run.card.get("paper", {}).get("unlike", ()))
    used = _settings(told)
    other = [
        f"{_name(key)} {', '.join(sorted(used[key]))} (paper: {_value(paper)})"
        for key, paper in unlike.items()
        if key in used and key not in _UNTOLD
    ]
    alike = dict.fromkeys(key for run in told for key in run.card.get("paper", {}).get("alike", ()))
    same = [
        f"{_name(key)} = {', '.join(used[key])}"
        for key in alike
        if key in used and key in _ALIKE and key not in unlike
    ]
    text = f"Training differs in {'; '.join(other)}. " if other else ""
    return f"{text}As in the paper: {', '.join(same)}." if same else text.strip()


def _own(runs: Sequence[Run]) -> list[str]:
    """What this project's own variations, which the paper lacks, do otherwise than their generator."""
    facts = []
    systems = sorted({run.system for run in runs}, key=system_key)
    for system in filter(is_ours, systems):
        full = full_method(system, systems)
        own, plain = (_settings([r for r in runs if r.system == name]) for name in (system, full))
        changed = [
            f"{_name(key)} {', '.join(sorted(own[key]))}"
            for key in own
            if key not in _UNTOLD and key in plain and own[key] != plain[key]
        ]
        if changed:
            facts.append(
                f"{short_name(system)}, which the paper does not have, differs from "
                f"{generator_name(system)} in {'; '.join(changed)}."
            )
    return facts


def _settings(runs: Iterable[Run]) -> dict[str, set[str]]:
    """All values that some runs had of each setting."""
    found: dict[str, set[str]] = {}
    for run in runs:
        for key, value in run.card.get("settings", {}).items():
            found.setdefault(key, set()).add(_value(value))
    return found


def _name(key: str) -> str:
    return _NAMES.get(key, key.replace("_", " "))


def _value(value: object) -> str:
    if value is None:
        return "unset"
    return f"{value:,}" if isinstance(value, int | float) else str(value)


_ORDER = ("ingest", "pretrain", "preparse", "generate", "train", "evaluate", "audit", "report")


def times_table(corpus: Path) -> Table | None:
    """Cells, seconds and CPU seconds by stage; None where nothing was recorded for this corpus.

    Raises:
        InputError: the file is not what ``repro`` writes.
    """
    path = corpus.resolve().parent / "times.json"  # `repro` keeps it beside the corpus folders
    if not path.is_file():
        return None
    document = read_json(path, Times, remedy="remove it")
    folder = f"data/{corpus.resolve().name}/"  # a word of the command, or what one begins with
    cells = [
        cell for cell in document.values()
        if any(f"{word}/".startswith(folder) for word in cell["command"].split())
    ]  # fmt: skip
    stages = _ranked({cell["stage"] for cell in cells}, _ORDER)
    rows = [_row(stage, [c for c in cells if c["stage"] == stage]) for stage in stages]
    if not rows:
        return None
    return Table(
        "Run times",
        ("Stage", "cells", "seconds", "CPU seconds"),
        (*rows, _row("all", cells, begins=True)),
        note="Each cell as it last ran before this page was written; cells run side by side.",
    )


def _row(name: str, cells: list[Mapping[str, Any]], *, begins: bool = False) -> Row:
    seconds = sum(cell["seconds"] for cell in cells)
    known = [cell["cpu_seconds"] for cell in cells if "cpu_seconds" in cell]
    cpu = f"{sum(known):,.0f}" if len(known) == len(cells) else "–"
    return Row((name, f"{len(cells):,}", f"{seconds:,.0f}", cpu), begins=begins)
