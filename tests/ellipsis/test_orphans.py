"""`conjoin orphans`: orphans, UAS and LAS by hand, and as the shared task's script has them."""

import gzip
import json
import lzma
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from treebank import conllu, tree
from udtools import udeval

from pipeline.core.errors import InputError
from pipeline.ellipsis.orphans.command import COUNTED, by_sentence, intervals, run, score
from pipeline.ellipsis.orphans.settings import OrphansSettings
from pipeline.text.coordinations import WITHHELD
from pipeline.text.unpacking import bytes_of

GAPPING = Path(__file__).resolve().parents[2] / "../shared/data/gapping"

WORDS = (
    "Mary 2 nsubj",
    "won 0 root",
    "gold 2 obj",
    "and 5 cc",
    "Peter 2 conj",
    "bronze 5 orphan",
    "today 5 orphan",
)


def sentence(name: str = "s", **heads: str) -> str:
    """Mary won gold and Peter bronze today; words with another head or relation are named."""
    rows = []
    for word in WORDS:
        form, head, deprel = word.split()
        head, deprel = heads.get(form, f"{head} {deprel}").split()
        rows.append(f"{form} {form} X {head} {deprel}")
    return conllu(name, *rows)


def figures(gold: str, system: str) -> dict[str, Any]:
    """The figures of one sentence."""
    return score([tree(gold)], [tree(system)])


def test_a_right_parse_is_right() -> None:
    """All figures are one."""
    found = figures(sentence(), sentence())
    assert found["gold"] == found["system"] == {"sentences": 1, "words": 7, "orphans": 2}
    assert found["las"] == {"correct": 7, "precision": 1.0, "recall": 1.0, "f": 1.0}
    assert found["orphans"]["attached"] == {"correct": 2, "recall": 1.0}


def test_orphans_are_counted_by_name_by_head_and_by_both() -> None:
    """One found with a wrong head, one attached right under another name, one invented."""
    found = figures(
        sentence(), sentence(bronze="2 orphan", today="5 advmod", gold="2 orphan", Peter="2 obj")
    )
    orphans = found["orphans"]
    assert orphans["found"] == {"correct": 1, "precision": 0.5, "recall": 0.5, "f": 0.5}
    assert orphans["attached"] == {"correct": 1, "recall": 0.5}
    assert orphans["found_and_attached"] == {
        "correct": 0,
        "precision": 0.0,
        "recall": 0.0,
        "f": 0.0,
    }
    assert (found["uas"]["correct"], found["las"]["correct"]) == (6, 3)


def test_without_orphans_nothing_is_made_up() -> None:
    """Shares of nothing are null; subtypes do not count."""
    plain = sentence(bronze="5 obj", today="5 obl:tmod")
    found = figures(plain, plain.replace("obl:tmod", "obl"))
    assert found["orphans"]["found"] == {"correct": 0, "precision": None, "recall": None, "f": None}
    assert found["orphans"]["attached"] == {"correct": 0, "recall": None}
    assert found["las"]["f"] == 1.0
    sub = figures(sentence(bronze="5 orphan:x"), sentence())
    assert sub["orphans"]["found_and_attached"]["f"] == 1.0


def test_other_tokens_are_aligned_as_in_the_shared_task() -> None:
    """Of words that are cut otherwise none is right, the others are; UAS and LAS are the script's."""
    gold = sentence()
    cut = conllu(
        "s",
        "Ma ma X 3 nsubj",
        "ry ry X 1 flat",
        "won won X 0 root",
        "gold gold X 3 obj",
        "and and X 6 cc",
        "Peter Peter X 3 conj",
        "7-8\tbronzetoday" + "\t_" * 8,
        "bronze bronze X 6 orphan",
        "today today X 6 orphan",
    )
    found = figures(gold, cut)
    assert found["aligned_words"] == 6
    assert found["orphans"]["found_and_attached"]["correct"] == 2
    theirs = udeval.evaluate(*(udeval.load_conllu(StringIO(text), "", {}) for text in (gold, cut)))
    assert found["las"]["f"] == theirs["LAS"].f1
    assert found["uas"]["f"] == theirs["UAS"].f1


def test_it_prints_a_table_or_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files may be packed; the figures go into a file as well."""
    gold, system = tmp_path / "gold.conllu", tmp_path / "system.conllu.gz"
    gold.write_text(sentence() * 2)
    system.write_bytes(gzip.compress((sentence() + sentence(bronze="2 obl")).encode()))
    out = tmp_path / "figures.json"
    run(OrphansSettings.build({"gold": gold, "system": system, "out": out}, None))
    shown = capsys.readouterr().out
    assert "gold    2 sentences, 14 words, 4 orphans" in shown
    assert "orphans found and attached     │    100.00 │  75.00 │ 85.71" in shown
    run(OrphansSettings.build({"gold": gold, "system": system, "json_": True}, None))
    whole = json.loads(out.read_text())
    assert whole.pop("counted")[-1] == "found_and_attached"
    assert whole.pop("by_sentence") == [[7, 7, 7, 2, 2, 2], [7, 6, 6, 2, 1, 1]]
    assert json.loads(capsys.readouterr().out) == whole
    assert whole["intervals"]["orphans_f"] == [2 / 3, 1.0]


def test_counts_by_sentence_add_up_to_the_script_s() -> None:
    """And the intervals over sentences hold the figures; where words are cut otherwise there are none."""
    gold = [tree(sentence()) for _ in range(30)]
    system = [tree(sentence(bronze="2 obl") if n % 3 else sentence()) for n in range(30)]
    found, counts = score(gold, system), by_sentence(gold, system)
    assert counts is not None
    totals = dict(zip(COUNTED, counts.sum(0).tolist(), strict=True))
    assert totals["uas"] == found["uas"]["correct"]
    assert totals["las"] == found["las"]["correct"]
    assert totals["found_and_attached"] == found["orphans"]["found_and_attached"]["correct"]
    low, high = intervals(counts)["las"] or (1.0, 0.0)
    assert low < found["las"]["f"] < high
    assert high - low < 0.1
    plain = [tree(sentence(bronze="5 obj", today="5 obl"))]
    none = by_sentence(plain, plain)
    assert none is not None
    assert intervals(none) == {"uas": [1.0, 1.0], "las": [1.0, 1.0], "orphans_f": None}
    assert by_sentence(gold, gold[1:]) is None


@pytest.mark.parametrize(
    ("system", "said"),
    [
        (
            sentence() + sentence("t").replace("gold", "silver"),
            r"system.conllu:10: another text than gold.conllu: '.*silver.*' where .* \(sentence t\)",
        ),
        (sentence(), r"system.conllu:1: another text than gold.conllu: 'ronzetoday' where it has"),
        ("", r"system.conllu: no sentence here; is it CoNLL-U\?"),
        (sentence(gold="9 obj"), r"system.conllu:4: HEAD of word 3 is 9, and there are 7 words"),
    ],
)
def test_files_that_do_not_fit_are_reported(system: str, said: str, tmp_path: Path) -> None:
    """One line, with the parser's file, line and sentence."""
    (tmp_path / "gold.conllu").write_text(sentence() + sentence("t"))
    (tmp_path / "system.conllu").write_text(system)
    given = {"gold": tmp_path / "gold.conllu", "system": tmp_path / "system.conllu"}
    with pytest.raises(InputError, match=said) as raised:
        run(OrphansSettings.build(given, None))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"out": "gold.conllu"}, "the output may not replace"),
        ({"out": "folder"}, "folder: this is a folder; name a file in it"),
        ({"gold": "-", "system": "-"}, "both are standard input; name one"),
    ],
)
def test_no_file_is_lost_and_no_work_done_in_vain(
    given: dict[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("gold.conllu", "system.conllu"):
        Path(name).write_text(sentence())
    Path("folder").mkdir()
    with pytest.raises(InputError, match=said):
        run(
            OrphansSettings.build({"gold": "gold.conllu", "system": "system.conllu", **given}, None)
        )
    assert Path("gold.conllu").read_text() == sentence()


def test_a_small_packed_file_does_not_fill_the_memory(tmp_path: Path) -> None:
    """All trees are held at once, so what may be unpacked is little, unless more is asked for."""
    path = tmp_path / "bomb.conllu.xz"
    path.write_bytes(lzma.compress(sentence().encode() * 10_000))
    assert path.stat().st_size < 2**13
    given = {"gold": path, "system": path}
    assert bytes_of(OrphansSettings.build(given, None).largest_unpacked) <= 2**26
    with pytest.raises(InputError, match=r"more than 1MiB; .* allow more by --largest-unpacked"):
        run(OrphansSettings.build({**given, "largest_unpacked": "1MiB"}, None))


def test_words_that_are_withheld_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Underscores for words, as in GUM's documents from Reddit, are left out wherever a parser cuts them."""
    gold, system, out = (tmp_path / name for name in ("gold", "system", "out"))
    hidden = conllu("h", "___ _ X 0 root", "__ _ X 1 orphan", "_ _ X 1 punct")
    gold.write_text(sentence() + hidden + sentence("t"))
    cut = conllu("h", "___ _ X 0 root") + conllu("i", "__ _ X 0 root", "_ _ X 1 punct")
    system.write_text(sentence() + cut + sentence("t"))
    run(OrphansSettings.build({"gold": gold, "system": system, "out": out}, None))
    assert f"{WITHHELD}: 1" in " ".join(capsys.readouterr().err.split())
    found = json.loads(out.read_text())
    assert found.pop("left_out") == {WITHHELD: 1}
    assert found["gold"] == found["system"] == {"sentences": 2, "words": 14, "orphans": 4}
    assert len(found["by_sentence"]) == 2
    gold.write_text(hidden + conllu("t", ". _ X 0 root"))
    system.write_text(
        conllu("h", *(f"{w} _ X {n} dep" for n, w in enumerate(("___", "__", "_", "."))))
    )
    with pytest.raises(InputError, match="part of another sentence"):
        run(OrphansSettings.build({"gold": gold, "system": system}, None))
    gold.write_text(hidden)
    with pytest.raises(InputError, match="words of every sentence"):
        run(OrphansSettings.build({"gold": gold, "system": gold}, None))


@pytest.mark.skipif(not GAPPING.exists(), reason="needs ../shared/data/gapping")
@pytest.mark.parametrize("split", ["dev", "train"])
@pytest.mark.long
def test_sentences_with_gapping_are_read(split: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With empty nodes and without; relations to nodes that are not there do not matter."""
    enhanced, basic = (GAPPING / f"{kind}.{split}.conllu" for kind in ("enhanced", "orphan-basic"))
    run(OrphansSettings.build({"gold": enhanced, "system": basic, "json_": True}, None))
    found = json.loads(capsys.readouterr().out)
    assert found["gold"]["orphans"] == {"dev": 95, "train": 208}[split]
    assert found["orphans"]["found_and_attached"]["f"] == 1.0
