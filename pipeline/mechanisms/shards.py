"""Where other stages find the candidates that ``generate`` wrote into a folder."""

from collections.abc import Set
from pathlib import Path

from pipeline.ground.coordination import Candidate
from pipeline.ground.errors import InputError
from pipeline.ground.parquet import MANIFEST, RECORDS
from pipeline.ground.schema import read_candidates

__all__ = ["candidate_shards", "find_candidates"]


def candidate_shards(folder: Path) -> list[Path]:
    """The files of candidates in a folder, in order, whoever made them.

    Raises:
        InputError: generation was interrupted here, so that there may be shards of two runs.
    """
    if (folder / RECORDS).is_dir() and not (folder / MANIFEST).is_file():
        raise InputError(
            "generation has not finished here", path=folder, remedy="run `conjoin generate` again"
        )
    return sorted(folder.glob("candidates-*.parquet"))


def find_candidates(wanted: Set[tuple[Path, str]]) -> dict[tuple[Path, str], Candidate]:
    """Candidates that training judged, by (folder, id).

    Raises:
        InputError: one is not in its folder any more, or a shard is damaged.
    """
    found = {}
    for folder in sorted({folder for folder, _ in wanted}):
        for shard in candidate_shards(folder):
            for candidate in read_candidates(shard):
                key = folder, candidate.candidate_id
                if key in wanted:
                    found[key] = candidate
    for folder, candidate_id in sorted(wanted - found.keys()):
        raise InputError(
            f"candidate {candidate_id} was judged in training but is not here",
            path=folder,
            remedy="the candidates were made again since: run `conjoin train` again",
        )
    return found
