"""What no word may be: the same in Python and in SQL, and for coordinators whoever names them."""

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from pipeline.core.cards.targets import TargetsFile
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import write_json
from pipeline.core.types import is_label
from pipeline.core.words import coordinator, fault_of_word
from pipeline.corpus.candidate_checks import faults
from pipeline.corpus.validity.rules import RULES
from pipeline.generate.settings import GenerateSettings
from pipeline.select.settings import SelectSettings
from pipeline.train.settings import TrainSettings
from pipeline.trying.fill.settings import FillSettings

WRONG = [
    "", "[MASK]", "<extra_id_0>", "<|endoftext|>", "\u2581and", "a\x1b[31m", "a\x00", "a\x85", "a\ufffd",
    "and or", "and\u2003or", "and\u00a0or", "and\u3000", "a\tb", "a\u202eb", "\u2066", "a\u200f", "\u061ca",
]  # fmt: skip
RIGHT = [
    "and",
    "and/or",
    "&",
    "plus",
    "n't",
    "caf\u00e9",
    "-LRB-",
    "as\u00adwell",
    "a\u200bb",
    "\u4e00",
]
"""A soft hyphen and a space of no width stand in real texts."""


@pytest.mark.parametrize("word", [*WRONG, *RIGHT])
def test_validate_and_python_agree_on_words(word: str) -> None:
    """The patterns mean the same in both."""
    rules = [rule for rule in RULES if rule.needs == "words" and rule.kind != "no words"]
    row = pa.record_batch({"words": [[word, "x"]]})
    with duckdb.connect() as database:
        kinds = {fault.kind for fault in faults(database, row, rules)}
    assert bool(kinds) is (fault_of_word(word) is not None)
    assert (fault_of_word(word) is not None) is (word in WRONG)


@pytest.mark.parametrize("label", ["NP+VP", "NP;x", "NP\x1b[2J", "np", "", "N" * 17, "NP\nx"])
def test_what_is_no_label_is_asked_of_no_candidate(tmp_path: Path, label: str) -> None:
    """One rule for all options that name labels, which is that of ``validate``."""
    rules = [rule for rule in RULES if rule.kind == "invalid label"]
    row = pa.record_batch({"label": [label], "harvested": [True]})
    with duckdb.connect() as database:
        assert list(faults(database, row, rules, {"any_label": True}))
    assert not is_label(label)
    with pytest.raises(SettingsError, match="is no label"):
        TrainSettings.build({"corpus": tmp_path, "candidates": "x", "labels": [label]}, None)
    with pytest.raises(SettingsError, match=r"select\.label.*(is no label|names nothing)"):
        SelectSettings.build({"places": [tmp_path], "out": "x", "label": [label, "NP"]}, None)
    with pytest.raises(SettingsError, match="is no label"):
        FillSettings.build({"sentence": "dogs bark", "span": "dogs", "label": label}, None)


@pytest.mark.parametrize("label", ["NP", "NP-SBJ", "PRP$", "X1"])
def test_what_is_a_label(label: str) -> None:
    """As treebanks have them."""
    assert is_label(label)


COORDINATORS = [*filter(None, WRONG), "a\u200bb", ")(", "<s>", "(and)"]


@pytest.mark.parametrize("word", COORDINATORS)
def test_what_is_no_word_is_no_coordinator(tmp_path: Path, word: str) -> None:
    """Neither by an option of ``generate`` and ``fill``, nor in a file of targets."""
    with pytest.raises(SettingsError, match="coordinator"):
        GenerateSettings.build({"corpus": tmp_path, "coordinator": word}, None)
    with pytest.raises(SettingsError, match="coordinator"):
        FillSettings.build({"sentence": "dogs bark", "span": "dogs", "coordinator": word}, None)
    with pytest.raises(SettingsError, match="coordinator"):
        GenerateSettings.build({"corpus": tmp_path, "coordinators": f"and,{word}"}, None)
    cell = {"label": "NP", "length": 0, "conjuncts": 2, "share": 1.0}
    document = {"format": 1, "edges": [3], "commas": 0.5, "cells": [cell | {"coordinator": word}]}
    write_json(tmp_path / "targets.json", document)
    with pytest.raises(InputError, match="coordinator"):
        read_json(tmp_path / "targets.json", TargetsFile)


@pytest.mark.parametrize("word", ["and", "and/or", "&", "but", "versus", "vs."])
def test_coordinators_are_words(tmp_path: Path, word: str) -> None:
    """What treebanks have."""
    assert (
        GenerateSettings.build({"corpus": tmp_path, "coordinator": word}, None).coordinator == word
    )


@pytest.mark.parametrize("word", [",", "and,or", "and,", "(", "a b", "\u200b", ""])
def test_what_no_coordinator_may_be(word: str) -> None:
    """`validate` would refuse the rows."""
    with pytest.raises(ValueError, match="no coordinator: it has"):
        coordinator(word)


@pytest.mark.parametrize("word", ["and", "&", "plus", "as-well-as"])
def test_what_a_coordinator_may_be(word: str) -> None:
    """Any word that can be seen."""
    assert coordinator(word) == word
