"""``conjoin merge``: corpora united, without what they say twice."""

from collections.abc import Mapping
from typing import Any

from pipeline.core.console import say, table, warn
from pipeline.corpus.layout import find_shards
from pipeline.tools.merge.union import merge
from pipeline.tools.settings import Merge


def run(settings: Merge) -> None:
    """Write the united corpus, and print what each of them gave to it.

    Raises:
        InputError: as ``merge``; nothing is written then.
    """
    manifest = merge([find_shards(place) for place in settings.places], settings.out)
    named = [
        (str(place), *_counts(entry))
        for place, entry in zip(settings.places, manifest["merged"], strict=True)
    ]
    total = [sum(column) for column in zip(*(row[1:] for row in named), strict=True)]
    table(
        "merge: rows of each corpus, in this order; repeated: those that say what an earlier row says",
        ["corpus", "candidates", "new", "repeated", "rejects", "new", "repeated"],
        [*named, ("together", *total)],
    )
    undescribed = [key for key, about in manifest["generations"].items() if set(about) == {"rows"}]
    if undescribed:
        warn(f"no manifest says how these generations were made: {', '.join(undescribed)}")
    rows, runs = manifest["rows"], len(manifest["generations"])
    say(
        f"written: {settings.out}: {rows['train']:,} candidates and {rows['rejected']:,} rejects, "
        f"of {runs:,} generation{'' if runs == 1 else 's'}"
    )


def _counts(entry: Mapping[str, Any]) -> list[int]:
    """Rows, new ones and repeated ones: of the candidates, then of the rejects."""
    counts = []
    for part, rows in entry["rows"].items():
        kept = entry["kept"][part]
        counts += [rows, kept, rows - kept]
    return counts
