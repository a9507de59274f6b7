"""``conjoin ingest``: a corpus into what its task learns from, the draws of L, and its counts (§5.1)."""

from collections.abc import Collection, Sequence
from pathlib import Path

from pipeline.core.cards.ingest import DrawFile, IngestCard
from pipeline.core.claims import Claim, mark_of
from pipeline.core.console import say
from pipeline.core.corpora import ARGUMENTS, COORDINATION, CORPORA, QUESTIONS, RELATIONS
from pipeline.core.corpus_folder import (
    ARGUMENTS_FILE,
    DEPENDENCIES_FILE,
    DRAWS_FOLDER,
    INGEST_RECORD,
    QUESTIONS_FILE,
    RELATIONS_FILE,
    SENTENCES_FILE,
    TEXT_FILE,
    draw_file,
    ingest_card,
    ingest_output,
)
from pipeline.core.errors import InputError
from pipeline.core.files import FileFacts, atomic, folder_lock, sweep, write_json
from pipeline.core.fingerprint import Fingerprint, versions_of
from pipeline.core.parquet import write_rows
from pipeline.core.tally import MOST_PLACES, Tally
from pipeline.corpus.handing_on import licences_in, why_not
from pipeline.corpus.licences import UNKNOWN
from pipeline.ingest.draws import SMALLEST, Draw, Size, draw
from pipeline.ingest.of_predicates import read_predicates
from pipeline.ingest.of_questions import read_questions
from pipeline.ingest.of_relations import read_relations
from pipeline.ingest.of_sentences import read_sentences
from pipeline.ingest.reading import ReadRows
from pipeline.ingest.settings import IngestSettings

ALGORITHM = 3  # 3: nothing before a structure's *both* is a conjunct
"""Raise it when other code makes other sentences or draws of the same inputs (tests/test_golden.py)."""


_READ = {
    COORDINATION: read_sentences,
    RELATIONS: read_relations,
    ARGUMENTS: read_predicates,
    QUESTIONS: read_questions,
}
_DATA_FILES = {
    SENTENCES_FILE, DEPENDENCIES_FILE, RELATIONS_FILE, ARGUMENTS_FILE, QUESTIONS_FILE,
}  # fmt: skip


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
    found = _READ[CORPORA[settings.reader].task](settings, tally)
    if not found.count:
        _require_files(settings.source)
        raise InputError(
            f"no {found.called} to keep{_why(tally)}", path=settings.source,
            remedy="see `conjoin corpora`",
        )  # fmt: skip
    draws = _draws(found, settings)
    document: IngestCard = {"reader": settings.reader, "name": settings.name, **found.card}
    document["draws"] = {
        f"seed-{s}/{n}": {"labelled": len(d.labelled), "validation": len(d.validation)}
        for (s, n), d in draws.items()
    }
    output = ingest_output(settings.out, _fingerprint(settings))
    with folder_lock(settings.out):
        own = _own_before(settings.out)
        names = {TEXT_FILE, INGEST_RECORD, *(draw_file(*each) for each in draws)}
        names |= {each.name for each in found.files}
        # Until the record is written, this is how the next run knows its files.
        claim.take(own | names)
        sweep(*(settings.out / name for name in names))
        output.begin()
        # By this folder an interrupted run is known.
        (settings.out / DRAWS_FOLDER).mkdir(parents=True, exist_ok=True)
        for name in own & _DATA_FILES - names:  # of another task
            (settings.out / name).unlink(missing_ok=True)
        rows = {
            each.name: write_rows(settings.out / each.name, each.schema, each.rows(), each.metadata)
            for each in found.files
        }
        rows[TEXT_FILE] = lines = _write_text(settings.out, found)
        drawn = _write_draws(settings.out, draws, own)
        facts = {
            name: FileFacts.of(settings.out / name, rows.get(name)) for name in (*rows, *drawn)
        }
        last: IngestCard = {"raw_text": lines, "held_out_in_training": len(found.twice)}
        output.finish(facts, {**document, **last})
    found.show()
    _show_draws(settings, found, draws)
    if found.twice:
        say(
            f"warning: {len(found.twice):,} {found.called}s of other splits stand in the training split word "
            f"for word, so what is measured on them was learnt: {', '.join(found.twice[:MOST_PLACES])}"
        )
    say(f"written: {settings.out / found.files[0].name}; raw text of {lines:,} lines for pretrain")
    _show_licences(settings.out / found.files[0].name, found.called)


def _show_licences(file: Path, called: str) -> None:
    """Say before anything is made of it which text is to stay here."""
    for expression, count in licences_in(file).items():
        if said := why_not(expression, f"{count:,} {called}{'s' if count > 1 else ''}"):
            known = "; where one is known, name it with `conjoin ingest --license`"
            say(
                f"{said}: elsewhere than in this folder it is written with --own-use alone, and is in no "
                f"release{known if expression == UNKNOWN else ''}"
            )


def _claim(settings: IngestSettings) -> Claim:
    """What ingestion may replace in a corpus folder, where other stages write, too."""
    sizes: list[Size] = ["full", *settings.sizes]
    drawn = [draw_file(seed, size) for seed in settings.seeds for size in sizes]
    named = [settings.source, *settings.unlabelled, settings.split_lists, settings.licenses]
    named += [settings.of / SENTENCES_FILE] if settings.of else []
    return Claim(
        settings.out, "ingest", [each for each in named if each is not None],
        earlier=lambda place: _own_before(place) or None,
        parts=[*sorted(_DATA_FILES), TEXT_FILE, INGEST_RECORD, *drawn], alone=False,
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
    apart = {"source", "out", "split_lists", "licenses", "largest_unpacked", "unlabelled", "of"}
    # These came later, and concern some readers alone.
    later = {
        "least": RELATIONS, "predicates": ARGUMENTS, "questions": QUESTIONS, "apart": QUESTIONS,
    }  # fmt: skip
    apart |= {name for name, task in later.items() if CORPORA[settings.reader].task != task}
    if not settings.coordinators:
        apart |= {"coordinators"}
    if settings.folds is None:
        apart |= {"folds", "fold"}
    return Fingerprint(
        settings=settings.model_dump(mode="json", exclude=apart),
        algorithm=ALGORITHM,
        versions=versions_of("pyarrow"),
    )


def _write_text(corpus: Path, found: ReadRows) -> int:
    """Write the raw text that language models may learn from; returns the number of its lines."""
    count = 0
    with atomic(corpus / TEXT_FILE) as temporary, temporary.open("w", encoding="utf-8") as file:
        for line in found.lines():
            file.write(f"{line}\n")
            count += 1
    return count


def _why(tally: Tally) -> str:
    """What was refused, for a message: reasons with counts and their first places."""
    reasons = [
        f"{count:,} × {reason}"
        + (f" ({', '.join(tally.places[reason])})" if tally.places.get(reason) else "")
        for reason, count in tally.rows()[1:]
    ]
    return f"; refused: {'; '.join(reasons)}" if reasons else ""


def _draws(found: ReadRows, settings: IngestSettings) -> dict[tuple[int, Size], Draw]:
    """Draws by (seed, size); none at all where there is nothing to draw of.

    Where nobody has named sizes and the usual ones are too large, all that there is is drawn.
    """
    ids = found.drawable
    if not ids:
        return {}
    sizes = settings.sizes
    if "labelled" not in settings.model_fields_set:
        sizes = [size for size in sizes if size == "full" or _enough(ids, size, settings)]
        if not sizes and len(ids) > SMALLEST:
            sizes = ["full"]
    return {
        (s, n): draw(ids, n, s, settings.validation, found.drawn_of)
        for s in settings.seeds
        for n in sizes
    }


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


def _show_draws(
    settings: IngestSettings, found: ReadRows, draws: dict[tuple[int, Size], Draw]
) -> None:
    for (seed, size), drawn in draws.items():
        say(
            f"draw seed {seed}, n = {size}: {len(drawn.labelled):,} labelled, "
            f"{len(drawn.validation)} validation"
        )
    if draws and "full" not in settings.labelled and {size for _, size in draws} == {"full"}:
        say(
            f"{len(found.drawable):,} training {found.drawn_of} are too few for a draw of "
            f"{', '.join(settings.labelled)}, so all are drawn: a draw that is called full "
            "(`conjoin train … --labelled full`)"
        )
    if not draws:
        few = f"too few training {found.drawn_of} for a draw ({len(found.drawable)})"
        say(f"{few if found.drawable else found.nothing_drawn}: no labelled sets drawn")
