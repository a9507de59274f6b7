"""A new column of candidates is an entry of the table, and whoever computes it."""

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from shared_corpora import candidate_folder

from pipeline.core.types import COLUMNS, Candidate
from pipeline.corpus.digest import RowDigest
from pipeline.corpus.layout import find_shards
from pipeline.corpus.rows import STAND_OFF, read_accepted
from pipeline.text.columns import OFFSETS, TEXT

DOCS = Path(__file__).resolve().parents[2] / "docs"
PROGRAM = Path(__file__).resolve().parents[1] / "new_columns.py"


@pytest.mark.long
def test_two_new_columns_go_the_whole_way(tmp_path: Path) -> None:
    """Written, validated, released with and without the text, rebuilt, merged, exported: see the program."""
    found = RowDigest()
    for batch in read_accepted(find_shards(candidate_folder(tmp_path / "usual"))):
        found.add(batch)
    done = subprocess.run(  # noqa: S603
        [sys.executable, str(PROGRAM), str(tmp_path / "new"), found.hex()],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_candidate_has_the_columns_of_every_row() -> None:
    """Its fields, and what follows from its words."""
    table = {each.name for each in COLUMNS if each.of == "candidate"}
    assert {each.name for each in fields(Candidate)} | {TEXT.name, OFFSETS.name} == table


def test_docs_say_what_came_later_and_what_no_digest_has() -> None:
    """docs/schema.md says which columns files may lack, docs/release.md what the row digest leaves out."""
    later = {each.name for each in COLUMNS if each.since > 1}
    apart = {each.name for each in COLUMNS if not each.digest}
    schema, release = ((DOCS / f"{name}.md").read_text() for name in ("schema", "release"))
    (lacking,) = re.findall(r"Files of earlier versions lack ([^:]+):", schema)
    assert set(re.findall(r"`(\w+)`", lacking)) == later
    (without,) = re.findall(r"Where ([^.]+) is null the row goes without it", release)
    assert set(re.findall(r"`(\w+)`", without)) == later - apart
    (never,) = re.findall(r"- ([^-]+) are no part of a row", release)
    assert set(re.findall(r"`(\w+)`", never)) == apart


def test_docs_say_what_a_stand_off_release_has() -> None:
    """docs/release.md has a row for each of its columns, and says which may be null."""
    text = (DOCS / "release.md").read_text()
    rows = re.findall(r"^\|(`[^|]+)\|[^|]*\|(yes|no)\|", text.split("## Without the text")[1], re.M)
    documented = {name: null for names, null in rows for name in re.findall(r"`(\w+)`", names)}
    assert documented == {field.name: "yes" if field.nullable else "no" for field in STAND_OFF}


def test_what_came_later_may_be_null() -> None:
    """It is null in the files that lack it."""
    assert all(each.null for each in COLUMNS if each.since > 1)


def test_a_stand_off_release_keeps_no_list_of_words() -> None:
    """Of which each could be a short name, and all together a sentence of the source."""
    lists = {each.name for each in COLUMNS if each.kind == "list of string"}
    kept = {each.name for each in COLUMNS if each.stand_off == "kept" and each.of != "stand-off"}
    assert lists & kept == set()
