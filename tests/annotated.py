"""Raw text with coordinators as a corpus, for the tests of annotation."""

import os
import re
import subprocess
import sys
from pathlib import Path

from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.stage import run as ingest

TEXT = [
    "The old men and women left .",
    "She sold lamps , chairs and tables .",
    "He came and then went .",
    "But nobody called .",
    "They read or slept , and we left .",
    *(f"Cat {number} and dog {number} sleep ." for number in range(20)),
]
"""Sentences, of which the fourth has no coordinator between words."""


def corpus_of(folder: Path) -> Path:
    """The text, ingested into ``folder/mine``."""
    (folder / "raw.txt").write_text("".join(f"{line}\n" for line in TEXT))
    source = folder / "raw.txt"
    ingest(IngestSettings(reader="text", source=source, out=folder / "mine", license="CC0-1.0"))
    return folder / "mine"


_START = """
import sys
from pathlib import Path
from pipeline.trying.annotate.command import run
from pipeline.trying.annotate.settings import AnnotateSettings
run(AnnotateSettings(corpus=Path(sys.argv[1]), size=int(sys.argv[2]), port=0, open=False))
"""


def started(corpus: Path, size: int) -> tuple[subprocess.Popen[str], str]:
    """The command in a process of its own, and the address that it prints."""
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", _START, str(corpus), str(size)], stdout=subprocess.PIPE, text=True,
        env=os.environ | {"COLUMNS": "400"},
    )  # fmt: skip
    assert process.stdout
    for line in process.stdout:
        if found := re.search(r"(http://\S+)", line):
            return process, found[1]
    raise AssertionError("it said no address")
