"""A probe of a corpus: its dev coordinations, a judge from its conjuncts, senses from its text."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.core.console import say
from pipeline.core.files import digest_of
from pipeline.core.schema import read_sentences
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence
from pipeline.pretrain.probe.categories import Judge
from pipeline.pretrain.probe.probe import Probe, Question
from pipeline.pretrain.probe.questions import Held, examples, held_out, ordered, rng_of
from pipeline.pretrain.probe.word_vectors import Senses

UNKNOWN = "no word of the conjunct is known from the text"
ALONE = "no other conjunct to compare its sense with"

_RIVALS = 20
_Known = tuple[Held, NDArray[np.float32]]


def build_probe(corpus: Path, count: int, seed: int) -> Probe | None:
    """The probe of a corpus, deterministic; None, and a line that says why, if nothing can be probed.

    Args:
        corpus: folder with ``sentences.parquet`` and ``text.txt``.
        count: coordinations to ask for; all there are, if fewer.
        seed: of the draw, of the rivals and of the word vectors.

    Raises:
        InputError: one of the files is missing or damaged.
    """
    splits: dict[str, list[Sentence]] = {"train": [], "dev": []}
    for sentence in read_sentences(
        corpus / "sentences.parquet", lambda s: s.split in splits and bool(s.coordinations)
    ):
        splits[sentence.split].append(sentence)
    held, tally = held_out(splits["dev"])
    learnt = examples(splits["train"], seed)
    if not held or not learnt or not count:
        why = _reason(held, count)
        say(f"no probe of {corpus}: {why}{_left_out(tally)}")
        return None
    senses = Senses.read(corpus / "text.txt", seed)
    questions = _questions(held, senses, count, seed, tally)
    if not questions:
        say(f"no probe of {corpus}: {_reason([], count)}{_left_out(tally)}")
        return None
    judge = Judge(learnt)
    accuracy = judge.accuracy([(each.conjunct, each.category) for each in held])
    say(
        f"probe: {len(questions):,} of {tally.kept:,} coordinations of the dev split"
        f"{_left_out(tally)}; the judge of categories is right on {accuracy:.1%} of its conjuncts"
    )
    known = [(each.reference.sentence_id, each.conjunct, each.category) for each in held]
    material = digest_of([seed, known, learnt, senses.source])
    return Probe(questions, judge, senses, accuracy, material)


def _reason(held: Sequence[Held], count: int) -> str:
    if not count:
        return "none was asked for"
    if not held:
        return (
            "its dev split has no coordination of two conjuncts with and, or that can be asked for"
        )
    return "its training split has no conjunct to learn categories from"


def _left_out(tally: Tally) -> str:
    parts = [f"{count:,} {reason}" for reason, count in tally.rows()[1:]]
    return f" (left out: {'; '.join(parts)})" if parts else ""


def _questions(
    held: Sequence[Held], senses: Senses, count: int, seed: int, tally: Tally
) -> list[Question]:
    """The first ``count`` in the order of the draw that can be judged; the tally learns of others."""
    known: list[_Known] = []
    for each in ordered(held, seed):
        vector = senses.of(each.conjunct)
        if vector is None:
            _refuse(tally, UNKNOWN)
        else:
            known.append((each, vector))
    found: list[Question] = []
    for each, vector in known:
        rivals = _rivals(each, known, seed)
        if not rivals:
            _refuse(tally, ALONE)
        elif len(found) < count:
            others = tuple(other.conjunct for other, _ in rivals)
            found.append(Question(each, vector, np.stack([v for _, v in rivals]), others))
    return found


def _refuse(tally: Tally, reason: str) -> None:
    tally.keep(-1)
    tally.refuse(reason)


def _rivals(held: Held, known: Sequence[_Known], seed: int) -> list[_Known]:
    """Up to 20 other conjuncts of the same category, of other words; of any, if there is none."""
    words = _lower(held)
    others = [other for other in known if _lower(other[0]) != words]
    pool = [other for other in others if other[0].category == held.category] or others
    return rng_of(held, seed).sample(pool, min(_RIVALS, len(pool)))


def _lower(held: Held) -> tuple[str, ...]:
    return tuple(word.lower() for word in held.conjunct)
