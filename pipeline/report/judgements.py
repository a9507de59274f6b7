"""What people said of the candidates shown: read from a file, counted, with intervals."""

import csv
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist

from pipeline.core.errors import InputError
from pipeline.report.examples import Example

COLUMNS = ("candidate_id", "sensible", "note")
"""Of a file of judgements."""

TEXT = "text"
"""A fourth column, which only the sheet of a report folder has: corpus text is not to be committed."""
_REMEDY = f"write {','.join(COLUMNS)} in the first line and yes or no in the second column"
_Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True)
class Judgements:
    """Verdicts by hand: candidate → whether it is sensible English, and what was noted."""

    sensible: Mapping[str, bool] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    def counted(self, accepted: Sequence[Example], rejected: Sequence[Example]) -> str:
        """What was judged of one system's examples, in a sentence with 95 % intervals."""
        shown = [*accepted, *rejected]
        left = sum(e.candidate_id not in self.sensible for e in shown)
        if left == len(shown):
            return f"None of these {left} is judged by hand."
        parts = [
            self._side(side, name)
            for side, name in ((accepted, "accepted"), (rejected, "rejected"))
        ]
        told = (
            f"{' and '.join(parts)} are sensible English (judged by hand; 95 % interval by Wilson)."
        )
        return told + (
            f" {left} of the {len(shown)} shown {_are(left)} not judged." if left else ""
        )

    def of(self, candidates: Container[str]) -> "Judgements":
        """Those of some candidates."""
        return Judgements(
            {name: verdict for name, verdict in self.sensible.items() if name in candidates},
            {name: note for name, note in self.notes.items() if name in candidates},
        )

    def _side(self, examples: Sequence[Example], name: str) -> str:
        verdicts = [v for e in examples if (v := self.sensible.get(e.candidate_id)) is not None]
        if not verdicts:
            return f"0 of 0 {name}"
        low, high = wilson(sum(verdicts), len(verdicts))
        return f"{sum(verdicts)} of {len(verdicts)} {name} ({100 * low:.0f} to {100 * high:.0f} %)"


def read_judgements(path: Path) -> Judgements:
    """Read a CSV file with the columns ``candidate_id,sensible,note``, and perhaps ``text``.

    ``sensible`` is yes, no, or empty: not judged. ``text`` is for the reader's eyes and not read.

    Raises:
        InputError: another header, a verdict that is neither, no id, or an id twice.
    """
    sensible, notes = {}, {}
    for line, row in _rows(path):
        candidate, verdict, note = (cell.strip() for cell in row[: len(COLUMNS)])
        if not candidate:
            raise InputError("no candidate_id", path=path, line=line, remedy=_REMEDY)
        if verdict not in {"yes", "no", ""}:
            what = f"candidate {candidate}: sensible is {verdict!r}, not yes or no"
            raise InputError(
                what, path=path, line=line, remedy="leave it empty if it is not judged"
            )
        if candidate in sensible:
            raise InputError(
                f"candidate {candidate} is judged twice",
                path=path,
                line=line,
                remedy="keep one line",
            )
        if verdict:
            sensible[candidate] = verdict == "yes"
            if note:
                notes[candidate] = note
    return Judgements(sensible, notes)


def wilson(count: int, total: int) -> tuple[float, float]:
    """The Wilson score interval at 95 % of a share of ``total`` > 0, within [0, 1]."""
    share, z = count / total, _Z
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * (share * (1 - share) / total + z * z / (4 * total**2)) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


def _rows(path: Path) -> Iterable[tuple[int, list[str]]]:
    """Number and cells of each line below the header that is not empty."""
    found = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [cell.strip() for cell in next(reader, [])]
            if header not in ([*COLUMNS], [*COLUMNS, TEXT]):
                what = f"the first line is {','.join(header)!r}"
                raise InputError(what, path=path, line=1, remedy=_REMEDY)
            for row in reader:
                if len(row) not in {0, len(header)}:
                    what = f"{len(row)} cells instead of {len(header)}"
                    raise InputError(
                        what, path=path, line=reader.line_num,
                        remedy="put a note that has a comma in quotes",
                    )  # fmt: skip
                if any(cell.strip() for cell in row):
                    found.append((reader.line_num, row))
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"not a readable CSV file: {error}", path=path) from error
    return found


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
