"""``evaluation/metrics.json`` as the report reads it: accuracies and paired gains.

The systems of params.yaml and the paper's words for them (Tables 2 and 3).

A system is called after its generator, ``t5`` or a language model like ``t5-twins``; then, if its
reference spans are not the parser's, after those, ``t5-gold``; then after its variation,
``t5-twins-no-filter``. A folder of candidates is called after its model and its context,
``t5-twins-no-sync``, then likewise: ``t5-sync-gold``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.core.metrics import CRITERIA, Comparison
from pipeline.core.settings import family_of

BASELINE = "baseline"
GENERATORS = {"bert": "BERT", "t5": "T5"}
VARIATIONS = {"no-filter": "− filtering", "self-train": "− sync + self-train"}
"""Suffix of a system's name → the row of Table 3 it is; other suffixes are this project's own."""

_KINDS = {"twins": "adapted on twins", "more": "trained on", "gold": "spans from gold trees"}
"""Words of a generator's name after its family: what made its candidates otherwise."""

_PHRASES = {
    "no-filter": " without filtering",
    "self-train": " with self-training instead of synchronization",
}
_CONTEXTS = {"sync": "synchronized", "no-sync": "not synchronized"}
_FOLDER = re.compile(r"((?:bert|t5)(?:-[a-z0-9]+)*?)-(no-sync|sync)((?:-.+)?)")


def is_baseline(system: str) -> bool:
    """Whether a system is the baseline, or by its name one under other settings (``baseline-…``)."""
    return system == BASELINE or system.startswith(f"{BASELINE}-")


def parts_of(system: str) -> tuple[str, str | None] | None:
    """A system of params.yaml as (generator, variation): ``t5-no-filter`` → (t5, no-filter).

    What made other candidates belongs to the generator: ``t5-twins-no-filter`` → (t5-twins,
    no-filter). None for names this project does not know, and for the baseline.
    """
    family, *words = system.split("-")
    if family not in GENERATORS:
        return None
    count = next((n for n, word in enumerate(words) if word not in _KINDS), len(words))
    return "-".join([family, *words[:count]]), "-".join(words[count:]) or None


def varied(system: str) -> str | None:
    """The system that this one is to be compared with, because it changes one thing in it.

    A variation's generator; of a generator with a word after its family that without the last of
    them (``t5-twins`` → ``t5``). None for the paper's own method, the baseline and unknown names.
    """
    generator, variation = parts_of(system) or ("", None)
    return generator if variation else generator.rpartition("-")[0] or None


def variation_name(variation: str) -> str:
    """The row of Table 3 a variation is; one that the paper lacks, in the words of its suffix."""
    return VARIATIONS.get(variation, f"∗ {variation.replace('-', ' ')}")


def generator_name(generator: str) -> str:
    """A generator, or a language model, in words: ``t5-twins`` → T5 (adapted on twins)."""
    family, *kinds = generator.split("-")
    told = ", ".join(_KINDS.get(kind, kind) for kind in kinds)
    return GENERATORS.get(family, family) + (f" ({told})" if told else "")


def system_name(system: str) -> str:
    """The paper's words for a system; unknown names are shown as they are."""
    if system == BASELINE:
        return "baseline (no generation)"
    parts = parts_of(system)
    if parts is None:
        return system
    generator, variation = parts
    name = f"+ generation by {generator_name(generator)}"
    return f"{name}, {variation_name(variation)}" if variation else name


def short_name(system: str) -> str:
    """A system's name where there is little room, as beside a picture."""
    return system_name(system).replace("+ generation by ", "").replace(" (no generation)", "")


def beside(name: str) -> str:
    """A short name for beside a line or a row of a picture, where each letter is taken from the axes."""
    for words, word in (
        (_KINDS["twins"], "twins"),
        (_KINDS["gold"], "gold trees"),
        (", −", " −"),
        (", ∗", " ∗"),
    ):
        name = name.replace(words, word)
    return name


def system_phrase(system: str) -> str:
    """A system as it is called within a sentence."""
    if system == BASELINE:
        return "the baseline"
    parts = parts_of(system)
    if parts is None:
        return f"“{system}”"
    generator, variation = parts
    phrase = _PHRASES.get(variation, f" ({variation.replace('-', ' ')})") if variation else ""
    return f"generation by {generator_name(generator)}{phrase}"


def system_key(system: str) -> tuple[int, tuple[int, ...], int, str]:
    """Sorting key: the baseline, the paper's rows in the paper's order, then unknown names.

    A family's other generators follow its own rows, each before its variations.
    """
    parts = parts_of(system)
    if parts is None:
        return (0 if is_baseline(system) else 9), (), 0, system
    generator, variation = parts
    order = (None, *VARIATIONS)
    rank = order.index(variation) if variation in order else len(order)
    return (*_generator_key(generator), rank, system)


def variation_of(system: str) -> str | None:
    """The row of Table 3 a system is, or None for the baseline, a plain generator, or unknown."""
    parts = parts_of(system)
    return parts[1] if parts else None


def candidates_parts(folder: str) -> tuple[str, str, str] | None:
    """A folder of candidates as (language model, context, what else is otherwise).

    ``t5-twins-no-sync-sample`` → (t5-twins, no-sync, sample); ``gold`` stands before how fills are
    chosen: ``t5-sync-gold-sample`` → (t5, sync, gold-sample). None for names of another form.
    """
    found = _FOLDER.fullmatch(folder)
    return (found[1], found[2], found[3].removeprefix("-")) if found else None


def candidates_name(folder: str) -> str:
    """A folder of candidates in words: ``bert-no-sync`` → BERT, not synchronized."""
    parts = candidates_parts(folder)
    if parts is None:
        return folder
    model, context, rest = parts
    trees, _, decoding = rest.partition("-")
    if trees != "gold":
        trees, decoding = "", rest
    words = [
        generator_name(model),
        _CONTEXTS[context],
        _KINDS.get(trees),
        decoding.replace("-", " "),
    ]
    return ", ".join(word for word in words if word)


def candidates_key(folder: str) -> tuple[int, tuple[int, ...], int, str]:
    """Sorting key: families, in them their models, of each the synchronized; then unknown names."""
    parts = candidates_parts(folder)
    if parts is None:
        return 9, (), 0, folder
    return (*_generator_key(parts[0]), list(_CONTEXTS).index(parts[1]), folder)


def _generator_key(generator: str) -> tuple[int, tuple[int, ...]]:
    """Its family's place, and that of each word after it."""
    order = list(_KINDS)
    words = generator.split("-")[1:]
    ranks = tuple(order.index(word) if word in order else len(order) for word in words)
    return 1 + list(GENERATORS).index(family_of(generator)), ranks


FULL = "full"
"""Name of the draw of L that takes all there is."""

ENOUGH = 3
"""Seeds below which nothing is called more than noise: too few to bootstrap over."""


@dataclass(frozen=True, slots=True)
class Result:
    """One system at one |L|: fractions in [0, 1], or None where undefined, over seeds.

    ``mean`` and ``sd`` have the keys ``overall`` and ``CATEGORIES``; ``criteria`` gives
    (mean, sd) for each of ``CRITERIA``; ``by_seed`` the overall accuracy of each run.
    """

    system: str
    labelled: int
    mean: Mapping[str, float | None]
    sd: Mapping[str, float | None]
    criteria: Mapping[str, tuple[float | None, float | None]]
    by_seed: Mapping[int, float | None]


@dataclass(frozen=True, slots=True)
class Metrics:
    """``evaluation/metrics.json``; ``results`` by |L|, then in the order of Table 2."""

    split: str
    instances: Mapping[str, int]
    results: tuple[Result, ...]
    comparisons: tuple[Comparison, ...] = ()
    full: frozenset[int] = frozenset()
    """Every |L| that is all there is to draw, called ``full``."""

    @staticmethod
    def parse(document: Mapping[str, Any]) -> "Metrics":
        """Read the document; ``comparisons``, and the draws' names, may be missing from it.

        Raises:
            KeyError, TypeError: it is not what ``evaluate`` writes.
        """
        scores: dict[tuple[str, int], dict[int, float | None]] = {}
        for run in document["runs"]:
            cell = scores.setdefault((run["system"], run["labelled"]), {})
            cell[run["seed"]] = run["accuracy"]["overall"]
        results = [
            Result(
                system=entry["system"],
                labelled=entry["labelled"],
                mean=entry["mean"],
                sd=entry["sd"],
                criteria={
                    name: (entry["criteria"][name]["mean"], entry["criteria"][name]["sd"])
                    for name in CRITERIA
                },
                by_seed=scores[entry["system"], entry["labelled"]],
            )
            for entry in document["summary"]
        ]
        results.sort(key=lambda result: (result.labelled, system_key(result.system)))
        comparisons = tuple(
            Comparison(
                **{
                    **one,
                    "seeds": tuple(one["seeds"]),
                    "by_seed": tuple(one.get("by_seed", ())),
                }
            )
            for one in document.get("comparisons", ())
        )
        full = frozenset(e["labelled"] for e in document["summary"] if e.get("draw") == FULL)
        return Metrics(document["split"], document["instances"], tuple(results), comparisons, full)

    @property
    def sizes(self) -> list[int]:
        """Every |L|, in order."""
        return sorted({result.labelled for result in self.results})

    @property
    def main(self) -> int:
        """The |L| the report is about: most systems, then most runs; of equals the middle one.

        Raises:
            ValueError: there is no result.
        """
        weights = {
            size: (len(block), sum(len(result.by_seed) for result in block))
            for size in self.sizes
            for block in [self.block(size)]
        }
        best = [size for size, weight in weights.items() if weight == max(weights.values())]
        return best[(len(best) - 1) // 2]

    def label(self, labelled: int) -> str:
        """|L| as tables and axes name it: ``250``, or ``full (2,113)``."""
        return f"{FULL} ({labelled:,})" if labelled in self.full else f"{labelled:,}"

    def phrase(self, labelled: int) -> str:
        """|L| as it is called within a sentence."""
        count = f"{labelled:,} labelled sentence{'' if labelled == 1 else 's'}"
        return f"all {count}" if labelled in self.full else count

    def result(self, labelled: int, system: str) -> Result | None:
        """One system at one |L|; None where it was not run."""
        wanted = labelled, system
        return next((r for r in self.results if (r.labelled, r.system) == wanted), None)

    def block(self, labelled: int) -> list[Result]:
        """The results with so many labelled sentences."""
        return [result for result in self.results if result.labelled == labelled]

    def gain(self, labelled: int, system: str, against: str = BASELINE) -> Comparison | None:
        """The paired gain of one system over another; None where it was not computed."""
        wanted = labelled, system, against
        return next(
            (c for c in self.comparisons if (c.labelled, c.system, c.against) == wanted), None
        )

    def gains(self, results: Sequence[Result]) -> dict[str, Comparison]:
        """System → its gain over the baseline at its |L|, for those that have one."""
        found = {result.system: self.gain(result.labelled, result.system) for result in results}
        return {system: gain for system, gain in found.items() if gain}

    def ablations(self, labelled: int) -> dict[str, Comparison]:
        """Variation → its gain over the system that it varies, in the order of Table 3."""
        found = {}
        for result in self.block(labelled):
            other = varied(result.system)
            gain = self.gain(labelled, result.system, other) if other else None
            if gain:
                found[result.system] = gain
        return found


def more_than_noise(gain: Comparison) -> bool:
    """Whether the interval leaves 0 out, and enough seeds stand behind it to say so."""
    return gain.clear and len(gain.seeds) >= ENOUGH
