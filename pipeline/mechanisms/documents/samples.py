"""A row of each label to look at: the first that a release has, which its shuffle makes a fair draw."""

from collections.abc import Mapping
from typing import Any

from pipeline.ground.coordination import Span, bracketed
from pipeline.mechanisms.documents.markup import code, plain
from pipeline.mechanisms.sharing.engine import engine, rows_of
from pipeline.mechanisms.sharing.layout import Shards

__all__ = ["samples"]


def samples(shards: Shards) -> list[str]:
    """One line of Markdown per label, the most frequent label first.

    Of a stand-off release they show ids and what the model wrote, and nothing where that repeats the source.

    Raises:
        InputError: a file is damaged.
    """
    query = f"""SELECT label, count(*) AS rows, arg_min(row, (row.file, row.place)) AS row
        FROM (SELECT label, r AS row FROM {rows_of(shards)} AS r WHERE reason IS NULL)
        GROUP BY label ORDER BY rows DESC, label"""  # noqa: S608 - our own paths
    with engine() as database:
        found = database.execute(query).fetchall()
    return [f"**{plain(label)}** {_shown(row)}" for label, _, row in found]


def _shown(row: Mapping[str, Any]) -> str:
    score = "" if row["score"] is None else f" (score {row['score']:.2f})".replace("-", "−")
    if "words" not in row:
        fill = "generated text sealed" if row["fill"] is None else f"generated: {code(row['fill'])}"
        return f"{code(row['sentence_id'])}, {fill}{score}"
    spans = [Span(span["start"], span["end"]) for span in row["conjuncts"]]
    return f"{code(bracketed(row['words'], spans))}{score}"
