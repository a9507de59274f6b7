"""What ``ingest`` reads where argument pairs are wanted: their senses, counts, draws and raw text."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pipeline.core.cards.ingest import IngestCard
from pipeline.core.console import say, table
from pipeline.core.corpora import RELATIONS
from pipeline.core.corpus_folder import RELATIONS_FILE
from pipeline.core.errors import InputError
from pipeline.core.pairs import IMPLICIT, PAIRS, Pair, pair_row
from pipeline.core.tally import Tally
from pipeline.core.types import SPLITS, USUAL_SPLITS
from pipeline.ingest.readers import PAIR_READERS, more_pairs
from pipeline.ingest.reading import (
    ReadFile,
    ReadItem,
    ReadRows,
    held_out_in_training,
    tell_empty,
    tell_tallies,
    without_control,
)
from pipeline.ingest.settings import IngestSettings


def read_relations(settings: IngestSettings, tally: Tally) -> ReadRows:
    """The argument pairs of ``settings.source``, and the senses that models shall tell apart.

    Raises:
        InputError: malformed input; or no sense is frequent enough.
    """
    reader = settings.reader
    read = without_control(
        "pair", PAIR_READERS[reader](settings, tally), _text_of, tally, strict=settings.strict
    )
    pairs = [replace(pair, pair_id=settings.name + pair.pair_id[len(reader) :]) for pair in read]
    senses = frequent_senses(pairs, settings.least)
    if pairs and len(senses) < 2:
        raise InputError(
            f"{len(senses)} senses have {settings.least} implicit training pairs or more, and a model tells "
            "two apart at least",
            path=settings.source, remedy="say a smaller --least, or check the split",
        )  # fmt: skip
    counts = _counts(pairs, senses)
    card: IngestCard = {
        "task": RELATIONS,
        "senses": list(senses),
        **counts,
        "refused": tally.to_dict()["refused"],
    }

    def show() -> None:
        _show(settings, counts, senses, tally)

    return ReadRows(
        called="pair",
        count=len(pairs),
        files=[ReadFile(RELATIONS_FILE, PAIRS, lambda: map(pair_row, pairs))],
        lines=lambda: _lines(settings, pairs),
        drawable=[pair.pair_id for pair in pairs if pair.split == "train" and _is_of(pair, senses)],
        drawn_of="implicit pairs of these senses",
        nothing_drawn="no implicit pair in the training split",
        card=card,
        show=show,
        twice=held_out_in_training(
            ReadItem(pair.pair_id, pair.split, (pair.words1, pair.words2), pair.kind == IMPLICIT)
            for pair in pairs
        ),
    )


def frequent_senses(pairs: Sequence[Pair], least: int) -> tuple[str, ...]:
    """Senses of so many implicit training pairs at least, the most frequent first, ties by name."""
    counts = Counter(
        sense
        for pair in pairs
        if pair.split == "train" and pair.kind == IMPLICIT
        for sense in pair.senses
    )
    kept = (sense for sense, count in counts.items() if count >= least)
    return tuple(sorted(kept, key=lambda sense: (-counts[sense], sense)))


def _text_of(pair: Pair) -> str:
    return "".join((*pair.words, pair.connective or ""))


def _is_of(pair: Pair, senses: Sequence[str]) -> bool:
    return pair.kind == IMPLICIT and any(sense in senses for sense in pair.senses)


def _lines(settings: IngestSettings, pairs: Sequence[Pair]) -> Iterator[str]:
    """Both arguments of training pairs in a line, each pair once."""
    training = (pair for pair in (*pairs, *more_pairs(settings)) if pair.split == "train")
    yield from dict.fromkeys(f"{pair.arg1} {pair.arg2}" for pair in training)


def _counts(pairs: Sequence[Pair], senses: Sequence[str]) -> IngestCard:
    """Pairs by split and kind, and the implicit ones by sense."""
    there = {pair.split for pair in pairs} | set(USUAL_SPLITS)
    shown = [name for name in SPLITS if name in there]
    kinds = dict.fromkeys((IMPLICIT, *sorted({pair.kind for pair in pairs})))
    splits: dict[str, Counter[str]] = {name: Counter() for name in shown}
    labels: dict[str, Counter[str]] = {name: Counter() for name in shown}
    for pair in pairs:
        here = splits[pair.split]
        here[pair.kind] += 1
        here["beside_explicit"] += pair.beside_explicit
        if _is_of(pair, senses):
            here["of_these_senses"] += 1
            labels[pair.split].update(sense for sense in pair.senses if sense in senses)
    rows = (IMPLICIT, "of_these_senses", "beside_explicit", *(k for k in kinds if k != IMPLICIT))
    return {
        "splits": {name: {row: splits[name][row] for row in rows} for name in shown},
        "labels": {name: {s: labels[name][s] for s in senses} for name in shown},
    }


def _show(
    settings: IngestSettings,
    counts: IngestCard,
    senses: Sequence[str],
    tally: Tally,
) -> None:
    splits: Mapping[str, Mapping[str, int]] = counts["splits"]
    labels: Mapping[str, Mapping[str, int]] = counts["labels"]
    table(
        f"{settings.name}: argument pairs",
        ("", *splits),
        [
            (row.replace("_", " "), *(splits[name][row] for name in splits))
            for row in splits["train"]
        ],
    )
    table(
        "implicit pairs by sense",
        ("", *labels),
        [(sense, *(labels[name][sense] for name in labels)) for sense in senses],
    )
    say(
        f"{len(senses)} senses with {settings.least} implicit training pairs or more: models tell these apart"
    )
    tell_tallies({"read": tally})
    tell_empty({name: splits[name]["of_these_senses"] for name in splits})
