"""Questions with choices as JSON lines: those of e-CARE, and of KUCI, whose words blanks divide.

A file belongs to the split with whose name its own begins: ``train.jsonl``, ``dev.jsonl.xz``.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pipeline.core.console import tell
from pipeline.core.documents import parse_json
from pipeline.core.errors import InputError
from pipeline.core.files import digest_of, files_within, require_regular, utf8_name
from pipeline.core.questions import CAUSE, EFFECT, Question
from pipeline.core.tally import Tally
from pipeline.core.types import USUAL_SPLITS
from pipeline.text.unpacking import UnpackingAllowance, read_whole

_FILE = re.compile(rf"({'|'.join(USUAL_SPLITS)}).*\.jsonl(\.gz|\.xz)?")
_MEND = "mend or remove the line"
_LETTERS = "abcd"

ALIKE = "question with two choices alike"
EMPTY = "question without words in its context or in a choice"


def read_ecare(
    source: Path,
    tally: Tally,
    *,
    license_: str,
    allowance: UnpackingAllowance,
    strict: bool = False,
) -> Iterator[Question]:
    """Yield e-CARE's questions of two choices, which ask for a cause or an effect, in the files' order.

    Ids are ``ecare/`` and the field ``index``, which names the split.

    Args:
        source: a file, or a folder with such at any depth, by the name of their split.
        tally: counts what is kept, and questions with two choices alike or without words.
        license_: recorded with every question.
        allowance: what packed files may unpack to.
        strict: such a question is an error instead.

    Raises:
        InputError: no such file, one that is damaged or not UTF-8, a line that is not JSON, lacks a field or
            has another kind of value there, a label that is no choice's, or an id twice; file and line are
            named.
    """
    return _read(source, tally, _ecare, license_, allowance, strict=strict)


def read_kuci(
    source: Path,
    tally: Tally,
    *,
    license_: str,
    allowance: UnpackingAllowance,
    strict: bool = False,
) -> Iterator[Question]:
    """Yield questions of four choices in KUCI's form, which ask what follows; as ``read_ecare``.

    Ids are ``kuci/``, the split and the field ``id``. ``agreement`` and ``core_event_pair`` may be missing.
    """
    return _read(source, tally, _kuci, license_, allowance, strict=strict)


class _QuestionLine:
    """An object of JSON on a line of a file.

    Raises:
        InputError: there is none.
    """

    def __init__(self, text: str, path: Path, number: int) -> None:
        self._path, self._number = path, number
        self._fields = parse_json(text, object, path=path, line=number, remedy=_MEND)
        if not isinstance(self._fields, dict):
            raise self.fault("no JSON object")

    def fault(self, what: str) -> InputError:
        """What is wrong with the line."""
        return InputError(what, path=self._path, line=self._number, remedy=_MEND)

    @property
    def place(self) -> str:
        return f"{self._path}:{self._number}"

    def __contains__(self, name: str) -> bool:
        return self._fields.get(name) is not None

    def text(self, name: str) -> str:
        """The field's text, with single blanks; a number is taken for an id's."""
        value: Any = self._field(name)
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise self.fault(f"{name} is no text: {value!r:.40}")
        return " ".join(str(value).split())

    def number(self, name: str) -> int:
        """The field's whole number."""
        value: Any = self._field(name)
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**31:
            raise self.fault(f"{name} is no whole number: {value!r:.40}")
        return value

    def _field(self, name: str) -> Any:
        if name not in self._fields:
            raise self.fault(f"lacks the field {name!r}")
        return self._fields[name]


def _ecare(line: _QuestionLine, split: str, license_: str) -> Question:
    asks = line.text("ask-for")
    if asks not in (CAUSE, EFFECT):
        raise line.fault(f"ask-for is cause or effect, was {asks[:40]!r}")
    context = line.text("premise")
    return Question(
        question_id=f"ecare/{line.text('index')}", doc_id=of_context(context), split=split,
        asks="cause" if asks == CAUSE else "effect", context=context,
        choices=(line.text("hypothesis1"), line.text("hypothesis2")), answer=line.number("label"),
        events=None, agreement=None, license=license_,
    )  # fmt: skip


def _kuci(line: _QuestionLine, split: str, license_: str) -> Question:
    context, label = line.text("context"), line.text("label").lower()
    return Question(
        question_id=f"kuci/{split}-{line.text('id')}", doc_id=of_context(context), split=split,
        asks="effect", context=context, choices=tuple(line.text(f"choice_{each}") for each in _LETTERS),
        answer=_LETTERS.find(label) if len(label) == 1 else -1,
        events=line.text("core_event_pair") if "core_event_pair" in line else None,
        agreement=line.number("agreement") if "agreement" in line else None, license=license_,
    )  # fmt: skip


def _read(
    source: Path,
    tally: Tally,
    made: Callable[[_QuestionLine, str, str], Question],
    license_: str,
    allowance: UnpackingAllowance,
    *,
    strict: bool,
) -> Iterator[Question]:
    seen: dict[str, str] = {}
    for path, split in _files(source):
        for number, text in enumerate(read_whole(path, allowance).split("\n"), 1):
            if not text.strip():
                continue
            line = _QuestionLine(text, path, number)
            question = made(line, split, license_)
            own = question.question_id.partition("/")[2]
            if not own:
                raise line.fault("has an empty id")
            if own in seen:
                raise line.fault(f"the id {own[:60]!r} stands at {seen[own]}, too")
            seen[own] = line.place
            if not 0 <= question.answer < len(question.choices):
                raise line.fault(f"the label is none of the {len(question.choices)} choices'")
            if reason := unusable(question):
                if strict:
                    raise line.fault(reason)
                tally.refuse(reason, place=line.place)
                continue
            tally.keep()
            yield question


def of_context(context: str) -> str:
    """The id that questions of one context have together, whatever its case."""
    return digest_of(context.casefold().split())[:16]


def unusable(question: Question) -> str | None:
    """Why nothing can be learned from a question, ``ALIKE`` or ``EMPTY``; None where it can."""
    if not all(text.strip() for text in (question.context, *question.choices)):
        return EMPTY
    return ALIKE if len(set(question.choices)) < len(question.choices) else None


def _files(source: Path) -> list[tuple[Path, str]]:
    """The files to read with their splits, the training split first."""
    require_regular(source)
    if not source.is_dir():
        paths = [source]
        remedy = "see `conjoin corpora`" if source.exists() else "check the name"
    else:
        paths = files_within(source, (p for p in source.rglob("*") if ".json" in p.name.lower()))
        remedy = "is it the right folder?"
    found = [
        (path, match[1]) for path in paths if (match := _FILE.fullmatch(utf8_name(path.name, path)))
    ]
    if not found:
        raise InputError(
            f"no file whose name begins with {', '.join(USUAL_SPLITS)} and ends in .jsonl, .jsonl.gz or "
            ".jsonl.xz",
            path=source, remedy=remedy,
        )  # fmt: skip
    if others := len(paths) - len(found):
        known = ", ".join(f"{split}*.jsonl" for split in USUAL_SPLITS)
        tell(f"{source}: {others:,} other files are not read; questions are in {known}")
    return sorted(found, key=lambda each: (USUAL_SPLITS.index(each[1]), each[0]))
