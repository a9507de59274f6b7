"""``conjoin vote``: sheets of event pairs for workers, and the votes on the filled ones."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

from pipeline.core.claims import Claim, Listed, appearing
from pipeline.core.console import say, table
from pipeline.core.errors import InputError
from pipeline.core.files import write_text
from pipeline.core.parquet import read_schema, write_rows
from pipeline.corpus.handing_on import for_own_use, require_permission
from pipeline.tasks.questions.pairs import EventPair, read_core_pairs, read_event_pairs
from pipeline.tasks.questions.vote.settings import VoteSettings
from pipeline.tasks.questions.vote.sheets import (
    AskedPair,
    Sheet,
    SheetPlan,
    read_checks,
    read_sheet,
    sheet_text,
)
from pipeline.tasks.questions.votes import VOTES
from pipeline.text.natural import join_words

FAILED = "sheets with a failed check"
TWICE = "sheets of workers who voted twice on a pair"


def run(settings: VoteSettings) -> None:
    """Write sheets, or read filled ones, or have the world fill them.

    Raises:
        InputError: of the pairs, the checks or the sheets; a licence keeps the text here; there are too few
            checks; or the place of what is written is taken.
    """
    cores = {each.pair_id for each in read_core_pairs(settings.pairs)}
    pairs = [pair for pair in read_event_pairs(settings.pairs) if pair.pair_id in cores]
    asked = [AskedPair(_text(pair.former), _text(pair.latter), pair.pair_id) for pair in pairs]
    if not asked:
        raise InputError("no pair is basic, so there is none to vote on", path=settings.pairs)
    checks = read_checks(settings.checks) if settings.checks else _known_to_the_world(pairs)
    named = [settings.pairs, *([settings.checks] if settings.checks else [])]
    if settings.sheets:
        if not settings.own_use:
            licences = Counter(pair.license for pair in pairs)
            require_permission(licences, settings.pairs, remedy=for_own_use)
        _write(settings, settings.sheets, asked, checks, named)
        return
    if settings.read:
        known = {each.key: each for each in (*asked, *checks)}
        sheets = [
            read_sheet(path, path.parent.name, known)
            for path in sorted(settings.read.glob("*/*"))
            if path.suffix.lower() == ".csv"
        ]
        named.append(settings.read)
        if not sheets:
            raise InputError(
                "no sheet here", path=settings.read, remedy="they lie as WORKER/SHEET.csv"
            )
    else:
        sheets = _filled_by_the_world(settings, asked, checks, pairs)
    _count(settings, asked, sheets, named)


def _text(words: Sequence[str]) -> str:
    return join_words(words).text


def _plan(settings: VoteSettings, checks: Sequence[AskedPair]) -> SheetPlan:
    """How the pairs come onto sheets.

    Raises:
        InputError: there are fewer checks than a sheet has.
    """
    if len(checks) < settings.checks_per_sheet:
        raise InputError(
            f"{len(checks)} checks, and a sheet has {settings.checks_per_sheet}",
            path=settings.checks or settings.pairs, remedy="write more, or say --checks-per-sheet",
        )  # fmt: skip
    return SheetPlan(settings.size, settings.checks_per_sheet, settings.workers, settings.seed)


def _write(
    settings: VoteSettings, out: Path, asked: Sequence[AskedPair], checks: Sequence[AskedPair],
    named: Sequence[Path],
) -> None:  # fmt: skip
    plan, count = _plan(settings, checks), 0
    with appearing(Claim(out, "vote", named)) as folder:
        for worker, name, rows in plan.sheets(asked, checks):
            write_text(folder / worker / f"{name}.csv", sheet_text(rows))
            count += 1
    say(
        f"written: {out}: {count:,} sheets for {settings.workers} workers, on {len(asked):,} pairs. "
        "Column answer: yes if the former event is a cause or reason of the latter, else no"
    )


def _count(
    settings: VoteSettings,
    asked: Sequence[AskedPair],
    sheets: Sequence[Sheet],
    named: Sequence[Path],
) -> None:
    """Write the votes of the sheets that count, and say how many do not."""
    twice = {worker for worker, times in _times(sheets).items() if times > 1}
    outcomes: Counter[str] = Counter()
    votes: Counter[str] = Counter()
    times: Counter[str] = Counter()
    for sheet in sheets:
        outcome = (
            TWICE if sheet.worker in twice else FAILED if sheet.failed else "sheets that count"
        )
        outcomes[outcome] += 1
        if outcome in (TWICE, FAILED):
            continue
        for each, said in sheet.answers:
            if each.pair_id is not None:
                times[each.pair_id] += 1
                votes[each.pair_id] += said
    rows = [
        {"pair_id": each.pair_id, "votes": votes[each.pair_id], "asked": times[each.pair_id]}
        for each in asked
        if each.pair_id is not None and times[each.pair_id]
    ]
    pairs = settings.pairs.resolve() if not settings.pairs.name else settings.pairs  # "." has none
    out = settings.out or pairs.with_name(f"{pairs.name}-votes.parquet")
    with appearing(Claim(out, "vote", named, _earlier, file=True)) as file:
        write_rows(file, VOTES, rows)
    kept = Counter(row["votes"] for row in rows)
    shown: list[tuple[str, int]] = sorted(outcomes.items())
    shown += [("pairs without a vote that counts", len(asked) - len(rows))]
    shown += [(f"pairs with {number} votes", count) for number, count in sorted(kept.items())]
    table(f"votes in {out}", ("", "count"), shown)


def _times(sheets: Iterable[Sheet]) -> dict[str, int]:
    """How often each worker voted on the pair that they voted on most often."""
    found: dict[str, Counter[str]] = {}
    for sheet in sheets:
        own = found.setdefault(sheet.worker, Counter())
        own.update(each.pair_id for each, _ in sheet.answers if each.pair_id is not None)
    return {worker: max(own.values(), default=0) for worker, own in found.items()}


def _earlier(place: Path) -> Listed:
    """Earlier votes, known by their columns."""
    try:
        return () if read_schema(place).names == VOTES.names else None
    except InputError:
        return None


def _known_to_the_world(pairs: Sequence[EventPair]) -> list[AskedPair]:
    """The pairs as checks, of which the world knows the answer.

    Raises:
        InputError: they are not of the world.
    """
    from pipeline.world.contingency import brings_about  # noqa: PLC0415 - the world alone needs it

    try:
        return [
            AskedPair(_text(pair.former), _text(pair.latter), truth=brings_about(pair.former, pair.latter))
            for pair in pairs
        ]  # fmt: skip
    except ValueError as error:
        raise InputError(
            f"the oracle knows the world's pairs alone: {error}",
            remedy="write --sheets for people, or take pairs of the reader world-questions",
        ) from error


def _filled_by_the_world(
    settings: VoteSettings, asked: Sequence[AskedPair], checks: Sequence[AskedPair],
    pairs: Sequence[EventPair],
) -> list[Sheet]:  # fmt: skip
    """Sheets that workers fill who know the world, and err as often as they are told."""
    truths = {pair.pair_id: check.truth for pair, check in zip(pairs, checks, strict=True)}
    found = []
    for worker, name, rows in _plan(settings, checks).sheets(asked, checks):
        random = Random(f"{settings.seed}/{worker}/{name}")
        answers = []
        for each in rows:
            truth = truths[each.pair_id] if each.pair_id is not None else each.truth
            answers.append((each, bool(truth) != (random.random() < settings.error)))
        found.append(Sheet(worker, answers))
    return found
