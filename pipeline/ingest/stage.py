"""``conjoin ingest``: a corpus into ``sentences.parquet``, the draws of L, and its counts (§5.1)."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from pipeline.core.cards.ingest import DrawFile, IngestCard
from pipeline.core.claims import Claim, mark_of
from pipeline.core.console import say, table
from pipeline.core.corpus_folder import (
    DRAWS_FOLDER,
    INGEST_RECORD,
    SENTENCES_FILE,
    TEXT_FILE,
    draw_file,
    ingest_card,
    ingest_output,
)
from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts, folder_lock, sweep, write_json, write_text
from pipeline.core.fingerprint import Fingerprint, versions_of
from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, sentence_row
from pipeline.core.tally import MOST_PLACES, Tally
from pipeline.core.types import (
    REFERENCE_LABELS,
    SPLITS,
    UNDECIDED,
    USUAL_SPLITS,
    Sentence,
    holds_coordinator,
    is_undecided_seed,
    is_unlabelled_seed,
)
from pipeline.core.words import is_without_control
from pipeline.ingest.draws import SMALLEST, Draw, Size, draw, drawable
from pipeline.ingest.readers import READERS, more_text, unlabelled
from pipeline.ingest.settings import IngestSettings
from pipeline.text.natural import join_words

ALGORITHM = 1
"""Raise it when other code makes other sentences or draws of the same inputs (tests/test_golden.py)."""

_TABLE_1 = {"genia", "ptb", "ptb-ext"}  # the paper's corpora
_MIN_WORDS = 10  # footnote 3; preparse has it as a setting


def run(settings: IngestSettings) -> None:
    """Read ``settings.source`` and write ``settings.out``.

    Nothing is written before everything has been read and drawn, so an error leaves no trace. The counts
    are the record of all files: they are removed first and written last.

    Raises:
        InputError: malformed or empty input, ids that repeat, too few sentences for a draw.
    """
    claim = _claim(settings)
    claim.check()
    tally = Tally()
    read = READERS[settings.reader](settings, tally)
    read = _without_control(read, tally, strict=settings.strict)
    sentences = list(_named(read, settings.reader, settings.name))
    if not sentences:
        _require_files(settings.source)
        raise InputError(
            f"no sentence to keep{_why(tally)}", path=settings.source,
            remedy="see `conjoin corpora`",
        )  # fmt: skip
    of_text = Tally()
    sentences += _named(unlabelled(settings, of_text), "text", settings.name)
    _check(sentences, settings.source)
    draws = _draws(sentences, settings)
    counts = _counts(sentences)
    twice = _held_out_in_training(sentences)
    document: IngestCard = {"reader": settings.reader, "name": settings.name, **counts}
    document["refused"] = tally.to_dict()["refused"]
    if settings.unlabelled:
        document["unlabelled"] = of_text.to_dict()
    document["draws"] = {
        f"seed-{s}/{n}": {"labelled": len(d.labelled), "validation": len(d.validation)}
        for (s, n), d in draws.items()
    }
    output = ingest_output(settings.out, _fingerprint(settings))
    with folder_lock(settings.out):
        own = _own_before(settings.out)
        names = {SENTENCES_FILE, TEXT_FILE, INGEST_RECORD, *(draw_file(*each) for each in draws)}
        # Until the record is written, this is how the next run knows its files.
        claim.take(own | names)
        sweep(*(settings.out / name for name in names))
        output.begin()
        # By this folder an interrupted run is known.
        (settings.out / DRAWS_FOLDER).mkdir(parents=True, exist_ok=True)
        rows = {SENTENCES_FILE: len(sentences)}
        write_rows(settings.out / SENTENCES_FILE, SENTENCES, map(sentence_row, sentences))
        rows[TEXT_FILE] = lines = _write_text(settings, sentences)
        drawn = _write_draws(settings.out, draws, own)
        facts = {
            name: FileFacts.of(settings.out / name, rows.get(name)) for name in (*rows, *drawn)
        }
        output.finish(facts, {**document, "raw_text": lines, "held_out_in_training": len(twice)})
    _show(settings, counts, {"read": tally, "read of --unlabelled": of_text}, draws)
    if twice:
        say(
            f"warning: {len(twice):,} sentences of other splits stand in the training split word for word, "
            f"so what is measured on them was learnt: {', '.join(twice[:MOST_PLACES])}"
        )
    say(f"written: {settings.out / SENTENCES_FILE}; raw text of {lines:,} sentences for pretrain")


def _claim(settings: IngestSettings) -> Claim:
    """What ingestion may replace in a corpus folder, where other stages write, too."""
    sizes: list[Size] = ["full", *settings.sizes]
    drawn = [draw_file(seed, size) for seed in settings.seeds for size in sizes]
    named = [settings.source, *settings.unlabelled, settings.split_lists, settings.licenses]
    return Claim(
        settings.out, "ingest", [each for each in named if each is not None],
        earlier=lambda place: _own_before(place) or None,
        parts=[SENTENCES_FILE, TEXT_FILE, INGEST_RECORD, *drawn], alone=False,
    )  # fmt: skip


def _own_before(corpus: Path) -> set[str]:
    """The files that ingestion wrote into a corpus folder before, or was about to write."""
    try:
        if record := ingest_output(corpus).read():
            return {*record.files, INGEST_RECORD}
    except InputError:
        if {"reader", "splits"} <= _card(corpus).keys():  # of an earlier version
            drawn = {p.relative_to(corpus).as_posix() for p in corpus.glob("draws/seed-*/*.json")}
            return {*drawn, SENTENCES_FILE, TEXT_FILE, INGEST_RECORD}
    mark = mark_of(corpus, "ingest")
    return set(mark.get("files", ())) if mark else set()


def _card(corpus: Path) -> IngestCard:
    try:
        return ingest_card(corpus)
    except InputError:
        return {}


def _require_files(source: Path) -> None:
    """Say of an empty folder that it is one."""
    if source.is_dir() and not any(path.is_file() for path in source.rglob("*")):
        raise InputError("no file in this folder", path=source, remedy="is it the right one?")


def _fingerprint(settings: IngestSettings) -> Fingerprint:
    """What the files are made of but for the source, which is read again whenever ingest runs."""
    apart = {"source", "out", "split_lists", "licenses", "largest_unpacked", "unlabelled"}
    return Fingerprint(
        settings=settings.model_dump(mode="json", exclude=apart),
        algorithm=ALGORITHM,
        versions=versions_of("pyarrow"),
    )


def _write_text(settings: IngestSettings, sentences: list[Sentence]) -> int:
    """Write the raw text that language models may learn from; returns the number of its lines.

    Held-out sentences, on which models are later judged, are not taken from the corpus; a short one
    of the world's raw text may equal one of them by chance.
    """
    training = (sentence for sentence in sentences if sentence.split == "train")
    every = chain(training, more_text(settings))
    lines = [join_words(sentence.words).text for sentence in every]
    write_text(settings.out / TEXT_FILE, "".join(f"{line}\n" for line in lines))
    return len(lines)


def _named(sentences: Iterator[Sentence], reader: str, name: str) -> Iterator[Sentence]:
    """The sentences with ids that begin with the corpus's name; readers put their own there."""
    for sentence in sentences:
        if name != reader:
            changed = name + sentence.sentence_id[len(reader) :]
            sentence = replace(sentence, sentence_id=changed)  # noqa: PLW2901
        yield sentence


def _without_control(
    sentences: Iterator[Sentence], tally: Tally, *, strict: bool
) -> Iterator[Sentence]:
    """The sentences that have no control character in words, tags and labels; the others are counted.

    Raises:
        InputError: there is one, with ``strict``.
    """
    for sentence in sentences:
        if is_without_control(
            "".join((*sentence.words, *(sentence.tags or ()), sentence.tree or ""))
        ):
            yield sentence
            continue
        reason = "sentence with a control character"
        if strict:
            raise InputError(
                reason, sentence_id=sentence.sentence_id,
                remedy="mend or remove it, or go without --strict",
            )  # fmt: skip
        tally.keep(-1)  # by its reader it was
        tally.refuse(reason, place=sentence.sentence_id)


def _held_out_in_training(sentences: list[Sentence]) -> list[str]:
    """The ids of sentences outside the training split whose words are those of one in it."""
    learnt = {sentence.words for sentence in sentences if sentence.split == "train"}
    return [s.sentence_id for s in sentences if s.split != "train" and s.words in learnt]


def _check(sentences: list[Sentence], source: Path) -> None:
    for sentence_id, times in Counter(s.sentence_id for s in sentences).items():
        if times > 1:
            raise InputError(
                f"{times} sentences have the same id", path=source, sentence_id=sentence_id,
                remedy="is a file there twice?",
            )  # fmt: skip


def _why(tally: Tally) -> str:
    """What was refused, for a message: reasons with counts and their first places."""
    reasons = [
        f"{count:,} × {reason}"
        + (f" ({', '.join(tally.places[reason])})" if tally.places.get(reason) else "")
        for reason, count in tally.rows()[1:]
    ]
    return f"; refused: {'; '.join(reasons)}" if reasons else ""


def _draws(sentences: list[Sentence], settings: IngestSettings) -> dict[tuple[int, Size], Draw]:
    """Draws by (seed, size); none at all from a corpus without coordination.

    Where nobody has named sizes and the usual ones are too large, all that there is is drawn.
    """
    ids = drawable(sentences)
    if not ids:
        return {}
    sizes = settings.sizes
    if "labelled" not in settings.model_fields_set:
        sizes = [size for size in sizes if size == "full" or _enough(ids, size, settings)]
        if not sizes and len(ids) > SMALLEST:
            sizes = ["full"]
    return {(s, n): draw(ids, n, s, settings.validation) for s in settings.seeds for n in sizes}


def _enough(ids: Sequence[str], size: int, settings: IngestSettings) -> bool:
    return len(ids) >= size + (settings.validation or size // 5)


def _write_draws(
    corpus: Path, draws: dict[tuple[int, Size], Draw], before: Collection[str]
) -> list[str]:
    """Write the draws and remove others that were written ``before``; returns the names of their files."""
    folder = corpus / DRAWS_FOLDER
    folder.mkdir(exist_ok=True)  # an empty folder still is the output that DVC looks for
    wanted = {draw_file(seed, size): drawn for (seed, size), drawn in draws.items()}
    # Draws of an earlier ingest would name sentences of another corpus.
    for old in sorted(folder.glob("seed-*/*.json")):
        name = old.relative_to(corpus).as_posix()
        if name in before and name not in wanted:
            old.unlink()
    for name, drawn in wanted.items():
        ids: DrawFile = {
            "labelled": list(drawn.labelled),
            "validation": list(drawn.validation),
        }
        write_json(corpus / name, ids)
    return list(wanted)


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
    for sentence in sentences:
        here = splits[sentence.split]
        evaluable = [c for c in sentence.coordinations if c.is_evaluable]
        here["sentences"] += 1
        labels[sentence.split].update(c.label for c in evaluable)
        if evaluable:
            here["with_coordination"] += 1
            here["instances"] += len(sentence.coordinations)
            here["evaluable_instances"] += len(evaluable)
        if is_unlabelled_seed(sentence, 1):
            seeds["without_coordination"] += 1
        if is_unlabelled_seed(sentence, _MIN_WORDS):
            seeds[f"of_{_MIN_WORDS}_words_or_more"] += 1
            if not holds_coordinator(sentence.words):
                seeds["and_without_coordinator_word"] += 1
        elif is_undecided_seed(sentence, _MIN_WORDS):
            seeds[f"refused: {UNDECIDED}"] += 1
    rows = ("sentences", "with_coordination", "instances", "evaluable_instances")
    return {
        "splits": {name: {row: splits[name][row] for row in rows} for name in shown},
        "labels": {name: dict(labels[name]) for name in shown},
        "unlabelled_seeds": dict(seeds),
    }


def _show_unmade(labels: Mapping[str, Mapping[str, int]], order: Sequence[str]) -> None:
    """Say which of the evaluable instances have a label that no reference span can have."""
    counts = {label: sum(found.get(label, 0) for found in labels.values()) for label in order}
    unmade = {label: n for label, n in counts.items() if label not in REFERENCE_LABELS}
    if unmade:
        share = 100 * sum(unmade.values()) / sum(counts.values())
        say(
            f"no reference span has the label of {share:.1f} % of them, so generation makes none like them: "
            + ", ".join(f"{label} {n:,}" for label, n in unmade.items())
        )


def _show(
    settings: IngestSettings,
    counts: IngestCard,
    tallies: dict[str, Tally],
    draws: dict[tuple[int, Size], Draw],
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
    for title, tally in tallies.items():
        if tally.seen:
            table(title, ("", "count"), tally.rows())
        for reason, _ in tally.rows():
            for place in tally.places.get(reason, ()):
                say(f"{reason}: {place}")
    if settings.reader != "text":  # which has no splits
        for name in USUAL_SPLITS[1:]:
            if not splits[name]["sentences"]:
                say(f"warning: the {name} split is empty, so nothing can be measured on it")
    for (seed, size), drawn in draws.items():
        say(
            f"draw seed {seed}, n = {size}: {len(drawn.labelled):,} labelled, "
            f"{len(drawn.validation)} validation"
        )
    if draws and "full" not in settings.labelled and {size for _, size in draws} == {"full"}:
        there = splits["train"]["with_coordination"]
        say(
            f"{there:,} training sentences with coordination are too few for a draw of "
            f"{', '.join(settings.labelled)}, so all are drawn: a draw that is called full "
            "(`conjoin train … --labelled full`)"
        )
    if not draws:
        say("no or hardly any coordination in the training split: no labelled sets drawn")
