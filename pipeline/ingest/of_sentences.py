"""What ``ingest`` reads where sentences are wanted: their counts (Table 1), draws and raw text."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from pipeline.core.cards.ingest import IngestCard
from pipeline.core.console import say, table
from pipeline.core.corpus_folder import DEPENDENCIES_FILE, SENTENCES_FILE, coordinators_of
from pipeline.core.errors import InputError
from pipeline.core.schema import (
    DEPENDENCIES,
    coordinators_metadata,
    sentence_row,
    sentences_schema,
)
from pipeline.core.tally import Tally
from pipeline.core.types import (
    REFERENCE_LABELS,
    SPLITS,
    UNDECIDED,
    UNLABELLED,
    USUAL_COORDINATORS,
    USUAL_SPLITS,
    Sentence,
    holds_coordinator,
    is_undecided_seed,
    is_unlabelled_seed,
)
from pipeline.ingest.coordinators import (
    FoundCoordinators,
    find_coordinators,
    named_coordinators,
)
from pipeline.ingest.document_sentences import UniversalSentence
from pipeline.ingest.draws import drawable
from pipeline.ingest.readers import READERS, more_text, unlabelled
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
from pipeline.text.natural import join_words

_TABLE_1 = {"genia", "ptb", "ptb-ext"}  # the paper's corpora
_MIN_WORDS = 10  # footnote 3; preparse has it as a setting


def read_sentences(settings: IngestSettings, tally: Tally) -> ReadRows:
    """The sentences of ``settings.source``, and of ``--unlabelled``.

    Raises:
        InputError: malformed input, or ids that repeat.
    """
    read = READERS[settings.reader](settings, tally)
    read = without_control("sentence", read, _text_of, tally, strict=settings.strict)
    sentences = list(_named(read, settings.reader, settings.name))
    of_text = Tally()
    found = _coordinators(settings, sentences)
    if sentences:
        sentences += _named(unlabelled(settings, of_text), "text", settings.name)
    _check(sentences, settings.source)
    words = found.words if found else USUAL_COORDINATORS
    if words != USUAL_COORDINATORS:
        known = frozenset(words)
        sentences = [replace(each, coordinators=known) for each in sentences]
    twice = held_out_in_training(ReadItem(s.sentence_id, s.split, s.words) for s in sentences)
    counts = _counts(sentences)
    document: IngestCard = {**counts}
    document["refused"] = tally.to_dict()["refused"]
    if words != USUAL_COORDINATORS:
        document["coordinators"] = list(words)
    if settings.unlabelled:
        document["unlabelled"] = of_text.to_dict()

    columns, metadata = sentences_schema(sentences), coordinators_metadata(words)
    files = [ReadFile(SENTENCES_FILE, columns, lambda: map(sentence_row, sentences), metadata)]
    if any(isinstance(each, UniversalSentence) for each in sentences):
        files.append(ReadFile(DEPENDENCIES_FILE, DEPENDENCIES, lambda: _dependencies(sentences)))

    def show() -> None:
        if found:
            found.show()
        _show(settings, counts, {"read": tally, "read of --unlabelled": of_text})

    return ReadRows(
        called="sentence",
        count=len(sentences),
        files=files,
        lines=lambda: _lines(settings, sentences),
        drawable=drawable(sentences),
        drawn_of="sentences with coordination",
        nothing_drawn="no coordination in the training split",
        card=document,
        show=show,
        twice=twice,
    )


def _dependencies(sentences: Sequence[Sentence]) -> Iterator[dict[str, str | bool]]:
    """The rows of the sentences with a dependency tree, in their order."""
    for each in sentences:
        if isinstance(each, UniversalSentence):
            yield {"sentence_id": each.sentence_id, "rows": each.rows, "parsed": each.parsed}


def _coordinators(
    settings: IngestSettings, sentences: Sequence[Sentence]
) -> FoundCoordinators | None:
    """The coordinators of a corpus; None where they are the usual ones, and nothing is said of them.

    Raises:
        InputError: as ``find_coordinators``.
    """
    if not sentences:
        return None
    if settings.reader == "corrected":
        words = coordinators_of(settings.corpus_of())
        return FoundCoordinators(words, Counter()) if words != USUAL_COORDINATORS else None
    named = settings.coordinators if settings.has_effect("coordinators") else []
    if named and settings.reader == "text":  # nobody said what they join
        return FoundCoordinators(tuple(named), Counter())
    if named:
        return named_coordinators(named, sentences, settings.source)
    return find_coordinators(sentences, settings.source) if settings.reader == "conllu" else None


def _lines(settings: IngestSettings, sentences: Sequence[Sentence]) -> Iterator[str]:
    """The raw text that language models may learn from.

    Held-out sentences, on which models are later judged, are not taken from the corpus; a short one
    of the world's raw text may equal one of them by chance.
    """
    training = (sentence for sentence in sentences if sentence.split == "train")
    for sentence in chain(training, more_text(settings)):
        yield join_words(sentence.words).text


def _named(sentences: Iterator[Sentence], reader: str, name: str) -> Iterator[Sentence]:
    """The sentences with ids that begin with the corpus's name; readers put their own there."""
    for sentence in sentences:
        if name != reader:
            changed = name + sentence.sentence_id[len(reader) :]
            sentence = replace(sentence, sentence_id=changed)  # noqa: PLW2901
        yield sentence


def _text_of(sentence: Sentence) -> str:
    return "".join((*sentence.words, *(sentence.tags or ()), sentence.tree or ""))


def _check(sentences: list[Sentence], source: Path) -> None:
    for sentence_id, times in Counter(s.sentence_id for s in sentences).items():
        if times > 1:
            raise InputError(
                f"{times} sentences have the same id", path=source, sentence_id=sentence_id,
                remedy="is a file there twice?",
            )  # fmt: skip


def _counts(sentences: list[Sentence]) -> IngestCard:
    """Table 1's counts, labels of evaluable instances, and the unlabelled seeds U.

    ``instances`` are all structures in sentences with an evaluable one, as Table 1 counts them. Sentences
    that only their length makes no seed are not counted as refused.
    """
    there = {sentence.split for sentence in sentences} | set(USUAL_SPLITS)
    shown = [name for name in SPLITS if name in there]
    splits: dict[str, Counter[str]] = {name: Counter() for name in shown}
    labels: dict[str, Counter[str]] = {name: Counter() for name in shown}
    seeds: Counter[str] = Counter()
    examined: Counter[str] = Counter()
    for sentence in sentences:
        here = splits[sentence.split]
        evaluable = sentence.evaluable
        here["sentences"] += 1
        labels[sentence.split].update(c.label for c in evaluable)
        if evaluable:
            here["with_coordination"] += 1
            here["instances"] += len(sentence.coordinations)
            here["evaluable_instances"] += len(evaluable)
        if sentence.examined:
            examined["sentences"] += 1
            examined["seeds"] += is_unlabelled_seed(sentence, _MIN_WORDS)
        if is_unlabelled_seed(sentence, 1):
            seeds["without_coordination"] += 1
        if is_unlabelled_seed(sentence, _MIN_WORDS):
            seeds[f"of_{_MIN_WORDS}_words_or_more"] += 1
            if not holds_coordinator(sentence.words, sentence.coordinators):
                seeds["and_without_coordinator_word"] += 1
        elif is_undecided_seed(sentence, _MIN_WORDS):
            seeds[f"refused: {UNDECIDED}"] += 1
    rows = ("sentences", "with_coordination", "instances", "evaluable_instances")
    counts: IngestCard = {
        "splits": {name: {row: splits[name][row] for row in rows} for name in shown},
        "labels": {name: dict(labels[name]) for name in shown},
        "unlabelled_seeds": dict(seeds),
    }
    if examined:
        counts["examined"] = dict(examined)
    return counts


def _show_unmade(labels: Mapping[str, Mapping[str, int]], order: Sequence[str]) -> None:
    """Say which of the evaluable instances have a label that no reference span can have."""
    counts = {label: sum(found.get(label, 0) for found in labels.values()) for label in order}
    # Of boundaries alone nobody said a label, which is no reason to think of any.
    made = {*REFERENCE_LABELS, UNLABELLED}
    unmade = {label: n for label, n in counts.items() if label not in made}
    if unmade:
        share = 100 * sum(unmade.values()) / sum(counts.values())
        say(
            f"no reference span has the label of {share:.1f} % of them, so generation makes none like them: "
            + ", ".join(f"{label} {n:,}" for label, n in unmade.items())
        )


def _show_examined(examined: Mapping[str, int]) -> None:
    """Say of how many sentences a person said that they have no coordination, and what that changes."""
    say(
        f"sentences with a coordinator that joins nothing, as somebody said: {examined['sentences']:,}; no "
        "draw of L has them, for a predictor learns from structures alone, and `evaluate` asks of none of "
        "them, so its figures stay as they are and no precision is measured; `annotate` does not offer them "
        f"again; sources of candidates (U): {examined['seeds']:,} of them, of {_MIN_WORDS} words or more"
    )


def _show(
    settings: IngestSettings,
    counts: IngestCard,
    tallies: dict[str, Tally],
) -> None:
    splits, labels = counts["splits"], counts["labels"]
    table(
        f"{settings.name}: sentences and coordination"
        + (" (Table 1)" if settings.reader in _TABLE_1 else ""),
        ("", *splits),
        [
            (row.replace("_", " "), *(splits[name][row] for name in splits))
            for row in splits["train"]
        ],
    )
    order = sorted(
        set().union(*labels.values()), key=lambda x: (-sum(labels[s].get(x, 0) for s in labels), x)
    )
    if order:
        table(
            "evaluable by label",
            ("", *labels),
            [(label, *(labels[name].get(label, 0) for name in labels)) for label in order],
        )
        _show_unmade(labels, order)
    table(
        "unlabelled seeds U",
        ("", "sentences"),
        [
            (name.replace("_", " "), count)
            for name, count in (counts["unlabelled_seeds"] or {}).items()
        ],
    )
    if counts.get("examined"):
        _show_examined(counts["examined"])
    tell_tallies(tallies)
    if settings.reader != "text":  # which has no splits
        tell_empty({name: splits[name]["sentences"] for name in splits})
