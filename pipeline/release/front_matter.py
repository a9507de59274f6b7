"""The YAML that a dataset card begins with: what loaders and the hub read of it."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from pipeline.core.parquet import opened, read_schema
from pipeline.corpus.coordinators import is_english
from pipeline.release.licence_files import hub_licence, readers_of
from pipeline.release.shards import CONFIGS

_TAGS = ["coordination", "coordination-disambiguation", "synthetic", "text-infilling", "conjoin"]
_BOUNDS = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B")
_SIZES = ("n<1K", *map("<n<".join, pairwise(_BOUNDS)))
_MADE_UP = {
    "world",
    "world-arguments",
    "world-questions",
    "world-relations",
}  # readers of what no person wrote


def front_matter(
    folder: Path,
    manifest: Mapping[str, Any],
    origins: Sequence[str],
    about: Mapping[str, Any] | None = None,
) -> str:
    """The YAML front matter of a release's card, without the dashes around it.

    Args:
        folder: of the release, whose shards stand.
        manifest: that of the release.
        origins: what the sentence ids begin with.
        about: what it says of candidates of another task than coordination; None: nothing of that name.
    """
    present = [part for part in CONFIGS if any(s["config"] == part for s in manifest["shards"])]
    rows = sum(manifest["rows"].values())
    card = {
        "pretty_name": manifest["name"],
        "language": ["en"] if is_english(manifest) else None,
        **hub_licence(manifest["license"]),
        "annotations_creators": ["machine-generated"],
        "language_creators": ["machine-generated"]
        if is_made_up(manifest, origins)
        else ["found", "machine-generated"],
        "multilinguality": ["monolingual"],
        "source_datasets": [f"extended|other-{name}" for name in source_names(manifest, origins)],
        "size_categories": [_SIZES[sum(rows >= 10**digits for digits in range(3, 10))]],
        "task_categories": ["token-classification"],
        "task_ids": ["parsing"],
        "tags": _TAGS + ["stand-off"] * bool(manifest["stand_off"]),
        "configs": [
            {
                "config_name": CONFIGS[part][0],
                "data_files": [{"split": "train", "path": f"{CONFIGS[part][1]}/train-*.parquet"}],
                **({"default": True} if part == "train" else {}),
                # `datasets` names its copy of a folder after the card alone: without this it would
                # hand out an older release of equal name and size.
                "description": f"row digest {manifest['digests'][part]}",
            }
            for part in present
        ],
        "dataset_info": [_dataset_info(folder, manifest, part) for part in present],
    }
    card = {key: value for key, value in (card | dict(about or {})).items() if value is not None}
    return str(yaml.safe_dump(card, sort_keys=False, allow_unicode=True, width=100))


def is_made_up(manifest: Mapping[str, Any], origins: Sequence[str]) -> bool:
    """Whether no person wrote the text of any source."""
    return set(readers_of(manifest, origins).values()) <= _MADE_UP


def source_names(manifest: Mapping[str, Any], origins: Sequence[str]) -> list[str]:
    """The sources' names: the corpora that the manifest lists, or else what sentence ids begin with."""
    return list(dict.fromkeys(source["corpus"] for source in manifest["sources"])) or list(origins)


def _dataset_info(folder: Path, manifest: Mapping[str, Any], part: str) -> dict[str, Any]:
    """``dataset_info`` of a configuration, as `datasets` itself would write it."""
    from datasets import DatasetInfo, Features, SplitDict, SplitInfo  # noqa: PLC0415 - takes a second

    shards = [shard for shard in manifest["shards"] if shard["config"] == part]
    files = [folder / shard["file"] for shard in shards]
    features = Features.from_arrow_schema(read_schema(files[0]).remove_metadata())
    rows, size = sum(s["rows"] for s in shards), sum(map(_bytes_in_memory, files))
    info = DatasetInfo(
        features=features,
        config_name=CONFIGS[part][0],
        splits=SplitDict({"train": SplitInfo("train", size, rows)}),
        download_size=sum(s["bytes"] for s in shards),
        dataset_size=size,
    )
    return dict(info._to_yaml_dict())


def _bytes_in_memory(path: Path) -> int:
    """Bytes of a file's rows as Arrow holds them, cut into batches and cast as by `datasets`."""
    from datasets import Features  # noqa: PLC0415 - takes a second
    from datasets.table import table_cast  # noqa: PLC0415 - as above

    schema = Features.from_arrow_schema(read_schema(path).remove_metadata()).arrow_schema
    with opened(path) as file:
        groups = range(file.metadata.num_row_groups)
        size = max((file.metadata.row_group(0).num_rows for _ in groups[:1]), default=1)
        return sum(
            table_cast(pa.Table.from_batches([batch]), schema).nbytes
            for group in groups
            for batch in file.iter_batches(max(size, 1), row_groups=[group])
        )
