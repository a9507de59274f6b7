"""The two prompts of the thesis's §4.4.1, and how answers to them are read.

Their words are the thesis's; what Figure 4.5 leaves open (the quotation marks, where the answer begins, that
it says "No." before "Yes.") is as its authors' code has it. The begun answer ends at the dash of a new line,
without the blank after it, which chat templates cut off.
"""

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from pipeline.core.files import digest_of
from pipeline.models.writers.protocol import Prompt, WrittenAnswer
from pipeline.tasks.relations.pairs import Pair
from pipeline.tasks.relations.synthesize.definitions import Sense

VERDICT_TOKENS = 128
"""Most tokens of a verdict, as the authors' code has it."""

_MARK = re.compile(r"(?:[-*•]|\d{1,2}[.)])\s")
_NAMES = ("write", "begun", "judge")


def writing_prompt(source: Pair, sense: Sense, shown: Sequence[Pair], tokens: int) -> Prompt:
    """Stage 1: what else has the sense to a source's Arg1.

    Args:
        source: the pair whose Arg1 gets new second arguments; its own stands first in the begun answer.
        sense: R_true.
        shown: pairs of that sense.
        tokens: most tokens of the answer.
    """
    arg1, arg2 = (" ".join(words) for words in (source.words1, source.words2))
    user = _template("write").format(
        sense=sense.name, definition=sense.definition, examples=_lines(shown), arg1=arg1
    )
    return Prompt(user, _template("begun").format(arg2=arg2), tokens=tokens)


def judging_prompt(arg1: str, arg2: str, sense: Sense, shown: Sequence[Pair]) -> Prompt:
    """Stage 2: whether a new pair has the sense that it must not be taken for.

    Args:
        arg1: of the new pair.
        arg2: the one that was written.
        sense: R_pred.
        shown: pairs of that sense.
    """
    user = _template("judge").format(
        sense=sense.name, definition=sense.definition, examples=_lines(shown), arg1=arg1, arg2=arg2
    )
    return Prompt(user, tokens=VERDICT_TOKENS)


def listed(answer: WrittenAnswer) -> list[str]:
    """The new second arguments of an answer to stage 1: its lines that begin with a list's mark.

    That is a dash, as the begun answer has, or what models make lists with. The first line needs none where
    the answer was begun with it.
    """
    if answer.text is None:
        return []
    first, *others = answer.text.split("\n")
    first = first.strip()
    # Whoever was only asked to go on says what it likes first.
    if answer.begun != "asked" and not _MARK.match(first):
        first = f"- {first}"
    marks = [(line, _MARK.match(line)) for line in (first, *others)]
    return [" ".join(line[mark.end() :].split()) for line, mark in marks if mark]


def is_last_cut(answer: WrittenAnswer) -> bool:
    """Whether the last of what is ``listed`` may go on: the tokens of the answer ended in its line."""
    *earlier, last = (answer.text or "").split("\n")
    is_item = bool(_MARK.match(last)) if earlier else bool(listed(answer))
    return answer.cut and is_item and bool(last.strip())


def has_it(verdict: str) -> bool | None:
    """Whether an answer to stage 2 says that the pair has the sense; None where it ends in neither word.

    Small models leave out the full stop of an answer of one word.
    """
    said = verdict.strip()
    if said == "No" or said.endswith("No."):
        return False
    return True if said == "Yes" or said.endswith("Yes.") else None


def templates_digest() -> str:
    """Hex SHA-256 of what the prompts are made of."""
    return digest_of([*map(_template, _NAMES), VERDICT_TOKENS])


def _lines(pairs: Sequence[Pair]) -> str:
    return "\n".join(f"{' '.join(each.words1)} - {' '.join(each.words2)}" for each in pairs)


@cache
def _template(name: str) -> str:
    path = files("pipeline") / "resources" / "prompts" / "relations" / f"{name}.txt"
    return path.read_text(encoding="utf-8").strip()
