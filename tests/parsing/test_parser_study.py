"""The study benchmarks/parsers: what is learned from, and what is compared."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.parsers import parser_results as results
from benchmarks.parsers import parser_study as study
from benchmarks.parsers import parser_tables as tables
from pipeline.core.types import Coordination, Span


def test_half_of_what_is_learned_from_is_gold() -> None:
    assert study.mixed(["a", "b"], []) == ["a", "b"]
    assert study.mixed(["a", "b"], ["x", "y", "z"]) == ["a", "b", "a", "x", "y", "z"]
    assert study.mixed(["a", "b", "c"], ["x"]) == ["a", "b", "c", "x", "x", "x"]


def test_equal_arms_have_as_many_candidates_as_the_fewest(tmp_path: Path) -> None:
    for number, source in enumerate(study.SOURCES, 3):
        unit = study.Unit(tmp_path, tmp_path / "genia", 250, 0, source, equal=True)
        unit.trees(source).parent.mkdir(parents=True, exist_ok=True)
        lines = [f"(ROOT (S (NN w{n})))\n" for n in range(number)]
        unit.trees(source).write_text("".join(lines), encoding="utf-8")
    assert len(study.exported(unit)) == 3
    taught = study.Unit(tmp_path, tmp_path / "genia", 250, 0, source, "treebank", equal=True)
    taught.trees(source).parent.mkdir(parents=True)
    taught.trees(source).write_bytes(unit.trees(source).read_bytes())
    assert len(study.exported(taught)) == 3  # of those of the first round
    several = study.Unit(tmp_path, tmp_path / "genia", 250, 0, "attested+harvest")
    assert len(study.exported(several)) == 3 + 6
    assert study.exported(several)[0] == "(ROOT (S (XX w0)))"
    assert study.exported(study.Unit(tmp_path, tmp_path / "genia", 250, 0, "gold")) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--equal-arms", "--whole", "harvest"],
            ["train gold", "trees", "harvest", "train harvest"],
        ),
        (
            ["--equal-arms", "--whole", "harvest", "--teacher", "harvest"],
            [
                *("train gold", "trees", "harvest", "train harvest"),
                *("trees by harvest", "harvest by harvest", "train harvest by harvest"),
            ],
        ),
        (
            ["--equal-arms", "attested", "--teacher", "treebank"],
            [
                *("train gold", "trees", "attested", "unranked", "free", "harvest"),
                *("trees by treebank", "attested by treebank", "train attested by treebank equal"),
            ],
        ),
    ],
)
def test_units_has_what_others_need_first(
    options: list[str],
    expected: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(study, "read_kept", list)
    line = ["units", "--corpus", "data/gum", "--gold", "250", "--seeds", "0", *options]
    monkeypatch.setattr("sys.argv", ["parser_study.py", *line])
    study.main(study._options())
    units = []
    for line_ in capsys.readouterr().out.splitlines():
        words = line_.split()
        arm = words[words.index("--arm") + 1]
        by = f" by {words[words.index('--teacher') + 1]}" if "--teacher" in words else ""
        units.append("train " * (words[2] == "train") + arm + by + " equal" * ("--equal" in words))
    assert units == expected


def test_units_leaves_out_what_is_kept_but_not_with_again(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    about = {
        "corpus": "gum",
        "gold": 250,
        "seed": 0,
        "teacher": "gold",
        "equal": False,
        "found": [],
    }
    monkeypatch.setattr(study, "read_kept", lambda: [{**about, "arm": a} for a in ("gold", "free")])
    line = ["units", "--corpus", "data/gum", "--gold", "250", "--seeds", "0", "--equal-arms"]
    printed = []
    for more in ([], ["--again"]):
        monkeypatch.setattr("sys.argv", ["parser_study.py", *line, "--whole", "free", *more])
        study.main(study._options())
        printed.append(len(capsys.readouterr().out.splitlines()))
    assert printed == [0, 4]


def test_rounds_and_comparisons_do_not_overwrite_each_other(tmp_path: Path) -> None:
    units = [
        study.Unit(tmp_path, tmp_path / "gum", 250, 0, "harvest", teacher, equal, making)
        for teacher in ("gold", "harvest")
        for equal in (False, True)
        for making in (False, True)
    ]
    assert len({unit.result for unit in units}) == len(units)
    assert len({unit.trees("harvest") for unit in units}) == 2


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    found = Coordination(1, "and", "NP", (Span(0, 1), Span(2, 3)))
    unit = study.Unit(tmp_path, tmp_path / "gum", 250, 0, "gold")
    made = {
        "brackets": [[1, 2, 3]],
        "found": [[study.structure_row(found)]],
    }
    study.once(unit, {}, lambda: made)
    study.once(unit, {}, lambda: pytest.fail("it was finished"))
    kept = tmp_path / "kept.jsonl"
    read = results.read_json(unit.result, results.Result)
    assert read["brackets"] == [[1, 2, 3]]
    assert tables.structures(read["found"][0], ["cats", "and", "dogs"]) == [found]
    other = read | {"arm": "harvest", "seed": 1}
    assert results.keep([read, other], kept) == results.keep([read], kept) == 2
    assert results.read_kept(kept) == [read, other]
    assert "cats" not in kept.read_text()


def test_the_combination_asks_the_predictor_where_the_parser_finds_nothing() -> None:

    def structure(k: int, start: int, end: int) -> Coordination:
        return Coordination(k, "and", "NP", (Span(start, k), Span(k + 1, end)))

    gold = [structure(1, 0, 3), structure(5, 4, 7), structure(9, 8, 12)]
    found = [structure(1, 0, 3), structure(9, 8, 11)]
    predicted = iter([False, True, True])
    by_system: dict[str, list[bool]] = {}
    for name, right in tables.verdicts(gold, found, predicted):
        by_system.setdefault(name, []).append(right)
    assert by_system == {
        "parser": [True, False, False],
        "predictor": [False, True, True],
        "either (oracle)": [True, True, True],
        "the parser's, else the predictor's": [True, True, False],
    }


def test_gains_are_of_f1_over_all_sentences_and_paired() -> None:
    random = np.random.default_rng(0)
    wanted = random.integers(0, 3, (3, 200))
    right = np.minimum(wanted, random.integers(0, 2, wanted.shape))
    second = np.stack([right, wanted, wanted], axis=-1)
    alike = tables.gain(second, second)
    assert (alike.gain, alike.low, alike.high) == (0, 0, 0)
    first = np.stack([wanted, wanted, wanted], axis=-1)
    better = tables.gain(first, second)
    means = [1 - right[seed].sum() / wanted[seed].sum() for seed in range(3)]
    assert better.by_seed == pytest.approx(means)
    assert better.gain == pytest.approx(np.mean(means))
    assert 0 < better.low < better.gain < better.high
