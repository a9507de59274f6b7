"""What people said of the candidates shown: read from a file, and the sheet in which they say it."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

from pipeline.core import console
from pipeline.core.errors import InputError
from pipeline.core.files import require_regular, resolved, write_text
from pipeline.report.prose import Fact
from pipeline.report.sections import ExampleList

_COLUMNS = ("candidate_id", "sensible", "note")
_TEXT = "text"
"""A fourth column, which only the sheet of a report folder has: corpus text is not to be committed."""

_REMEDY = f"write {','.join(_COLUMNS)} in the first line and yes or no in the second column"
_Z = NormalDist().inv_cdf(0.975)


class HandJudgement(NamedTuple):
    """A verdict by hand: whether a candidate is sensible English (None: not judged), and what was noted."""

    sensible: bool | None
    note: str


def read_judgements(path: Path) -> dict[str, HandJudgement]:
    """Candidate → verdict, of a CSV file with the columns ``candidate_id,sensible,note``.

    ``sensible`` is yes, no, or empty: not judged, and left out where nothing is noted either. A fourth column
    ``text`` is for whoever judges and is not read.

    Raises:
        InputError: another header, a verdict that is neither, no id, or an id twice.
    """
    found: dict[str, HandJudgement] = {}

    def wrong(what: str, line: int, remedy: str = _REMEDY) -> InputError:
        return InputError(what, path=path, line=line, remedy=remedy)

    require_regular(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [cell.strip() for cell in next(reader, [])]
            if header not in ([*_COLUMNS], [*_COLUMNS, _TEXT]):
                raise wrong(f"the first line is {','.join(header)!r}", 1)
            for row in reader:
                line = reader.line_num
                if len(row) not in {0, len(header)}:
                    what = f"{len(row)} cells instead of {len(header)}"
                    raise wrong(what, line, "put a note that has a comma in quotes")
                if not any(cell.strip() for cell in row):
                    continue
                candidate, verdict, note = (cell.strip() for cell in row[: len(_COLUMNS)])
                if not candidate:
                    raise wrong("no candidate_id", line)
                if verdict not in {"yes", "no", ""}:
                    what = f"candidate {candidate}: sensible is {verdict!r}, not yes or no"
                    raise wrong(what, line, "leave it empty if it is not judged")
                if candidate in found:
                    raise wrong(f"candidate {candidate} is judged twice", line, "keep one line")
                if verdict or note:
                    found[candidate] = HandJudgement(verdict == "yes" if verdict else None, note)
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"not a readable CSV file: {error}", path=path) from error
    return found


def wilson(count: int, total: int) -> tuple[float, float]:
    """The Wilson score interval at 95 % of a share of ``total`` > 0, within [0, 1]."""
    share, z = count / total, _Z
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * (share * (1 - share) / total + z * z / (4 * total**2)) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


def offer_sheet(
    path: Path,
    examples: Sequence[ExampleList],
    judgements: Mapping[str, HandJudgement],
    *,
    given: Path | None,
    order: Callable[[str], str],
) -> list[Fact]:
    """Write the sheet to fill in, unless that would lose verdicts; what to say of judging.

    ``given`` is the file that the judgements are from. The ``order`` of candidates is that of the
    draw over all systems, and the sheet has neither the system nor the filter's verdict: whoever judges
    should not know them.
    """
    shown = {e.candidate_id: e for group in examples for e in (*group.accepted, *group.rejected)}
    if not shown:
        return []
    facts = []
    # What stands in no other file must be shown to be written again.
    own = given is not None and resolved(given) == resolved(path)
    safe = {name: j for name, j in judgements.items() if name in shown or not own}
    if _loses(path, safe):
        facts.append(Fact("examples.sheet_kept", sheet=path.name))
        console.say(f"{path}: {facts[0]}")
    else:
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow([*_COLUMNS, _TEXT])
        for name in sorted(shown, key=order):
            verdict, note = judgements.get(name, (None, ""))
            cell = {True: "yes", False: "no", None: ""}[verdict]
            writer.writerow([name, cell, note, shown[name].text])
        write_text(path, buffer.getvalue())
    judged = {name for name, each in judgements.items() if each.sensible is not None}
    if left := len(shown.keys() - judged):
        some = left if judged else None
        facts.append(Fact("examples.to_judge", sheet=path.name, left=some))
    if strange := len(judged - shown.keys()):
        facts.append(Fact("examples.not_shown", count=strange, judgements=len(judged)))
        console.say(f"{given}: {facts[-1]}")
    return facts


def _loses(path: Path, kept: Mapping[str, HandJudgement]) -> bool:
    """Whether writing over a sheet would lose work: a verdict or a note that is not among the ``kept``.

    A sheet that cannot be read counts as work.
    """
    try:
        return path.is_file() and not read_judgements(path).items() <= kept.items()
    except InputError:
        return True
