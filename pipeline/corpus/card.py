"""A short README.md of a folder of candidates, by which `datasets` loads it as it is."""

from collections.abc import Mapping
from pathlib import Path

import yaml

from pipeline.core.files import write_text
from pipeline.core.markdown import code, plain

CARD = "README.md"

_CONFIGS = {
    "default": ("candidates-*.parquet", {"default": True}),
    "rejected": ("rejects-*.parquet", {}),
}

_BODY = """
# Candidates

{made}

```python
from datasets import load_dataset

candidates = load_dataset("FOLDER", split="train")  # this one
{rejects}```

`manifest.json` says how the rows were made. This is no release: `conjoin release` makes one, with documents
and licences, for others.
"""

_REJECTS = (
    'rejects = load_dataset("FOLDER", "rejected", split="train")  # with the reason of each\n'
)


def is_card(path: Path) -> bool:
    """Whether a file is such a card, of whatever rows."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return head.startswith(b"---\nconfigs:\n") and b"\n# Candidates\n" in head


_HEAD = 2**16  # bytes in which the title stands


def write_card(
    folder: Path,
    made: str,
    rows: Mapping[str, object],
    digests: Mapping[str, object],
    command: str = "",
) -> None:
    """Write the card, if it does not stand there already.

    Args:
        folder: where it goes, with the files of candidates and rejects.
        made: a sentence on how the rows were made, or how it begins if a command ends it.
        rows: how many there are of ``train`` and ``rejected``: `datasets` loads no part without any.
        digests: of each. `datasets` names its copy of a folder after the card alone, so without them it
            would hand out the rows that stood there before.
        command: that made the rows.
    """
    parts = zip(_CONFIGS.items(), ("train", "rejected"), strict=True)
    configs = [
        {
            "config_name": name,
            "data_files": [{"split": "train", "path": pattern}],
            **default,
            "description": f"rows {digests[part]}",
        }
        for (name, (pattern, default)), part in parts
        if part == "train" or rows[part]
    ]
    front = yaml.safe_dump({"configs": configs}, sort_keys=False, allow_unicode=True)
    sentence = f"{plain(made)} {code(command)}." if command else plain(made)
    body = _BODY.format(made=sentence, rejects=_REJECTS if rows["rejected"] else "")
    text = f"---\n{front}---\n{body}"
    path = folder / CARD
    if not (path.is_file() and path.read_text(encoding="utf-8") == text):
        write_text(path, text)
