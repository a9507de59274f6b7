"""An answer as text: lines of tab-separated fields, a JSON object, or annotated CoNLL-U."""

import json
from collections.abc import Callable

from pipeline.ground.coordination import bracketed
from pipeline.mechanisms.answers import Answer, Found, Skipped
from pipeline.mechanisms.conllu import with_comments, with_misc
from pipeline.mechanisms.metrics import as_conjuncts

__all__ = ["FORMS", "conllu", "jsonl", "tsv"]


def tsv(answer: Answer) -> str:
    """A line per structure: sentence with its conjuncts in brackets, coordinator, probability.

    What is skipped has the sentence as it is, the coordinator or ``-``, and the reason.
    """
    words = answer.sentence.words
    lines = []
    for entry in answer.entries:
        if isinstance(entry, Skipped):
            word = "-" if entry.coordinator is None else words[entry.coordinator]
            lines.append(f"{' '.join(words)}\t{word}\t{entry.reason}\n")
            continue
        for one in entry.best:
            shown = bracketed(words, as_conjuncts(words, entry.coordinator, one.span))
            lines.append(f"{shown}\t{words[entry.coordinator]}\t{one.probability:.3f}\n")
    return "".join(lines)


def jsonl(answer: Answer) -> str:
    """One object on one line; offsets count words from 0 and are half-open."""
    words = answer.sentence.words
    skipped = [
        {
            "coordinator": entry.coordinator,
            "word": None if entry.coordinator is None else words[entry.coordinator],
            "reason": entry.reason,
        }
        for entry in answer.entries
        if isinstance(entry, Skipped)
    ]
    found = []
    for entry in answer.entries:
        if isinstance(entry, Found):
            best = [
                {
                    "start": one.span.start,
                    "end": one.span.end,
                    "probability": _short(one.probability),
                }
                for one in entry.best
            ]
            conjuncts = as_conjuncts(words, entry.coordinator, entry.best[0].span)
            found.append(
                {
                    "coordinator": entry.coordinator,
                    "word": words[entry.coordinator],
                    "conjuncts": [[span.start, span.end] for span in conjuncts],
                    **best[0],
                    "alternatives": best,
                }
            )
    sentence = {
        "sentence_id": answer.sentence.name,
        "line": answer.sentence.line,
        "words": words,
        "coordinations": found,
        "skipped": skipped,
    }
    return json.dumps(sentence, ensure_ascii=False) + "\n"


def conllu(answer: Answer) -> str:
    """The sentence's own lines, with ``Coord`` and ``CoordProb`` in MISC of each coordinator.

    ``Coord=3-7`` are the IDs of the structure's first and last word; of several structures, best
    first, both have as many values parted by commas. What is skipped is a comment.
    """
    words = answer.sentence.words
    values, comments = {}, []
    for entry in answer.entries:
        if isinstance(entry, Found):
            values[entry.coordinator] = {
                "Coord": ",".join(f"{one.span.start + 1}-{one.span.end}" for one in entry.best),
                "CoordProb": ",".join(str(_short(one.probability)) for one in entry.best),
            }
        elif entry.coordinator is None:
            comments.append(entry.reason)
        else:
            comments.append(f"{entry.coordinator + 1} {words[entry.coordinator]}: {entry.reason}")
    rows = with_misc(answer.sentence.rows, ("Coord", "CoordProb"), values)
    return "\n".join(with_comments(rows, "coord_skipped", comments)) + "\n\n"


def _short(probability: float) -> float:
    """Six digits: what follows depends on how sentences were batched."""
    return float(f"{probability:.6g}")


FORMS: dict[str, Callable[[Answer], str]] = {"tsv": tsv, "jsonl": jsonl, "conllu": conllu}
