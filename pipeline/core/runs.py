"""The finished training runs of a corpus, and what a system's tables and comparisons go by.

It also reads the JSON-lines histories that training and pretraining write.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from pipeline.core.candidates import has_candidates
from pipeline.core.cards.evaluation import Combined, SystemRow
from pipeline.core.cards.runs import RunCard, RunLine, RunTiming, ShownField
from pipeline.core.documents import parse_json, read_document_text, read_json
from pipeline.core.errors import InputError


def read_records(
    path: Path,
    form: Any,
    what: str,
    remedy: str,
    read: Callable[[Mapping[str, Any]], dict[str, Any]] = dict,
) -> tuple[dict[str, Any], ...]:
    """The records of a file; none where there is no file.

    Args:
        path: the file.
        form: what a line's object must be, as for ``read_json``.
        what: a line is, for the error: "a look of pretraining".
        remedy: for the error.
        read: makes a record of such an object.

    Raises:
        InputError: the file cannot be read, or a line is not what it should be.
    """
    if not path.is_file():
        return ()
    lines = read_document_text(path, remedy=remedy).split("\n")
    records = []
    for number, line in enumerate(lines, 1):
        if not line and number == len(lines):
            continue
        try:
            records.append(read(parse_json(line, form, remedy="")))
        except InputError as error:
            said = f"not {what}: {line[:40]!r}: {error}"
            raise InputError(said, path=path, line=number, remedy=remedy) from error
    return tuple(records)


NO_GENERATOR = "none"
"""The ``generator`` of a baseline: nothing makes candidates for it."""

NO_AUGMENTATION = "none"
"""The ``augment`` of a system that learns from the labelled sentences as they are."""

COPIES = "copy"
"""The ``augment`` of the control for variants: the labelled sentences once more, with nothing new."""

ANY = "any"
"""The ``control_of`` of a control for every caption of its generator."""

ALONE: Final = "alone"
ELSE: Final = "else"
TOGETHER: Final = "together"
"""How a system uses a parser: what it finds and nothing else; that and, where it finds none, the predictor;
or that unless the predictor thinks little of it (``tasks/coordination/with_parser.py``)."""

USUAL_TAU = 0.001
"""τ of ``TOGETHER`` where nobody chose one: fixed before any figure was looked at."""

PARSER_MODE = "parser"
"""The ``mode`` of a parser alone, which is no mode of training."""


class System(str):
    """The name of a system, with the fields that say what it is; equal to its plain name.

    The fields are those of its entry in ``params.yaml``, which ``run.json`` carries: the name is free,
    and nothing is read out of it. None where a field was not given.

    Attributes:
        mode: its mode of training.
        augment: what variants of the labelled sentences it learns from, or ``NO_AUGMENTATION``.
        generator: what made its candidates (``T5``), or ``NO_GENERATOR``.
        caption: what sets those candidates apart from the generator's own (``adapted on twins``).
        variation: what its training does otherwise than the full method (``no-filter``).
        control_of: the caption whose effect it is the control for: it has all but that; ``ANY``: it is
            the control for every caption of its generator (``unranked``, for what ranks).
        parser: the parser that it uses beside the predictor, by name; None: a predictor alone.
        combined: how: ``ALONE``, ``ELSE`` or ``TOGETHER``; None without a parser.
        taught: whether that parser learned from candidates, or the predictor with whose encoder it began.
        begun_with: the system of that predictor; None: it began with a checkpoint.
        brackets: λ of L's constituents, which its predictor learned, too; None: it did not.
        gold_of: the parser by whose sentences its L was extended; None: it was not.
    """

    FIELDS: ClassVar[tuple[ShownField, ...]] = ("generator", "caption", "variation", "control_of")

    mode: str
    augment: str
    generator: str | None
    caption: str | None
    variation: str | None
    control_of: str | None
    parser: str | None
    combined: Combined | None
    taught: bool
    brackets: float | None
    gold_of: str | None
    begun_with: str | None

    def __new__(
        cls,
        name: str,
        mode: str = "",
        augment: str = NO_AUGMENTATION,
        *,
        parser: str | None = None,
        combined: Combined | None = None,
        taught: bool = False,
        brackets: float | None = None,
        gold_of: str | None = None,
        begun_with: str | None = None,
        **fields: str,
    ) -> Self:
        """A system: name, mode, augmentation, parser, and those of its ``FIELDS`` that are known."""
        system = super().__new__(cls, name)
        system.mode, system.augment = mode, augment
        system.parser, system.combined, system.taught = parser, combined, taught
        system.brackets, system.gold_of, system.begun_with = brackets, gold_of, begun_with
        for field_ in cls.FIELDS:
            setattr(system, field_, fields.get(field_))
        return system

    def called(self, name: str) -> str:
        """What it is called whose predictor has a name: that, or how it stands beside a parser."""
        if self.combined == ALONE:
            return f"parser {self.parser} alone"
        if self.combined == ELSE:
            return f"parser {self.parser}, else {name}"
        if self.combined == TOGETHER:
            return f"parser {self.parser} with {name} by τ"
        return name

    @classmethod
    def of(cls, card: Mapping[str, Any]) -> Self:
        """The system of a run, from its ``run.json``."""
        settings, begun = card.get("settings", {}), card.get("begun_with") or {}
        return cls(
            str(card["system"]),
            str(card["mode"]),
            str(settings.get("augment", NO_AUGMENTATION)),
            taught=begun.get("taught", False),
            brackets=settings.get("brackets"),
            gold_of=settings.get("gold_of"),
            begun_with=begun.get("system"),
            **card.get("shown_as", {}),
        )

    @classmethod
    def of_row(cls, entry: Mapping[str, Any]) -> Self:
        """The system of an entry of ``runs`` in ``metrics.json``, as ``as_row`` wrote it."""
        return cls(
            str(entry["system"]),
            str(entry.get("mode", "")),
            str(entry.get("augment", NO_AUGMENTATION)),
            parser=entry.get("parser"),
            combined=entry.get("combined"),
            taught=entry.get("taught", False),
            brackets=entry.get("brackets"),
            gold_of=entry.get("gold_of"),
            begun_with=entry.get("begun_with"),
            **entry.get("shown_as", {}),
        )

    def as_row(self) -> SystemRow:
        """What says in ``metrics.json`` what it is."""
        shown = {name: getattr(self, name) for name in self.FIELDS}
        row: SystemRow = {
            "system": str(self), "mode": self.mode, "augment": self.augment,
            "shown_as": {name: value for name, value in shown.items() if value is not None},
            "parser": self.parser, "combined": self.combined, "taught": self.taught,
        }  # fmt: skip
        if self.brackets is not None:
            row["brackets"] = self.brackets
        if self.gold_of is not None:
            row["gold_of"] = self.gold_of
        if self.begun_with is not None:
            row["begun_with"] = self.begun_with
        return row

    def with_parser(self, parser: str, combined: Combined, *, taught: bool = False) -> "System":
        """This predictor beside a parser, which may have learned from candidates."""
        name = f"{self}+{parser}-{combined}"
        beside: SystemRow = {
            "system": name,
            "parser": parser,
            "combined": combined,
            "taught": taught or self.taught,
        }
        return System.of_row({**self.as_row(), **beside})

    @property
    def predictor(self) -> str:
        """The name of the runs whose predictor it uses; its own, unless it stands beside a parser."""
        return self.removesuffix(f"+{self.parser}-{self.combined}")

    @classmethod
    def parser_alone(cls, parser: str, *, taught: bool = False) -> Self:
        """A parser without any predictor."""
        return cls(f"parser-{parser}", PARSER_MODE, parser=parser, combined=ALONE, taught=taught)

    @property
    def is_baseline(self) -> bool:
        """Whether it is a predictor that learns from L alone, as it is, and of L the boundaries alone."""
        return self.augment == NO_AUGMENTATION and self._has_boundaries_alone

    @property
    def has_candidates(self) -> bool:
        """Whether its predictor, what that began with or its parser learned from candidates."""
        return self.taught or self.mode not in ("baseline", PARSER_MODE)

    @property
    def has_variants(self) -> bool:
        """Whether it learned from labelled sentences that were changed."""
        return self.augment not in (NO_AUGMENTATION, COPIES)

    @property
    def is_copies(self) -> bool:
        """Whether it learned from L alone as it is, each sentence several times: the control for variants."""
        return self.augment == COPIES and self._has_boundaries_alone

    @property
    def _has_boundaries_alone(self) -> bool:
        plain = self.brackets is None and self.gold_of is None and self.begun_with is None
        return self.mode == "baseline" and plain and self.combined is None

    @property
    def apart(self) -> str | None:
        """Its caption; None of the control for every caption, to which all of them are added."""
        return None if self.control_of == ANY else self.caption

    def varies(self, other: "System") -> bool:
        """Whether it is ``other``, a full method, with a caption, a variation or both added."""
        return (
            self.generator is not None
            and self.generator == other.generator
            and other.variation is None
            and other.apart in (None, self.apart)
            and (other.apart, other.variation) != (self.apart, self.variation)
            and self.combines_as(other)
        )

    def combines_as(self, other: "System") -> bool:
        """Whether both use no parser, or one parser in one way."""
        return (self.parser, self.combined) == (other.parser, other.combined)

    def is_compared_with(self, other: "System") -> bool:
        """Whether its gain over ``other`` is computed, where both are of one level of annotation.

        Of a system with candidates that over each without; of one without that over baselines, and of one
        with variants that over copies; of each that over what it varies and over its control. Of two levels
        only ``is_compared_across`` is computed.
        """
        without = self.has_candidates and not other.has_candidates
        over_copies = other.is_copies and self.has_variants
        return without or over_copies or self.is_compared_across(other)

    def is_compared_across(self, other: "System") -> bool:
        """Whether the difference is also computed where the two are not of one level of annotation."""
        if self == other:
            return False
        controlled = (
            self.caption is not None
            and (self.generator, self.caption, self.variation)
            == (other.generator, other.control_of, other.variation)
            and self.combines_as(other)
        )
        over_baseline = other.is_baseline and not self.is_baseline
        return over_baseline or self.varies(other) or controlled


BY_LABEL, BY_LENGTH = "acceptance", "acceptance_by_length"
"""Keys of a record of history: {name: [accepted, seen]} since the record before."""

_REMEDY = "remove the run folder and run `conjoin train` again"


@dataclass(frozen=True, slots=True)
class Run:
    """One run folder.

    ``history`` holds a ``RunLine`` for each validation, ``card`` is a ``RunCard``. ``draw`` names the draw of
    L, its size or ``full``; ``seconds`` is None where no ``timing.json`` is.
    """

    folder: Path
    system: System
    labelled: int
    draw: str
    seed: int
    card: dict[str, Any] = field(repr=False)
    history: tuple[dict[str, Any], ...] = field(repr=False)
    seconds: float | None

    @property
    def mode(self) -> str:
        """The mode of training."""
        return self.system.mode

    @property
    def source(self) -> str | None:
        """Where the candidates came from: a folder in the corpus, or a name; None where none are learned."""
        if self.mode == "baseline":  # whose variants a folder may be named for
            return None
        name = self.card.get("settings", {}).get("candidates")
        return str(name) if name else None

    @property
    def warm_steps(self) -> int:
        """Updates before the first candidate joined (Algorithm 1, line 1)."""
        return int(self.card.get("settings", {}).get("warm_steps", 0))

    @property
    def is_warm_alone(self) -> bool:
        """Whether the predictor kept is one from before the first candidate, though there were some."""
        best = self.card.get("best_step")
        return self.source is not None and best is not None and best <= self.warm_steps


def read_runs(corpus: Path) -> list[Run]:
    """Every run with a ``run.json`` below ``corpus/runs``, by |L|, system and seed.

    Raises:
        InputError: a file of a run is malformed.
    """
    cards = sorted((corpus / "runs").glob("*/*/seed-*/run.json"))
    runs = [_read(card.parent) for card in cards]
    return sorted(runs, key=lambda run: (run.labelled, run.system, run.seed))


def candidates_at_hand(run: Run, corpus: Path) -> Path | None:
    """The folder of the candidates a run drew from, if they lie in the corpus folder.

    Those of a release folder or of the hub, of which a run records the name alone, do not.

    Raises:
        InputError: generation was interrupted in that folder.
    """
    folder = corpus / (run.source or "candidates")
    inside = folder.resolve().is_relative_to(corpus.resolve())
    return folder if run.source and inside and has_candidates(folder) else None


def not_at_hand(runs: Sequence[Run]) -> str:
    """A line about runs whose candidates are not at hand; empty where there is no such run."""
    counts = Counter((str(run.source), run.system) for run in runs)
    named = "; ".join(
        f"{source} (of {count} run{'' if count == 1 else 's'} of {system})"
        for (source, system), count in sorted(counts.items())
    )
    return f"Candidates whose text is not at hand in the corpus folder: {named}." if named else ""


def _read(folder: Path) -> Run:
    card: dict[str, Any] = read_json(folder / "run.json", RunCard, remedy=_REMEDY)
    timing = folder / "timing.json"
    return Run(
        folder=folder,
        system=System.of(card),
        labelled=card["labelled"],
        draw=str(card.get("draw", card["labelled"])),
        seed=card["seed"],
        card=card,
        history=read_records(folder / "history.jsonl", RunLine, "a record of validation", _REMEDY),
        seconds=float(read_json(timing, RunTiming, remedy=_REMEDY)["seconds"])
        if timing.is_file()
        else None,
    )
