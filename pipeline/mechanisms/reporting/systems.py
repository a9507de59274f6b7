"""The systems of params.yaml and the paper's words for them (Tables 2 and 3)."""

__all__ = [
    "BASELINE",
    "GENERATORS",
    "VARIATIONS",
    "parts_of",
    "system_key",
    "system_name",
    "system_phrase",
    "variation_of",
]

BASELINE = "baseline"
GENERATORS = {"bert": "BERT", "t5": "T5"}
VARIATIONS = {"no-filter": "− filtering", "self-train": "− sync + self-train"}
"""Suffix of a system's name → the row of Table 3 it is."""

_PHRASES = {
    None: "",
    "no-filter": " without filtering",
    "self-train": " with self-training instead of synchronization",
}


def parts_of(system: str) -> tuple[str, str | None] | None:
    """A system of params.yaml as (generator, variation): ``t5-no-filter`` → (t5, no-filter).

    None for names this project does not know, and for the baseline.
    """
    for generator in GENERATORS:
        for variation in (None, *VARIATIONS):
            if system == (f"{generator}-{variation}" if variation else generator):
                return generator, variation
    return None


def system_name(system: str) -> str:
    """The paper's words for a system; unknown names are shown as they are."""
    if system == BASELINE:
        return "baseline (no generation)"
    parts = parts_of(system)
    if parts is None:
        return system
    generator, variation = parts
    name = f"+ generation by {GENERATORS[generator]}"
    return f"{name}, {VARIATIONS[variation]}" if variation else name


def system_phrase(system: str) -> str:
    """A system as it is called within a sentence."""
    if system == BASELINE:
        return "the baseline"
    parts = parts_of(system)
    if parts is None:
        return f"“{system}”"
    return f"generation by {GENERATORS[parts[0]]}{_PHRASES[parts[1]]}"


def system_key(system: str) -> tuple[int, int, str]:
    """Sorting key: the baseline, the paper's rows in the paper's order, then unknown names."""
    parts = parts_of(system)
    if system == BASELINE or parts is None:
        return (0 if system == BASELINE else 9), 0, system
    order = (None, *VARIATIONS)
    return 1 + list(GENERATORS).index(parts[0]), order.index(parts[1]), system


def variation_of(system: str) -> str | None:
    """The row of Table 3 a system is, or None for the baseline, a plain generator, or unknown."""
    parts = parts_of(system)
    return parts[1] if parts else None
