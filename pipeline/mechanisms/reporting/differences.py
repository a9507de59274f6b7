"""What differs from the paper and what the filter did, in sentences true of the corpus at hand."""

from collections.abc import Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

from pipeline.ground.files import read_json
from pipeline.mechanisms.comparison import Comparison
from pipeline.mechanisms.reporting.audits import Audit
from pipeline.mechanisms.reporting.findings import gain_words
from pipeline.mechanisms.reporting.paper_tables import points
from pipeline.mechanisms.reporting.results import Metrics, more_than_noise
from pipeline.mechanisms.reporting.runs import Run
from pipeline.mechanisms.reporting.systems import GENERATORS
from pipeline.settings.train import Train

__all__ = ["differences", "filter_facts"]

_PAPERS = {"bert": ("bert-large-cased", "BERT-large-cased"), "t5": ("t5-large", "T5-large")}
_ENCODER = "bert-base-cased"
_SETTINGS = {
    "steps": "updates", "warm_steps": "updates on L alone", "learning_rate": "learning rate",
    "patience": "patience", "eval_every": "updates between validations", "n_batch": "N_batch",
    "k": "K", "k_max": "K_max", "delta": "δ",
}  # fmt: skip
_ENOUGH = 20  # judged candidates, below which nothing is said of their share
_ALIKE = ("n_batch", "k", "k_max", "delta")


def differences(corpus: Path, runs: Sequence[Run]) -> list[str]:
    """One sentence or two for each thing that this corpus does otherwise than the paper."""
    facts = [_corpus(corpus), *_models(corpus), _encoder(runs), _finite(runs), _training(runs)]
    return [fact for fact in facts if fact]


def filter_facts(metrics: Metrics, audit: Audit | None, runs: Sequence[Run]) -> list[str]:
    """For each generator at the main |L|: whether its filter cleans, and whether it costs."""
    size, facts = metrics.main, []
    filtering = {run.system for run in runs if run.mode == "filter" and run.labelled == size}
    for generator, name in GENERATORS.items():
        if generator not in filtering:
            continue
        entry = next(
            (e for e in (audit.filtered(size) if audit else ()) if e["system"] == generator), None
        )
        parts = [_cleans(entry), _prefers(entry)] if entry else []
        without = metrics.gain(size, f"{generator}-no-filter", generator)
        if without:
            parts.append(_costs(without))
        parts = [part for part in parts if part]
        if parts:
            facts.append(
                f"The filter on candidates of {name}. {' '.join(_sentence(p) for p in parts)}"
            )
    return facts


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _corpus(corpus: Path) -> str:
    path = corpus / "ingest.json"
    if not path.is_file():
        return ""
    card = read_json(path)
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
    """How the generators came to be, where that is not the paper's way."""
    facts = []
    for generator, (ready, name) in _PAPERS.items():
        paths = sorted((corpus / "models" / generator).glob("**/pretrain.json"))
        if paths:
            facts.append(_trained(GENERATORS[generator], name, read_json(paths[0])))
        for path in sorted((corpus / "models" / generator).glob("**/ready.json"))[:1]:
            used = str(read_json(path).get("name", "unknown"))
            if not used.endswith(ready):
                facts.append(f"{GENERATORS[generator]} is {used}; the paper’s generator is {name}.")
    return facts


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
    """Settings of training that are not the paper's, which are the defaults of ``train``."""
    cards = [run.card.get("settings", {}) for run in runs if run.mode == "filter"]
    if not cards:
        return ""
    other, same = [], []
    for key, name in _SETTINGS.items():
        paper = Train.model_fields[key].default
        used = sorted({card[key] for card in cards if key in card})
        if used and used != [paper]:
            values = ", ".join(f"{value:,}" for value in used)
            other.append(f"{name} {values} (paper: {paper:,})")
        elif used and key in _ALIKE:
            same.append(f"{name} = {paper}")
    told = f"Training differs in {'; '.join(other)}. " if other else ""
    return f"{told}As in the paper: {', '.join(same)}." if same else told.strip()


def _cleans(entry: Mapping[str, Any]) -> str:
    """Whether more is right among the accepted, by two standard errors of the difference at least."""
    accepted, rejected = entry["accepted"], entry["rejected"]
    sizes = accepted["judged"], rejected["judged"]
    if min(sizes) < _ENOUGH:
        counts = f"{sizes[0]:,} accepted and {sizes[1]:,} rejected"
        return f"whether it cleans is open: the sample has {counts}"
    shares = accepted["right"], rejected["right"]
    error = sqrt(sum(p * (1 - p) / n for p, n in zip(shares, sizes, strict=True)))
    difference = shares[0] - shares[1]
    verdict = "whether it cleans is open"
    if abs(difference) > 2 * error:
        verdict = "it cleans" if difference > 0 else "it keeps the wrong ones"
    return (
        f"{verdict}: {100 * shares[0]:.1f} % of the {sizes[0]:,} accepted annotations in the sample are "
        f"right, against {100 * shares[1]:.1f} % of the {sizes[1]:,} rejected"
    )


def _prefers(entry: Mapping[str, Any]) -> str:
    """Which labels the filter lets in most and least often."""
    shares = sorted(
        (figures["acceptance"], label)
        for label, figures in entry["by_label"].items()
        if figures["judged"] >= _ENOUGH
    )
    if len(shares) < 2:
        return ""
    (least, last), (most, first) = shares[0], shares[-1]
    return f"it lets in {first} most often ({100 * most:.1f} %) and {last} least often ({100 * least:.1f} %)"


def _costs(without: Comparison) -> str:
    """``without`` is the gain of training without the filter over training with it."""
    verdict = "it costs accuracy" if without.gain > 0 else "it raises accuracy"
    if not more_than_noise(without):
        verdict = "whether it costs accuracy is open"
    return (
        f"{verdict}: leaving it out changes the overall figure by {points(without.gain)} points "
        f"({gain_words(without)})"
    )
