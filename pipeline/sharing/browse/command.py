"""``conjoin browse``: read a corpus in a local web page, or write a sample of it as one file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from pipeline.core.claims import Claim, Listed, appearing
from pipeline.core.console import Meter, say, warn
from pipeline.core.local_page import address, listening, opened
from pipeline.corpus.checked import open_shards
from pipeline.corpus.handing_on import for_own_use, require_permission
from pipeline.corpus.layout import Shards
from pipeline.corpus.validity.checks import require_valid
from pipeline.sharing.browse.corpus import BrowsedCorpus, describe
from pipeline.sharing.browse.selection import CommandPlaces
from pipeline.sharing.browse.server import export_page, serve
from pipeline.sharing.browse.settings import BrowseSettings
from pipeline.sharing.browse.table import corpus_table, keep_sample


def run(settings: BrowseSettings) -> None:
    """Serve the page until Ctrl-C, or write the file.

    Raises:
        InputError: there is no corpus or no text to show, a file is damaged, the port is in use, or
            the file was asked for and has rows that are not valid, or text that a licence does not permit to
            hand on, without ``own_use``.
        ModelError: the predictor cannot be loaded.
    """
    shards = open_shards(settings.place)
    if settings.export:
        inputs = [shards.place, *([settings.predictor] if settings.predictor else [])]
        claim = Claim(settings.export, "browse", inputs, _earlier_page, file=True)
        claim.check()
        require_valid(shards, distinct=True)  # a page that is served shows rows as they are
        with appearing(claim) as page:
            said = _export(settings, shards, page)
        say(said)
        return
    with listening(settings.port) as (listener, token), open_corpus(settings, shards) as corpus:
        url = address(listener, token)
        usable, rejected = corpus.about["usable"], corpus.about["rejected"]
        say(f"{usable:,} candidates and {rejected:,} rejects: {url} (Ctrl-C ends it)")
        for expression, known in corpus.about["terms"].items():
            if known["why"]:
                warn(f"licence {expression}: do not pass text on: {known['why']}")
        with opened(url, settings.open):
            serve(corpus, listener, token)


@contextmanager
def open_corpus(settings: BrowseSettings, shards: Shards) -> Iterator[BrowsedCorpus]:
    """The corpus with what δ judges by; with ``export``, a sample of it."""
    judge = None
    if settings.predictor:  # torch takes seconds, and is not needed without
        from pipeline.sharing.browse.scores import BoundaryScorer, judge_sample  # noqa: PLC0415

        judge = BoundaryScorer(settings.predictor)
    with corpus_table(shards) as database:
        sample = None
        if settings.export:
            of = _count(database)
            keep_sample(database, settings.sample, settings.seed)
            if not settings.own_use:
                require_permission(_licences(database), shards.place, remedy=_remedy)
            sample = {"rows": _count(database), "of": of, "seed": settings.seed}
        judged = _count(database, "WHERE reason IS NULL")
        if judge:
            # What stands in a file cannot be scored later.
            size = judged if settings.export else min(judged, settings.scored)
            with Meter("scoring candidates", size) as meter:
                judged = judge_sample(database, judge, size, settings.seed, meter.advance)
        about = describe(
            database, shards, predictor=settings.predictor, judged=judged, sample=sample
        )
        yield BrowsedCorpus(
            database, about, judge, CommandPlaces(settings.place, settings.predictor)
        )


def _earlier_page(path: Path) -> Listed:
    """Nothing beside it, where a file is a page that ``--export`` wrote."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return () if b" \xc2\xb7 conjoin browse</title>" in head else None


_HEAD = 2**16  # bytes of a page in which its title stands


def _export(settings: BrowseSettings, shards: Shards, page: Path) -> str:
    """Write the file; returns what is to be said of it."""
    with open_corpus(settings, shards) as corpus:
        rows = corpus.everything()
        page.write_text(export_page(corpus.about, rows), encoding="utf-8")
        sample = corpus.about["sample"]
    size = page.stat().st_size / 2**20
    return (
        f"{settings.export}: a sample of {len(rows):,} of {sample['of']:,} rows "
        f"(seed {settings.seed}), {size:.1f} MB, opens in any browser"
    )


def _licences(database: duckdb.DuckDBPyConnection) -> dict[str, int]:
    found = database.execute("SELECT license, count(*) FROM corpus.rows GROUP BY 1 ORDER BY 1")
    return dict(found.fetchall())


def _remedy(expression: str) -> str:
    return (
        f"leave out --export to read it in the browser of this machine; {for_own_use(expression)}"
    )


def _count(database: duckdb.DuckDBPyConnection, where: str = "") -> int:
    row = database.execute(f"SELECT count(*) FROM corpus.rows {where}").fetchone()  # noqa: S608
    return int(row[0]) if row else 0
