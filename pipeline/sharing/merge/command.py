"""``conjoin merge``: merges several corpora into one folder of candidates and drops duplicate rows.

The rows that say something new are written in the order of the corpora. What a candidate says,
no reject does.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from pipeline.core.cards.candidates import CandidatesManifest, UnitedCorpus
from pipeline.core.claims import Claim, appearing
from pipeline.core.console import Meter, say, table, warn
from pipeline.core.errors import InputError
from pipeline.core.files import write_json
from pipeline.core.parquet import MANIFEST
from pipeline.corpus.card import write_card
from pipeline.corpus.counts import Survey
from pipeline.corpus.handing_on import require_home
from pipeline.corpus.layout import Shards, find_shards
from pipeline.corpus.novelty import CONTRADICTED, DROPPED, contents
from pipeline.corpus.rows import lost_trees
from pipeline.corpus.validity.checks import require_valid
from pipeline.corpus.writing import (
    GatheredRows,
    dropped_so_far,
    manifest_facts,
    selections,
    sound,
    united_runs,
    write_kind,
)
from pipeline.sharing.merge.settings import MergeSettings
from pipeline.text.columns import with_text


def run(settings: MergeSettings) -> None:
    """Write the united corpus, and print what each of them gave to it.

    Raises:
        InputError: as ``merge``; nothing is written then.
    """
    corpora = [find_shards(place) for place in settings.places]
    manifest = merge(corpora, settings.out, own_use=settings.own_use)
    for warning in filter(None, map(lost_trees, corpora)):
        warn(warning)
    named = [
        (str(place), *_counts(entry))
        for place, entry in zip(settings.places, manifest["merged"], strict=True)
    ]
    total = [sum(column) for column in zip(*(row[1:] for row in named), strict=True)]
    table(
        "merge: rows of each corpus, in this order; repeated: those that say what another row says",
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


def _counts(entry: UnitedCorpus) -> list[int]:
    """Rows, new ones and repeated ones: of the candidates, then of the rejects."""
    counts = []
    for part, rows in entry["rows"].items():
        kept = entry["kept"][part]
        counts += [rows, kept, rows - kept]
    return counts


def merge(corpora: Sequence[Shards], out: Path, *, own_use: bool = False) -> CandidatesManifest:
    """Unite corpora in a folder, in their order; returns its manifest, which docs/sharing.md explains.

    Equal inputs give equal files. Memory grows by a byte a row.

    Args:
        corpora: what to unite; a corpus may occur twice.
        out: the folder; it appears whole or not at all, and must not hold anything.
        own_use: text under terms that forbid to hand it on may leave its corpus folder.

    Raises:
        InputError: there is one corpus only; ``out`` is not empty, or in a corpus; a corpus is a
            stand-off release, damaged, not all of what its manifest lists, not valid, or has other
            columns; the same id or generation stands for different things in two of them; text would
            leave its corpus folder whose licence forbids that.
    """
    if len(corpora) < 2:
        raise InputError(
            "one corpus alone is nothing to merge", path=corpora[0].place, remedy="name two or more"
        )
    with appearing(Claim(out, "merge", [shards.place for shards in corpora])) as folder:
        corpora = [sound(shards) for shards in corpora]
        if not own_use:
            require_home(out, corpora)
        return _merge(corpora, folder)


def _merge(corpora: Sequence[Shards], folder: Path) -> CandidatesManifest:
    for shards in corpora:
        require_valid(shards, distinct=False)
    runs = united_runs(corpora)
    with contents(corpora) as said:
        every = np.ones(said.candidates, dtype=bool)
        accepted, contradicted = said.first_candidates(every), said.contradicted(every)
        rejects = said.first_rejects(~contradicted)
    counts, kept = Survey(), {"train": accepted, "rejected": rejects}
    with Meter("merge, rows", len(accepted) + len(rejects)) as meter:
        gathering = GatheredRows(corpora, kept, again="merge again", advance=meter.advance)
        written = {}
        for config, mask in kept.items():
            rows = counts.counted(map(with_text, gathering.rows(config)), config)
            written[config] = write_kind(folder, config, rows, int(mask.sum()))
        inputs = gathering.inputs()
        manifest: CandidatesManifest = {
            **manifest_facts(corpora, runs, written, counts),
            "merged": inputs,
            **selections(corpora),
            "dropped": dropped_so_far(
                corpora, _dropped(inputs, {"train": 0, "rejected": int(contradicted.sum())})
            ),
        }
        write_json(folder / MANIFEST, manifest)
        places = ", ".join(entry["place"] for entry in inputs)
        write_card(folder, f"Merged from {places}.", manifest["rows"], manifest["digests"])
    return manifest


def _dropped(
    inputs: Sequence[UnitedCorpus], contradicted: Mapping[str, int]
) -> dict[str, dict[str, int]]:
    """Why rows of each kind were left out; of rejects some for a candidate of their content."""
    return {
        part: {
            DROPPED: sum(each["rows"][part] - each["kept"][part] for each in inputs) - count,
            **({CONTRADICTED: count} if count else {}),
        }
        for part, count in contradicted.items()
    }
