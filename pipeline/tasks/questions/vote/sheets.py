"""Sheets on which workers vote on event pairs: CSV files, written, filled by people, and read back.

A row has a key made of what it is, which does not tell a check from a pair. A cell that a spreadsheet would
take for a formula is written behind an apostrophe.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from pipeline.core.errors import InputError
from pipeline.core.files import digest_of, require_regular

ANSWERS = {"yes": True, "no": False}
COLUMNS = ("key", "former", "latter", "answer")
CHECK_COLUMNS = COLUMNS[1:]

_FORMULA = re.compile(r"'*[=+\-@\t\r]")


@dataclass(frozen=True, slots=True)
class AskedPair:
    """Two events of which a worker is asked whether the former is a cause or reason of the latter.

    Attributes:
        former: the one.
        latter: the other.
        pair_id: of the event pair; None: a check.
        truth: the known answer of a check.
    """

    former: str
    latter: str
    pair_id: str | None = None
    truth: bool | None = None

    @property
    def key(self) -> str:
        """What tells its row from others; a letter comes first, for a spreadsheet makes numbers of digits."""
        return f"k{digest_of([self.pair_id, self.former, self.latter])[:11]}"


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a worker answered on one sheet.

    Attributes:
        worker: who.
        answers: each row with its answer.
    """

    worker: str
    answers: Sequence[tuple[AskedPair, bool]]

    @property
    def failed(self) -> bool:
        """Whether a check has the wrong answer."""
        return any(asked.truth not in (None, said) for asked, said in self.answers)


@dataclass(frozen=True, slots=True)
class SheetPlan:
    """How pairs come onto sheets.

    Attributes:
        size: rows of a sheet.
        checks: how many of them are checks.
        workers: how many are asked of each pair.
        seed: of what is random.
    """

    size: int
    checks: int
    workers: int
    seed: int

    def sheets(
        self, pairs: Sequence[AskedPair], checks: Sequence[AskedPair]
    ) -> Iterator[tuple[str, str, list[AskedPair]]]:
        """The worker, the sheet's name, and the rows of each, checks in random places.

        Args:
            pairs: in their order.
            checks: at least as many as a sheet has.
        """
        step = self.size - self.checks
        for worker in range(1, self.workers + 1):
            for number, start in enumerate(range(0, len(pairs), step), 1):
                random = Random(f"{self.seed}/{worker}/{number}")
                rows = [*pairs[start : start + step], *random.sample(checks, self.checks)]
                random.shuffle(rows)
                yield f"worker-{worker}", f"sheet-{number:05d}", rows


def sheet_text(rows: Sequence[AskedPair]) -> str:
    """A sheet to be filled, with every cell in quotes."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([row.key, guarded(row.former), guarded(row.latter), ""])
    return buffer.getvalue()


def guarded(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: if it begins like one, with an apostrophe before it."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unguarded(cell: str) -> str:
    """What was written as a guarded cell."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def read_checks(path: Path) -> list[AskedPair]:
    """Checks of a CSV file with the columns ``former,latter,answer``.

    Raises:
        InputError: it is no such file, an answer is neither yes nor no, or a check stands there twice.
    """
    found: dict[str, AskedPair] = {}
    for line, (former, latter, answer) in _rows(path, CHECK_COLUMNS):
        check = AskedPair(former, latter, truth=_answer(answer, path, line))
        if check.key in found:
            raise InputError(
                "this check stands here twice", path=path, line=line, remedy="keep one"
            )
        found[check.key] = check
    return list(found.values())


def read_sheet(path: Path, worker: str, known: dict[str, AskedPair]) -> Sheet:
    """A filled sheet.

    Args:
        path: of the file.
        worker: who filled it.
        known: pairs and checks by their keys.

    Raises:
        InputError: it is no sheet; a row is of no pair and no check, has other events than that, or an answer
            that is neither yes nor no; or there is no check.
    """
    answers: list[tuple[AskedPair, bool]] = []
    line = 1
    for line, (key, former, latter, answer) in _rows(path, COLUMNS):
        if (asked := known.get(key)) is None:
            raise InputError(
                f"{key!r} is no pair of these and no check", path=path, line=line,
                remedy="name the PAIRS and the --checks that the sheets were written of",
            )  # fmt: skip
        if (former, latter) != (asked.former, asked.latter):
            raise InputError(
                "not the events that this row was written with", path=path, line=line,
                remedy="only the column answer is to be changed, and rows are moved whole",
            )  # fmt: skip
        answers.append((asked, _answer(answer, path, line)))
    if all(asked.truth is None for asked, _ in answers):
        raise InputError(
            "no check on this sheet, so nothing says whether its worker read it", path=path, line=line,
            remedy="name the --checks that the sheets were written with",
        )  # fmt: skip
    return Sheet(worker, answers)


def _answer(text: str, path: Path, line: int) -> bool:
    said = ANSWERS.get(text.strip().lower())
    if said is None:
        raise InputError(
            f"the answer is {text[:40]!r}, not yes or no", path=path, line=line, remedy="fill it in",
        )  # fmt: skip
    return said


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """The line and the cells of each row of a CSV file with some columns.

    Raises:
        InputError: it is none.
    """
    require_regular(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            if tuple(header) != columns:
                raise InputError(
                    f"the first line is {','.join(header)[:80]!r}", path=path, line=1,
                    remedy=f"it must be {','.join(columns)}",
                )  # fmt: skip
            for cells in reader:
                if not cells:
                    continue  # a blank line, which spreadsheets may end a file with
                if len(cells) != len(columns):
                    raise InputError(
                        f"{len(cells)} cells instead of {len(columns)}", path=path, line=reader.line_num,
                        remedy="put what has a comma in quotes",
                    )  # fmt: skip
                yield reader.line_num, [unguarded(cell) for cell in cells]
    except FileNotFoundError as error:
        raise InputError("no such file", path=path) from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"not a readable CSV file: {error}", path=path) from error
