"""``conjoin orphans``: how well a parser finds the orphans of ellipsis, beside UAS and LAS.

Words are aligned as in the CoNLL 2018 shared task, by its evaluation script (``udtools.udeval``),
so that a parser may have tokenised otherwise: both files must have the same characters but for
spaces. The script scores content words apart (CLAS); orphans are scored by files in which they are
the only content words.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from io import StringIO
from itertools import accumulate, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from udtools import udeval

from pipeline.core.claims import Claim, Listed, appearing
from pipeline.core.console import plain_json, say, table, warn
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import json_text
from pipeline.ellipsis.orphans.settings import OrphansSettings
from pipeline.text.coordinations import WITHHELD, is_withheld
from pipeline.text.dependencies import DependencyTree, TreebankWord, read_trees
from pipeline.text.lines import open_lines
from pipeline.text.unpacking import UnpackingAllowance

ORPHAN = "orphan"
_OTHER = "punct"  # no content word, and so not counted


def run(settings: OrphansSettings) -> None:
    """Print the figures as tables, or as one JSON object.

    Raises:
        InputError: a file is no CoNLL-U, a sentence of it is no tree, the two have different texts, no
            word of them is known, or ``out`` is one of them or a folder.
    """
    if settings.gold == settings.system == Path("-"):
        raise InputError("both are standard input", remedy="name one of them")
    with (
        nullcontext() if settings.out is None else appearing(_claim(settings.out, settings)) as out
    ):
        figures = _figures(settings, out)
    if settings.json_:
        print(plain_json(json.dumps(figures, indent=2)))
        return
    _show(figures)


def _claim(out: Path, settings: OrphansSettings) -> Claim:
    named = [path for path in (settings.gold, settings.system) if path != Path("-")]
    return Claim(out, "orphans", named, _earlier, file=True)


def _earlier(path: Path) -> Listed:
    """Nothing beside it, where a file has what ``--out`` writes."""
    try:
        found = read_json(path)
    except InputError:
        return None
    return () if {"orphans", "counted", "by_sentence"} <= found.keys() else None


def _figures(settings: OrphansSettings, out: Path | None) -> dict[str, Any]:
    """The figures, which are written with the counts by sentence, too, if they are to be."""
    allowance = UnpackingAllowance(settings.largest_unpacked)
    every = [_trees(path, allowance) for path in (settings.gold, settings.system)]
    _require_same_text(settings, *every)
    gold, system = ([t for t in trees if not is_withheld(t.forms)] for trees in every)
    if not gold:
        raise InputError(
            "underscores stand for the words of every sentence", path=settings.gold,
            remedy="get the text from where the treebank says",
        )  # fmt: skip
    if _text(gold) != _text(system):
        raise InputError(
            f"a {WITHHELD} in one of the files is part of another sentence in the other",
            path=settings.system, remedy="take such sentences out of both",
        )  # fmt: skip
    figures = score(gold, system)
    if left_out := len(every[0]) - len(gold):
        figures["left_out"] = {WITHHELD: left_out}
        warn(f"left out, a {WITHHELD}: {left_out:,} of gold's")
    counts = by_sentence(gold, system)
    if counts is not None:
        figures["intervals"] = intervals(counts)
    if out is not None:
        columns = None if counts is None else counts.tolist()
        whole = {**figures, "counted": COUNTED, "by_sentence": columns}
        out.write_text(json_text(whole), encoding="utf-8")
    return figures


def score(gold: Sequence[DependencyTree], system: Sequence[DependencyTree]) -> dict[str, Any]:
    """The figures of a parser's trees, JSON-ready; shares in [0, 1], None where they are undefined.

    Args:
        gold: the right trees.
        system: of the same text.
    """
    whole = _evaluated(_rendered(gold), _rendered(system))
    labels = _evaluated(_rendered(gold, _only_orphans, heads=False),
                        _rendered(system, _only_orphans, heads=False))  # fmt: skip
    labelled = _evaluated(_rendered(gold, _only_orphans), _rendered(system, _only_orphans))
    # Where every word of the system is called an orphan, those of gold are right by their heads alone.
    heads = _evaluated(_rendered(gold, _only_orphans), _rendered(system, lambda _: ORPHAN))
    return {
        "gold": _counts(gold, labels["CLAS"].gold_total),
        "system": _counts(system, labels["CLAS"].system_total),
        "aligned_words": whole["Words"].correct,
        "uas": _share(whole["UAS"]),
        "las": _share(whole["LAS"]),
        "orphans": {
            "found": _share(labels["CLAS"]),
            "attached": {
                "correct": heads["CLAS"].correct,
                "recall": _ratio(heads["CLAS"].correct, heads["CLAS"].gold_total),
            },
            "found_and_attached": _share(labelled["CLAS"]),
        },
    }


COUNTED = ["words", "uas", "las", "gold_orphans", "system_orphans", "found_and_attached"]
"""What ``by_sentence`` counts, column by column."""


def by_sentence(
    gold: Sequence[DependencyTree], system: Sequence[DependencyTree]
) -> npt.NDArray[np.int64] | None:
    """What is right in each sentence, shape (sentences, columns of ``COUNTED``).

    None if a parser has cut the text otherwise: then no sentence of its need be one of gold's.
    """
    if [tree.forms for tree in gold] != [tree.forms for tree in system]:
        return None
    rows = []
    for right, found in zip(gold, system, strict=True):
        pairs = list(zip(right.words, found.words, strict=True))
        heads = [(one, two) for one, two in pairs if one.head == two.head]
        labelled = [one for one, two in heads if one.relation == two.relation]
        rows.append(
            [
                len(pairs),
                len(heads),
                len(labelled),
                sum(one.relation == ORPHAN for one, _ in pairs),
                sum(two.relation == ORPHAN for _, two in pairs),
                sum(one.relation == ORPHAN for one in labelled),
            ]
        )
    return np.array(rows, np.int64)


_RESAMPLES, _LEVEL = 2_000, 0.95


def intervals(counts: npt.NDArray[np.int64]) -> dict[str, list[float] | None]:
    """95 % percentile bootstrap intervals over sentences; None where a share is of nothing.

    Args:
        counts: of ``by_sentence``.
    """
    random = np.random.default_rng(0)
    drawn = np.array(
        [counts[random.integers(len(counts), size=len(counts))].sum(0) for _ in range(_RESAMPLES)]
    )
    words, heads, labelled, gold, system, both = drawn.T
    shares = {
        "uas": (heads, words),
        "las": (labelled, words),
        "orphans_f": (2 * both, gold + system),
    }
    found: dict[str, list[float] | None] = {}
    for name, (part, whole) in shares.items():
        known = whole > 0
        tail = (1 - _LEVEL) / 2
        ends = np.quantile(part[known] / whole[known], [tail, 1 - tail]) if known.any() else None
        found[name] = None if ends is None else [float(end) for end in ends]
    return found


def _trees(path: Path, allowance: UnpackingAllowance) -> list[DependencyTree]:
    with open_lines(path, allowance=allowance) as lines:
        trees = list(read_trees(lines))
    if not trees:
        raise InputError("no sentence here", path=lines.name, remedy="is it CoNLL-U?")
    return trees


def _only_orphans(word: TreebankWord) -> str:
    return ORPHAN if word.relation == ORPHAN else _OTHER


def _rendered(
    trees: Sequence[DependencyTree],
    name: Callable[[TreebankWord], str] = lambda word: word.deprel,
    *,
    heads: bool = True,
) -> str:
    """CoNLL-U of the basic trees, relations named anew, without their heads if so wanted."""
    lines = []
    for tree in trees:
        tokens = {token.first: token for token in tree.tokens}
        for word in tree.words:
            if token := tokens.get(word.number):
                lines.append(f"{token.first}-{token.last}\t{token.form}" + "\t_" * 8)
            head = word.head if heads else 0
            lines.append(f"{word.number}\t{word.form}\t_\t_\t_\t_\t{head}\t{name(word)}\t_\t_")
        lines.append("")
    return "\n".join(lines) + "\n"


def _evaluated(gold: str, system: str) -> dict[str, Any]:
    options = {"multiple_roots_okay": True}
    read = [udeval.load_conllu(StringIO(text), "", options) for text in (gold, system)]
    return dict(udeval.evaluate(*read))


def _share(score_: Any) -> dict[str, Any]:
    """Precision, recall and F of a score of the evaluation script."""
    both = score_.gold_total + score_.system_total
    return {
        "correct": score_.correct,
        "precision": _ratio(score_.correct, score_.system_total),
        "recall": _ratio(score_.correct, score_.gold_total),
        "f": _ratio(2 * score_.correct, both),
    }


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _counts(trees: Sequence[DependencyTree], orphans: int) -> dict[str, int]:
    words = sum(len(tree.words) for tree in trees)
    return {"sentences": len(trees), "words": words, "orphans": orphans}


def _require_same_text(
    settings: OrphansSettings, gold: Sequence[DependencyTree], system: Sequence[DependencyTree]
) -> None:
    """Refuse files of different texts, at the first sentence of the parser's that differs.

    Raises:
        InputError: they are.
    """
    texts = [_text(gold), _text(system)]
    if texts[0] == texts[1]:
        return
    at = next(n for n, (one, two) in enumerate(zip_longest(*texts)) if one != two)
    ends = accumulate(len(tree.characters) for tree in system)
    place = next((tree for tree, end in zip(system, ends, strict=True) if at < end), system[-1])
    right, found = (text[max(0, at - 10) : at + 20] for text in texts)
    raise InputError(
        f"another text than {settings.gold.name}: {found!r} where it has {right!r}",
        path=str(settings.system), line=place.line, sentence_id=place.name and place.name[:100],
        remedy="parse the same sentences in the same order; only words and spaces may be cut otherwise",
    )  # fmt: skip


def _text(trees: Sequence[DependencyTree]) -> str:
    return "".join(tree.characters for tree in trees)


def _show(figures: dict[str, Any]) -> None:
    gold, system, orphans = figures["gold"], figures["system"], figures["orphans"]
    say(
        f"gold    {gold['sentences']:,} sentences, {gold['words']:,} words, {gold['orphans']:,} orphans"
    )
    say(
        f"system  {system['sentences']:,} sentences, {system['words']:,} words, {system['orphans']:,} orphans"
    )
    ends = figures.get("intervals", {})
    rows = [
        (
            name,
            *(_percent(each.get(what)) for what in ("precision", "recall", "f")),
            "–" if not ends.get(key) else " to ".join(map(_percent, ends[key])),
        )
        for name, key, each in (
            ("UAS", "uas", figures["uas"]),
            ("LAS", "las", figures["las"]),
            ("orphans found", "", orphans["found"]),
            ("orphans attached to their head", "", orphans["attached"]),
            ("orphans found and attached", "orphans_f", orphans["found_and_attached"]),
        )
    ]
    table(
        "in %, of aligned words, subtypes of relations left out",
        ("", "precision", "recall", "F", "95 % of F"),
        rows,
    )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f}"
