"""The systems of params.yaml and the paper's words for them (Tables 2 and 3)."""

__all__ = [
    "BASELINE",
    "GENERATORS",
    "VARIATIONS",
    "candidates_name",
    "is_baseline",
    "parts_of",
    "short_name",
    "system_key",
    "system_name",
    "system_phrase",
    "variation_name",
    "variation_of",
]

BASELINE = "baseline"
GENERATORS = {"bert": "BERT", "t5": "T5"}
VARIATIONS = {"no-filter": "− filtering", "self-train": "− sync + self-train"}
"""Suffix of a system's name → the row of Table 3 it is; other suffixes are this project's own."""

_PHRASES = {
    "no-filter": " without filtering",
    "self-train": " with self-training instead of synchronization",
}


def is_baseline(system: str) -> bool:
    """Whether a system is the baseline, or by its name one under other settings (``baseline-…``)."""
    return system == BASELINE or system.startswith(f"{BASELINE}-")


def parts_of(system: str) -> tuple[str, str | None] | None:
    """A system of params.yaml as (generator, variation): ``t5-no-filter`` → (t5, no-filter).

    None for names this project does not know, and for the baseline.
    """
    generator, _, variation = system.partition("-")
    return (generator, variation or None) if generator in GENERATORS else None


def variation_name(variation: str) -> str:
    """The row of Table 3 a variation is; one that the paper lacks, in the words of its suffix."""
    return VARIATIONS.get(variation, f"∗ {variation.replace('-', ' ')}")


def system_name(system: str) -> str:
    """The paper's words for a system; unknown names are shown as they are."""
    if system == BASELINE:
        return "baseline (no generation)"
    parts = parts_of(system)
    if parts is None:
        return system
    generator, variation = parts
    name = f"+ generation by {GENERATORS[generator]}"
    return f"{name}, {variation_name(variation)}" if variation else name


def short_name(system: str) -> str:
    """A system's name where there is little room, as beside a picture."""
    return system_name(system).replace("+ generation by ", "").replace(" (no generation)", "")


def system_phrase(system: str) -> str:
    """A system as it is called within a sentence."""
    if system == BASELINE:
        return "the baseline"
    parts = parts_of(system)
    if parts is None:
        return f"“{system}”"
    generator, variation = parts
    phrase = _PHRASES.get(variation, f" ({variation.replace('-', ' ')})") if variation else ""
    return f"generation by {GENERATORS[generator]}{phrase}"


def system_key(system: str) -> tuple[int, int, str]:
    """Sorting key: the baseline, the paper's rows in the paper's order, then unknown names."""
    parts = parts_of(system)
    if parts is None:
        return (0 if is_baseline(system) else 9), 0, system
    order = (None, *VARIATIONS)
    rank = order.index(parts[1]) if parts[1] in order else len(order)
    return 1 + list(GENERATORS).index(parts[0]), rank, system


def variation_of(system: str) -> str | None:
    """The row of Table 3 a system is, or None for the baseline, a plain generator, or unknown."""
    parts = parts_of(system)
    return parts[1] if parts else None


def candidates_name(folder: str) -> str:
    """A folder of candidates in words: ``bert-no-sync`` → BERT, not synchronized."""
    generator, _, context = folder.partition("-")
    if generator not in GENERATORS:
        return folder
    for prefix, words in (("no-sync", "not synchronized"), ("sync", "synchronized")):
        if context == prefix or context.startswith(f"{prefix}-"):
            rest = context.removeprefix(prefix).removeprefix("-").replace("-", " ")
            return f"{GENERATORS[generator]}, {words}" + (f", {rest}" if rest else "")
    return folder
