"""Whether text may be handed on: one rule for every command that writes rows where others may have them.

Text under terms that forbid it, or under none that is known, stays in its corpus's folder. A release and its
upload are for others, and never have it. What else writes text elsewhere, or as a page or file that could be
passed on, refuses it unless ``--own-use`` says that it stays with its user.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pipeline.core.corpus_folder import corpus_around
from pipeline.core.errors import InputError
from pipeline.core.files import resolved
from pipeline.corpus.engine import engine, rows_of
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
        found = terms(expression)
        if found.redistributable:
            continue
        verdict = "forbids" if found.known else "does not permit"
        raise InputError(
            f"licence {expression[:_SHOWN]!r} {verdict} handing on the text of {rows:,} rows ({found.why})",
            path=place, remedy=remedy(expression),
        )  # fmt: skip


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
    with engine(files=(*shards.accepted, *shards.rejects)) as database:
        found = database.execute(
            f"SELECT coalesce(license, '{UNKNOWN}'), count(*) FROM {rows_of(shards)} GROUP BY 1 ORDER BY 1"  # noqa: S608 - our own paths
        ).fetchall()
    return {str(expression): int(rows) for expression, rows in found}


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


def _at_home(expression: str) -> str:
    return f"name an --out in the corpus folder that it is of; {for_own_use(expression)}"
