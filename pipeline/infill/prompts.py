"""What a causal LM is asked for a fill: the twins of §3.1, each with its blank described.

A causal LM sees nothing to the right of what it writes. So the twin stands in the question, its blank
marked, after examples that say what is wanted, for base models can do no more with a question than go on
with it. The answer begins with the reference span and goes on with the fill.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pipeline.core.files import digest_of
from pipeline.core.structures import laid_out
from pipeline.core.types import Reference, Structure
from pipeline.models.writers.protocol import Prompt
from pipeline.text.natural import join_words

BLANK = "____"
"""What marks the blank in a question."""

ANSWER = 'Beside "{reference}":'
"""How an answer begins, so that a fill follows a space wherever in its sentence it stands."""


@dataclass(frozen=True, slots=True)
class Around:
    """A twin as natural text, ``text``, and what stands ``before`` and ``after`` its ``BLANK`` there.

    The space before the blank is no part of ``before``.
    """

    text: str
    before: str
    after: str


def around_blank(reference: Reference, coordinator: str) -> tuple[Around, Around]:
    """What stands around the blanks of S′(1), "X and ____", and S′(2), "____ and X".

    Args:
        reference: the sentence and its reference span X, with what stands beside it already.
        coordinator: the word that links the conjuncts where the reference names no structure.
    """
    words, span = reference.words, reference.span
    there = [words[span.start : span.end], *(each.words for each in reference.placed)]
    structure = reference.structure or Structure(coordinator)

    def around(conjuncts: Sequence[Sequence[str]], place: int) -> Around:
        laid = laid_out(structure, conjuncts, span.start)
        text = join_words([*words[: span.start], *laid.words, *words[span.end :]])
        start, end = text.offsets[laid.conjuncts[place].start]
        return Around(text.text, text.text[:start].rstrip(" "), text.text[end:])

    return around([*there, [BLANK]], -1), around([[BLANK], *there], 0)


def twin_prompts(reference: Reference, coordinator: str) -> tuple[Prompt, Prompt]:
    """The questions for S′(1) and S′(2), and how their answers begin; arguments as of ``around_blank``."""
    span = reference.span
    answer = ANSWER.format(reference=join_words(reference.words[span.start : span.end]).text)
    first, second = (
        Prompt(_question().format(sentence=each.text), answer)
        for each in around_blank(reference, coordinator)
    )
    return first, second


def prompts_digest() -> str:
    """Hex SHA-256 of what the questions and answers are made of."""
    return digest_of([_question(), BLANK, ANSWER])


@cache
def _question() -> str:
    path = files("pipeline") / "resources" / "prompts" / "fill.txt"
    return path.read_text(encoding="utf-8").strip()
