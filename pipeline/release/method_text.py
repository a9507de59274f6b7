"""How the rows came about, as far as it is recorded: the words that every document has for it.

What each column of a release means, in one place for its card and its Croissant file.
"""

from collections.abc import Mapping
from typing import Any

TREEBANK = "treebank"
"""What trees say of their parser if they came with the source."""


def synchronized(manifest: Mapping[str, Any]) -> set[bool | None]:
    """Whether the runs filled both contexts at once: yes, no, or (None) not recorded."""
    runs = manifest["generations"].values()
    said = [run.get("settings", {}).get("sync") for run in runs]
    return {each if isinstance(each, bool) else None for each in said} or {None}


def method(manifest: Mapping[str, Any]) -> str:
    """The name of the method."""
    found = synchronized(manifest)
    if found == {True}:
        return "synchronized text-infilling"
    if found == {False}:
        return "text-infilling without synchronization"
    return "text-infilling" + (", in part synchronized" if {True, False} <= found else "")


def parser_of(manifest: Mapping[str, Any], generation: Mapping[str, Any]) -> str | None:
    """The parser of the trees that a run read, if the trees at hand are those."""
    if generation.get("settings", {}).get("trees") == TREEBANK:
        return TREEBANK
    used = generation.get("inputs", {}).get("trees")
    trees = [source["trees"] for source in manifest["sources"] if source.get("trees")]
    found = (str(t["parser"]) for t in trees if t["sha256"] == used and t.get("parser"))
    return next(found, None)


def model_name(settings: Mapping[str, Any], unknown: str) -> str:
    """A language model as prose has it: BERT, T5, T5-twins."""
    family, hyphen, rest = str(settings["lm"]).partition("-") if "lm" in settings else ("", "", "")
    return f"{family.upper()}{hyphen}{rest}" or unknown


def parsers(manifest: Mapping[str, Any]) -> list[str | None]:
    """The parsers of all runs that took constituents; None among them: one is not recorded."""
    runs = manifest["generations"].values()
    taken = [run for run in runs if run.get("settings", {}).get("spans") == "constituents"]
    return list(dict.fromkeys(parser_of(manifest, run) for run in taken))


_COLUMNS = {
    "candidate_id": "hash of the content (sentence, words, coordinator, spans); equal content has "
    "equal ids whatever wrote it",
    "sentence_id": "the source sentence",
    "words": "the generated sentence, word by word: the source's words, the inserted coordinator and "
    "the fill",
    "coordinator": "index in `words` of the inserted coordinator, from 0; -1 in a reject without a fill",
    "word": "the coordinator as written",
    "conjuncts": "the two conjuncts as half-open ranges `[start, end)` of `words`: the reference span, "
    "which is the source's, and the fill, which is the model's",
    "label": "category of the reference span (NP, VP, …); `X` for a random word sequence",
    "reference": "the reference span in the source sentence, without what was inserted",
    "fill": "the second conjunct as the language model wrote it",
    "fill_words": "the fill's words, as they stand in the sentence",
    "license": "licence of the source sentence, an SPDX expression",
    "generation": "the run that made the row: a key of `generations` in `manifest.json`",
    "reason": "why the row was refused",
}

_APPEND = "where the fill follows the reference (“X and ___”)"
_PREPEND = "where it comes before the reference (“___ and X”)"
_MEAN = "mean log-probability per token of the fill"
_SYNC = {
    "score": f"{_MEAN}, in both contexts at once",
    "score_append": f"the same {_APPEND}",
    "score_prepend": f"the same {_PREPEND}",
}
_NO_SYNC = {
    "score": f"{_MEAN} {_APPEND}; the other context was not scored",
    "score_append": "the same as `score`",
    "score_prepend": "null: without synchronization there is no such score",
}
_EITHER = {
    "score": f"{_MEAN}, in both contexts at once if the run was synchronized (its setting `sync`), else "
    "the same as `score_append`",
    "score_append": f"{_MEAN} {_APPEND}",
    "score_prepend": f"the same {_PREPEND}; null without synchronization",
}

REASONS = {
    "empty fill": "the model wrote nothing",
    "punctuation only": "the fill has neither letter nor digit",
    "fill equal to the reference": "the fill says the same as the first conjunct, but for case",
    "fill repeated": "the same reference has this fill already",
    "NaN logits": "the model's numbers broke down",
    "reference span has no tokens for the model": "there is nothing that the fill could be as long as",
    "source contains a special token of the model": "masks could not be told from the text",
    "special token in the fill": "the model wrote a sign of its own, such as a mask, not text",
    "fill begins inside a word": "the fill continues a word rather than beginning one",
    "longer than the model allows": "the sentence with its masks does not fit the model",
}
"""Reason of a reject → what it means."""


def meanings(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Column → what it means in this release, in Markdown."""
    found = synchronized(manifest)
    scores = _SYNC if found == {True} else _NO_SYNC if found == {False} else _EITHER
    return _COLUMNS | scores
