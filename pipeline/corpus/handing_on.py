"""Whether text may be handed on: one rule for every command that writes rows where others may have them.

Text under terms that forbid it, or under none that is known, stays in its corpus's folder. A release and its
upload are for others, and never have it. What else writes text elsewhere, or as a page or file that could be
passed on, refuses it unless ``--own-use`` says that it stays with its user.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from pipeline.core.corpus_folder import SENTENCES_FILE, corpus_around
from pipeline.core.errors import InputError
from pipeline.core.files import resolved
from pipeline.core.parquet import read_batches, require_text, value_counts
from pipeline.core.schema import CANDIDATES
from pipeline.corpus.layout import Shards
from pipeline.corpus.licences import UNKNOWN, licence_ids, terms

Remedy = Callable[[str], str]
"""What to do about the rows of a licence that forbids to hand on their text."""

_SHOWN = 200  # characters of a licence in a message


def require_permission(licenses: Mapping[str, int], place: Path, *, remedy: Remedy) -> None:
    """Refuse to hand on text whose licence is not known, or does not permit that.

    Args:
        licenses: rows by SPDX expression.
        place: the folder, for the message.
        remedy: of the command.

    Raises:
        InputError: there are such rows.
    """
    for expression, rows in licenses.items():
        if said := why_not(expression, f"{rows:,} rows"):
            raise InputError(said, path=place, remedy=remedy(expression))


def why_not(expression: str, what: str) -> str | None:
    """Why the text of something may not be handed on; None: it may.

    Args:
        expression: its licence.
        what: whose text it is, with its number, such as ``3 rows``.
    """
    found = terms(expression)
    if found.redistributable:
        return None
    verdict = "forbids" if found.known else "does not permit"
    return f"licence {expression[:_SHOWN]!r} {verdict} handing on the text of {what} ({found.why})"


def for_own_use(expression: str) -> str:
    """The remedy of commands that have ``--own-use``."""
    remedy = "`--own-use` writes it all the same, to stay with you"
    if UNKNOWN in licence_ids(expression):
        return f"name the licence with `conjoin ingest --license` where it is known; {remedy}"
    return remedy


def licences_of(shards: Shards) -> dict[str, int]:
    """How many rows have each licence, candidates and rejects, by what their own column says.

    Raises:
        InputError: a file is damaged, or lacks the column.
    """
    found: Counter[str] = Counter()
    for path in (*shards.accepted, *shards.rejects):
        found.update(licences_in(path))
    return dict(sorted(found.items()))


def licences_in(file: Path) -> dict[str, int]:
    """How many rows of a file, candidates or a corpus's own text, have each licence, by their column.

    Raises:
        InputError: the file is missing or damaged, or lacks the column.
    """
    found: Counter[str] = Counter()
    for batch in read_batches(file, _LICENSE, 65_536):
        own = require_text(batch, file).column("license")
        found.update(value_counts(own.fill_null(UNKNOWN)))
    return dict(sorted(found.items()))


_LICENSE = pa.schema([CANDIDATES.field("license")])


def require_home(
    out: Path, corpora: Sequence[Shards], wanted: Callable[[str], bool] = lambda _: True
) -> None:
    """Refuse candidates elsewhere than in the corpus folder they are of, where a licence keeps them there.

    Args:
        out: where rows of the corpora are to be written.
        corpora: those corpora.
        wanted: whether rows of a licence are to go there at all.

    Raises:
        InputError: such rows are to go elsewhere.
    """
    home = corpus_around(resolved(out).parent)
    for shards in corpora:
        if shards.kind == "stand-off":
            continue  # it has no text, which whoever needs it says
        if home is None or corpus_around(resolved(shards.place)) != home:
            licenses = {name: rows for name, rows in licences_of(shards).items() if wanted(name)}
            require_permission(licenses, shards.place, remedy=_at_home)


def require_home_of_text(
    out: Path, corpus: Path, text_file: str = SENTENCES_FILE, added: str | None = None
) -> None:
    """Refuse rows of a corpus's own text elsewhere than in its folder, where a licence keeps them there.

    Args:
        out: where they are to be written.
        corpus: its folder.
        text_file: its file with that text.
        added: the licence of what rows have besides; None: they have nothing.
    """
    if corpus_around(resolved(out).parent) == resolved(corpus):
        return
    found = Counter(licences_in(corpus / text_file))
    if added is not None:
        found[added] += found.total()
    require_permission(dict(sorted(found.items())), corpus, remedy=_at_home)


def _at_home(expression: str) -> str:
    return f"name an --out in the corpus folder that it is of; {for_own_use(expression)}"
