"""``evaluation/metrics.json`` as the report reads it, and the paper's words for systems (Tables 2, 3)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from pipeline.core.annotation import (
    Annotation,
    Part,
    described,
    joined,
    of_seeds,
    shared_level,
    unknown,
)
from pipeline.core.candidates import HARVESTED, is_proposed
from pipeline.core.cards.candidates import CandidatesManifest
from pipeline.core.cards.evaluation import measured_on
from pipeline.core.cards.models import PretrainCard
from pipeline.core.comparison import Comparison
from pipeline.core.corpora import COORDINATION
from pipeline.core.documents import read_json
from pipeline.core.families import FAMILY_FACTS, family_of, is_model_name, papers_families
from pipeline.core.runs import ALONE, ANY, ELSE, NO_AUGMENTATION, NO_GENERATOR, TOGETHER, System
from pipeline.core.types import CATEGORIES, FURTHER_CATEGORIES, REST
from pipeline.report.figure_words import FigureWords, words_of

VARIATIONS = {"no-filter": "− filtering", "self-train": "− sync + self-train"}
"""The paper's variations → their row in Table 3; others are this project's own."""

_PHRASES = {
    "no-filter": " without filtering",
    "self-train": " with self-training instead of synchronization",
}


def is_papers(system: System) -> bool:
    """Whether it is one of the paper's methods with generation, or of their variations."""
    titles = [FAMILY_FACTS[family].title for family in papers_families()]
    named = system.generator in titles and not system.caption
    return named and not is_ours(system) and system.combined is None


def is_papers_method(system: System) -> bool:
    """Whether it is the paper's full method with one of its two generators."""
    return is_papers(system) and system.variation is None


def is_ours(system: System) -> bool:
    """Whether it is a variation that the paper does not have."""
    return system.variation is not None and system.variation not in VARIATIONS


def full_method(system: System, others: Iterable[System]) -> System | None:
    """The one of ``others`` that this system adds a variation, or else a caption, to; None if absent.

    Of a variation that is the full method on the same candidates.
    """
    found = (other for other in others if system.varies(other))
    return next((o for o in found if not system.variation or o.apart == system.apart), None)


def generates(system: System) -> bool:
    """Whether a verdict is about it: it learned from candidates, or from variants of L without a parser."""
    return system.has_candidates or (system.has_variants and system.combined is None)


def baseline_of(systems: Iterable[System]) -> System | None:
    """The baseline that gains are over: of several the first by name without a variation."""
    found = [system for system in systems if system.is_baseline]
    return min(found, key=lambda system: (system.variation is not None, system), default=None)


def variation_name(variation: str) -> str:
    """The row of Table 3 a variation is; one that the paper lacks, in its own words."""
    return VARIATIONS.get(variation, f"∗ {variation.replace('-', ' ')}")


def generator_name(system: System) -> str:
    """What made a system's candidates, in words: T5 (adapted on twins)."""
    return f"{system.generator}" + (f" ({system.caption})" if system.caption else "")


def short_name(system: System) -> str:
    """A system's name where there is little room, as beside a picture; without fields, as it is called."""
    return system.called(_own_name(system))


def _own_name(system: System) -> str:
    """The name of a system's predictor."""
    if system.generator is None:
        return system.predictor
    name = generator_name(system)
    if system.generator == NO_GENERATOR:
        name = name.replace(NO_GENERATOR, "baseline", 1)
    return f"{name}, {variation_name(system.variation)}" if system.variation else name


def system_name(system: System) -> str:
    """The paper's words for a system; one without fields is shown as it is called."""
    name = short_name(system)
    if system.combined is not None:
        return name
    if system.generator == NO_GENERATOR:
        return name.replace("baseline", "baseline (no generation)", 1)
    return f"+ generation by {name}" if system.generator else name


def label_name(system: System) -> str:
    """The shortest name, for labels of lines and rows in a chart, so that the axes get more room.

    Of a caption, what it is about: "twins" of "adapted on twins", "gold trees" of "spans from gold trees",
    "BERT" of "ranked by BERT".
    """
    name = short_name(system)
    for word in (" on ", " from ", " by "):
        subject = (system.caption or "").partition(word)[2]
        name = name.replace(system.caption, subject) if system.caption and subject else name
    return name.replace(", −", " −").replace(", ∗", " ∗")


def system_phrase(system: System) -> str:
    """A system as it is called within a sentence."""
    if system.combined == ALONE:
        return f"the parser {system.parser} alone"
    if system.generator is None:
        name = f"“{system.predictor}”"
    elif system.generator == NO_GENERATOR:
        name = "the baseline" + (f" ({system.caption})" if system.caption else "")
    else:
        name = f"generation by {generator_name(system)}"
    variation = system.variation
    if variation:
        name += _PHRASES.get(variation, f" ({variation.replace('-', ' ')})")
    if system.combined is None:
        return name
    how = "else" if system.combined == ELSE else "by τ"
    return f"{name} beside the parser {system.parser} ({how})"


_WAYS = (None, ALONE, ELSE, TOGETHER)


def system_key(system: System) -> tuple[int, str, bool, int, int, str]:
    """Sorting key: baselines, the paper's rows in the paper's order, then systems without fields.

    A generator's other candidates follow its own rows, by caption, each before its variations; the
    control of a caption follows it, and that of every caption stands where the generator's own would. What
    stands beside a parser follows the predictor alone, and a parser alone the baseline.
    """
    rows, known = (None, *VARIATIONS), [facts.title for facts in FAMILY_FACTS.values()]
    place = 8 if system.generator else 9
    if not system.has_candidates and system.augment == NO_AUGMENTATION:
        place = 0
    elif system.generator in known:
        place = 1 + known.index(system.generator)
    rank = rows.index(system.variation) if system.variation in rows else len(rows)
    control = system.control_of not in (None, ANY)
    caption = (system.control_of if control else system.apart) or ""
    return place, caption, control, rank, _WAYS.index(system.combined), system


def model_system(name: str, card: Mapping[str, Any]) -> System:
    """A language model as a generator, from its ``pretrain.json`` (empty for one that is ready).

    One that goes on from another model of the corpus is called after what it learnt; where the card
    tells no difference from the family's first model, after the rest of its name.
    """
    family = family_of(name)
    caption = name.removeprefix(family).lstrip("-").replace("-", ", ")
    if card.get("objective") == "twins":
        caption = "adapted on twins"
    elif str(card.get("base")).startswith("models/"):
        caption = "trained on"
    shown = {"caption": caption} if caption else {}
    return System.of_row(
        {"system": name, "shown_as": {"generator": FAMILY_FACTS[family].title, **shown}}
    )


class Generation(NamedTuple):
    """A folder of candidates: its ``name`` in words (``BERT, not synchronized``) and its sorting ``key``.

    ``fills`` says where they come from: ``free``, written by the model, unless the manifest says otherwise.
    Generators stand in order, the synchronized fills of each first; then fills that they chose instead of
    wrote, unranked ones first; then folders of which nothing is known, which are called as they are.
    """

    folder: str
    name: str
    key: tuple[Any, ...]
    fills: str = "free"


def _harvested_from(settings: Mapping[str, Any]) -> str:
    """Whose trees harvested coordinations were read off."""
    if settings.get("parser") == "treebank":
        return "trees that the text came with"
    if trees := settings.get("trees"):
        return f"parser of the trees {trees}"
    if settings.get("parser") == "labelled":
        return f"parser of the {settings.get('labelled', '?')} labelled trees"
    return "parser of the corpus's trees"


def read_generation(corpus: Path, folder: str) -> Generation:
    """What made the folder ``candidates/FOLDER``, from a manifest in it and its model's card."""
    for manifest in sorted((corpus / "candidates" / folder).glob("*/manifest.json")):
        about: CandidatesManifest = read_json(manifest, CandidatesManifest)
        settings = about.get("settings", {})
        if settings.get("fills") == HARVESTED:
            name = f"{HARVESTED}, {_harvested_from(settings)}"
            return Generation(folder, name, (5, 0, "", False, False, [], folder), HARVESTED)
        if not is_model_name(lm := settings.get("lm")):
            continue
        cards = sorted((corpus / "models" / lm).glob("**/pretrain.json"))
        model = model_system(lm, read_json(cards[0], PretrainCard) if cards else {})
        rest = []
        if (trees := settings.get("trees")) not in {None, "parsed"}:
            rest += [f"spans from {'gold trees' if trees == 'treebank' else f'the trees {trees}'}"]
        rest += [
            str(said).replace("-", " ")
            for said, papers in (
                (settings.get("decoding", "greedy"), "greedy"),
                (settings.get("synchronize", "min"), "min"),
            )
            if said != papers
        ]
        if words := settings.get("coordinators"):
            rest += [f"coordinators {words.replace(',', ', ')}"]
        rest += ["conjuncts like L"] if settings.get("arity", "two") != "two" else []
        rest += ["by errors"] if about.get("inputs", {}).get("targets") else []
        apart = not settings.get("sync")
        way = "not synchronized" if apart else "synchronized"
        if is_proposed(about):  # in one order each, and ranked in both
            way = "proposed in one order" if apart else "proposed"
        named, group = [generator_name(model), way], 0
        if (fills := settings.get("fills", "free")) != "free":
            matched = {"head": ["same head"], "features": ["same head and features"]}
            rest += matched.get(settings.get("match", "label"), [])
            rest += [f"ranked by {ranking}"] if (ranking := settings.get("ranking")) else []
            pool = settings.get("pool", 1)
            named[0] = f"{fills}, best of {pool} by {named[0]}"
            if pool == 1:  # the model has no choice, and so neither it nor its synchronizer matters
                named = [fills, "unranked"]
            group = 1 + (pool > 1)
        key = (group, *system_key(model)[:3], apart, rest, folder)
        return Generation(folder, ", ".join([*named, *rest]), key, fills)
    return Generation(folder, folder, (9, 9, "", False, False, [], folder))


FULL = "full"
"""Name of the draw of L that takes all there is."""

ENOUGH = 3
"""Seeds below which nothing is called more than noise: too few to bootstrap over."""


Level = tuple[tuple[str, ...], ...]
"""What people had annotated for a row, without seeds (``core/annotation.py``)."""


@dataclass(frozen=True, slots=True)
class Result:
    """One system at one |L|: fractions in [0, 1], or None where undefined, over seeds.

    ``mean`` and ``sd`` have the keys ``overall``, ``CATEGORIES`` and further columns; ``criteria`` gives
    (mean, sd) of the task's other figures; ``by_seed`` the overall figure of each run. ``level`` is what its
    row must have in common with others to be compared, and ``annotated`` says it in words.
    """

    system: System
    labelled: int
    mean: Mapping[str, float | None]
    sd: Mapping[str, float | None]
    criteria: Mapping[str, tuple[float | None, float | None]]
    by_seed: Mapping[int, float | None]
    level: Level
    annotated: str


@dataclass(frozen=True, slots=True)
class Metrics:
    """``evaluation/metrics.json``; ``results`` by |L|, then by level of annotation, in the order of Table 2.

    ``comparisons`` are of one level each, ``across`` those of two; ``resampled`` is what their intervals
    resample beside seeds. ``split`` says, too, where it was cut off. ``full`` has every |L| that is all there
    is to draw. ``task`` is the corpus's.
    """

    split: str
    instances: Mapping[str, int]
    results: tuple[Result, ...]
    comparisons: tuple[Comparison, ...] = ()
    across: tuple[Comparison, ...] = ()
    full: frozenset[int] = frozenset()
    resampled: str = "instances"
    task: str = COORDINATION

    @staticmethod
    def parse(document: Mapping[str, Any], systems: Iterable[System] = ()) -> "Metrics":
        """Read the document; ``comparisons``, and the draws' names, may be missing from it.

        The runs say which comparisons are of one level of annotation. Of a document of an earlier
        version, which does not say what was annotated, no two systems are.

        Args:
            document: ``evaluation/metrics.json``, of the form ``Evaluated``.
            systems: those that are known with their fields; others have their name and mode.
        """
        known = {run["system"]: System.of_row(run) for run in document["runs"]}
        known |= {str(system): system for system in systems}
        task = document.get("task", COORDINATION)
        scores: dict[tuple[str, int], dict[int, float | None]] = {}
        records: dict[tuple[str, int], dict[int, Annotation]] = {}
        for run in document["runs"]:
            cell = run["system"], run["labelled"]
            scores.setdefault(cell, {})[run["seed"]] = run["accuracy"]["overall"]
            parts = map(Part.model_validate, run.get("annotation", ()))
            record = joined(parts) or unknown(run["system"])
            records.setdefault(cell, {})[run["seed"]] = record
        levels = {cell: shared_level(each) for cell, each in records.items()}
        corpus = document.get("corpus", "")
        annotated = {
            cell: of_seeds(described(each, corpus) for each in found.values())
            for cell, found in records.items()
        }
        results = [
            Result(
                system=known[entry["system"]],
                labelled=entry["labelled"],
                mean=entry["mean"],
                sd=entry["sd"],
                criteria={
                    name: (entry["criteria"][name]["mean"], entry["criteria"][name]["sd"])
                    for name in words_of(task).criteria
                },
                by_seed=scores[cell],
                level=levels[cell],
                annotated=annotated[cell],
            )
            for entry in document["summary"]
            for cell in [(entry["system"], entry["labelled"])]
        ]
        results.sort(key=lambda r: (r.labelled, len(r.level), r.level, system_key(r.system)))
        every = [
            Comparison(
                **{key: one[key] for key in ("labelled", "gain", "low", "high")},
                system=known[one["system"]],
                against=known[one["against"]],
                seeds=tuple(one["seeds"]),
                by_seed=tuple(one.get("by_seed", ())),
                across=levels.get((one["system"], one["labelled"]))
                != levels.get((one["against"], one["labelled"])),
            )
            for one in (*document.get("comparisons", ()), *document.get("across", ()))
        ]
        return Metrics(
            measured_on(document),
            document["instances"],
            tuple(results),
            comparisons=tuple(each for each in every if not each.across),
            across=tuple(each for each in every if each.across),
            full=frozenset(e["labelled"] for e in document["summary"] if e.get("draw") == FULL),
            resampled=document.get("resampled", "instances"),
            task=task,
        )

    @property
    def words(self) -> FigureWords:
        """What its figures are called."""
        return words_of(self.task)

    @property
    def columns(self) -> list[str]:
        """Of tables: overall, those of Table 2, and further ones that have instances.

        Of another task: overall, and others by falling size.
        """
        if self.task != COORDINATION:
            others = self.instances.keys() - {"overall"}
            order = sorted(others, key=lambda name: (-self.instances[name], name))
            return ["overall", *order]
        further = (name for name in FURTHER_CATEGORIES if self.instances.get(name))
        return ["overall", *CATEGORIES, *further]

    @property
    def rest(self) -> float:
        """The share of instances whose label has no column of its own, in [0, 1]."""
        if self.task != COORDINATION:
            return 0.0
        every, *named = (self.instances[name] for name in self.columns if name != REST)
        return 1 - sum(named) / every if every else 0.0

    @property
    def sizes(self) -> list[int]:
        """Every |L|, in order."""
        return sorted({result.labelled for result in self.results})

    @property
    def baseline(self) -> System | None:
        """The predictor of L alone that charts draw apart; None without one."""
        return baseline_of(result.system for result in self.results)

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
        count = f"{labelled:,} labelled {self.words.unit}{'' if labelled == 1 else 's'}"
        return f"all {count}" if labelled in self.full else count

    def result(self, labelled: int, system: str) -> Result | None:
        """One system at one |L|; None where it was not run."""
        wanted = labelled, system
        return next((r for r in self.results if (r.labelled, r.system) == wanted), None)

    def block(self, labelled: int) -> list[Result]:
        """The results with so many labelled sentences."""
        return [result for result in self.results if result.labelled == labelled]

    def without_candidates(self, result: Result) -> list[Result]:
        """What was made without candidates from the same annotation at the same |L|, and was scored."""
        return [
            each
            for each in self.block(result.labelled)
            if each.level == result.level
            and not each.system.has_candidates
            and each.mean["overall"] is not None
        ]

    def rivals(self, result: Result) -> list[Result]:
        """Those ``without_candidates`` that have all seeds of the result, else most of them."""
        others = self.without_candidates(result)
        most = max((len(_common(result, each)) for each in others), default=0)
        return [each for each in others if len(_common(result, each)) == most]

    def rival(self, result: Result) -> Result | None:
        """What a result's gain is over: something without candidates from the same annotation.

        For one with candidates that is the best of its ``rivals`` by their mean over the seeds of both:
        chosen by these very figures, which flatters it and not the gain. For one without candidates it is
        the baseline, or of variants the better of it and copies of L. None where there is nothing.
        """
        others = self.rivals(result) if result.system.has_candidates else self._controls(result)
        found = max(others, key=lambda each: fmean(_common(result, each) or [0]), default=None)
        return None if found is None or found.system == result.system else found

    def _controls(self, result: Result) -> list[Result]:
        """The baseline and, of variants, copies of L."""
        others = self.without_candidates(result)
        wanted = {baseline_of(each.system for each in others)}
        if result.system.has_variants:
            wanted |= {each.system for each in others if each.system.is_copies}
        return [each for each in others if each.system in wanted]

    def gain(self, labelled: int, system: str, against: System | None = None) -> Comparison | None:
        """The paired gain over another system of the same annotation, or else over the ``rival``.

        None where there is none, or it was not computed.
        """
        if against is None:
            result = self.result(labelled, system)
            rival = self.rival(result) if result else None
            if rival is None:
                return None
            against = rival.system
        wanted = labelled, system, against
        return next(
            (c for c in self.comparisons if (c.labelled, c.system, c.against) == wanted), None
        )

    def gains(self, results: Sequence[Result]) -> dict[System, Comparison]:
        """System → its gain over its ``rival`` at its |L|, for those that have one."""
        found = {result.system: self.gain(result.labelled, result.system) for result in results}
        return {system: gain for system, gain in found.items() if gain}

    def ablations(self, labelled: int) -> dict[System, Comparison]:
        """Variation → its gain over the full method that it varies, in the order of Table 3."""
        systems = [result.system for result in self.block(labelled)]
        found = {
            system: self.gain(labelled, system, full)
            for system in systems
            if (full := full_method(system, systems))
        }
        return {system: gain for system, gain in found.items() if gain}


def _common(result: Result, other: Result) -> list[float]:
    """What ``other`` reaches with each seed that both were scored with."""
    return [
        score
        for seed, score in other.by_seed.items()
        if score is not None and result.by_seed.get(seed) is not None
    ]


ONE_SEED, FEW_SEEDS, UNCLEAR, CLEAR = "one seed", "few seeds", "unclear", "clear"


def certainty(gain: Comparison) -> str:
    """What the interval of a gain and the seeds behind it allow to say.

    Returns:
        ``ONE_SEED``: nothing; ``UNCLEAR``: the interval includes 0; ``FEW_SEEDS``: it does not, but the
        seeds are too few; ``CLEAR``: the gain, or loss, is more than noise.
    """
    if len(gain.seeds) < 2:
        return ONE_SEED
    if not gain.clear:
        return UNCLEAR
    return CLEAR if len(gain.seeds) >= ENOUGH else FEW_SEEDS


def more_than_noise(gain: Comparison) -> bool:
    """Whether the interval leaves 0 out, and enough seeds stand behind it to say so."""
    return certainty(gain) == CLEAR
