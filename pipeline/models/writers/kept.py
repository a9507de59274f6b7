"""The file of what a language model answered: JSON lines, appended as answers come.

A line has the digest of what was asked, ``question``, and either the ``completion`` (null where nothing
came), how the answer was ``begun`` and, if so, ``cut``, or the ``score`` of a text. Where a run was killed
the file may end in half a line, which is dropped; of lines for one question the last counts.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, NotRequired

from typing_extensions import TypedDict

from pipeline.core.documents import parse_json
from pipeline.core.errors import InputError
from pipeline.core.files import require_regular, resolved, write_text, writing
from pipeline.core.parquet import COMPLETIONS, RECORDS
from pipeline.models.writers.protocol import Begun, TextScore, WrittenAnswer


class KeptScore(TypedDict):
    """A ``TextScore``."""

    total: float
    tokens: int


class KeptLine(TypedDict):
    """A line of the file."""

    question: str
    completion: NotRequired[str | None]
    begun: NotRequired[Begun]
    reason: NotRequired[str]
    cut: NotRequired[bool]
    score: NotRequired[KeptScore | None]


class KeptAnswers:
    """What was answered, by what was asked.

    Args:
        lines: what is known already.
        path: of the file that new lines go to; None: they are kept in memory alone.
    """

    def __init__(self, lines: Iterable[KeptLine] = (), path: Path | None = None) -> None:
        self._lines = {line["question"]: line for line in lines}
        self._wanted: dict[str, None] = {}
        self._added: set[str] = set()
        self.path = path
        self._file: IO[str] | None = None

    @classmethod
    def going_on(cls, path: Path) -> "KeptAnswers":
        """What a file has, or nothing where there is none, with new lines appended to it.

        Raises:
            InputError: a line is not as conjoin writes it.
        """
        remedy = "remove the file; what it had is asked for again"
        return cls(_lines_of(path, remedy) if path.exists() else [], path)

    def __contains__(self, question: str) -> bool:
        """Whether a line is kept for a question, be it that nothing came."""
        return question in self._lines

    def added(self, question: str) -> bool:
        """Whether what is kept for a question came since the file was opened, and not in an earlier run."""
        return question in self._added

    def forget_empty(self) -> None:
        """Forget answers with nothing in them, so that the same command asks for them again."""
        self._lines = {
            question: line
            for question, line in self._lines.items()
            if "completion" not in line or (line["completion"] or "").strip()
        }
        self._write(self._lines)

    def answer(self, question: str) -> WrittenAnswer | None:
        """The answer to a prompt, if one is kept."""
        line = self._line(question)
        if line is None or "completion" not in line:
            return None
        return WrittenAnswer(
            line["completion"], line.get("begun", "chat"), line.get("reason", ""), line.get("cut", False)
        )  # fmt: skip

    def score(self, question: str) -> TextScore | None:
        """The score of a text, if one is kept and came."""
        line = self._line(question)
        found = line.get("score") if line else None
        return TextScore(**found) if found else None

    def add_answer(self, question: str, answer: WrittenAnswer) -> None:
        """Keep an answer; it is in the file when this returns."""
        line: KeptLine = {
            "question": question, "completion": answer.text, "begun": answer.begun,
        }  # fmt: skip
        if answer.reason:
            line["reason"] = answer.reason
        if answer.cut:
            line["cut"] = True
        self._add(line)

    def add_score(self, question: str, score: TextScore | None) -> None:
        """Keep a score; it is in the file when this returns."""
        found: KeptScore | None = (
            {"total": score.total, "tokens": score.tokens} if score is not None else None
        )
        self._add({"question": question, "score": found})

    def settle(self) -> None:
        """Leave in the file what was asked for here, in that order: equal runs have equal files."""
        self._write(each for each in self._wanted if each in self._lines)

    def _write(self, questions: Iterable[str]) -> None:
        """Leave these lines in the file, and no others."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self.path is not None:
            write_text(self.path, "".join(_text(self._lines[each]) for each in questions))

    def _line(self, question: str) -> KeptLine | None:
        self._wanted[question] = None
        return self._lines.get(question)

    def _add(self, line: KeptLine) -> None:
        self._lines[line["question"]] = line
        self._added.add(line["question"])
        if self.path is None:
            return
        with writing(self.path):
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                if self.path.exists():
                    os.truncate(self.path, _whole(self.path.read_bytes()))
                self._file = self.path.open("a", encoding="utf-8")
            self._file.write(_text(line))
            self._file.flush()


class EarlierAnswers(KeptAnswers):
    """The answers of an earlier output, each unit's own before the others'.

    A server does not score a text the same to the last digit, and may have answered one unit alone.

    Args:
        files: their lines by their names.
    """

    def __init__(self, files: Mapping[str, Sequence[KeptLine]]) -> None:
        every = [line for lines in files.values() for line in lines]
        # Of answers to the same question one that came counts.
        super().__init__(sorted(every, key=_came))
        self._units = {_unit(name): lines for name, lines in files.items()}
        self._own = KeptAnswers()

    @classmethod
    def read(cls, place: Path) -> "EarlierAnswers":
        """What an earlier output has, a folder, or a file of completions.

        Raises:
            InputError: no completions are there, links go in a circle, or a line is not as conjoin writes it.
        """
        resolved(place)
        inside = sorted((place / RECORDS).glob(f"{COMPLETIONS}-*.jsonl"))
        files = inside if place.is_dir() else [place] if place.exists() else []
        remedy = (
            "name what `conjoin generate --served` or `synthesize` wrote, or a completions file"
        )
        if not files:
            raise InputError("no completions are kept here", path=place, remedy=remedy)
        return cls({file.name: _lines_of(file, remedy) for file in files})

    def begin_unit(self, name: str) -> None:
        """Prefer the answers of the same unit, which a new output keeps, or would, in a file of this name."""
        self._own = KeptAnswers(self._units.get(_unit(name), ()))

    def _line(self, question: str) -> KeptLine | None:
        return self._own._line(question) or super()._line(question)


def _unit(name: str) -> str:
    """The unit that a file of answers is of, however many there are."""
    return name.partition("-of-")[0]


def _came(line: KeptLine) -> bool:
    return line.get("completion", line.get("score")) is not None


def _text(line: KeptLine) -> str:
    return json.dumps(line, ensure_ascii=False) + "\n"


def _whole(content: bytes) -> int:
    """Bytes of the whole lines at the beginning of a file."""
    return content.rfind(b"\n") + 1


def _last(content: bytes) -> str:
    """The last line, where nothing ends it and it is whole all the same, as an editor leaves it; else ""."""
    rest = content[_whole(content) :]
    try:
        json.loads(rest)
    except ValueError:  # half a line, or nothing
        return ""
    return rest.decode("utf-8") + "\n"


def _lines_of(path: Path, remedy: str) -> list[KeptLine]:
    require_regular(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path, remedy=remedy) from error
    try:
        text = content[: _whole(content)].decode("utf-8") + _last(content)
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8", path=path, remedy=remedy) from error
    return [
        parse_json(line, KeptLine, path=path, line=number, remedy=remedy)
        for number, line in enumerate(text.split("\n")[:-1], 1)
    ]
