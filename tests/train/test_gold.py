"""L extended by the sentences that a parser learned from: which they are, and what is refused."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import COORDINATION, build, ingested, sentence, settings

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import sha256_of, write_json
from pipeline.core.parquet import read_rows, write_rows
from pipeline.core.schema import CANDIDATES, SENTENCES, sentence_row
from pipeline.train import stage as train
from pipeline.train.data import HELD_OUT, OF_L, TrainData, fresh_model, read_data

OWN, MORE = [f"s{n}" for n in range(40)], [f"s{n}" for n in range(94, 114)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny corpus with 20 training sentences in no draw."""
    return build(tmp_path_factory.mktemp("data") / "tiny", more=20)


def parser(folder: Path, trees: Sequence[str], dev: Sequence[str] = ()) -> Path:
    """What tells which sentences a parser trained here learned from."""
    write_json(folder / "learned.json", {"trees": sorted(trees), "dev": sorted(dev)})
    files = {"learned.json": {"sha256": sha256_of(folder / "learned.json")}}
    card = {"source": "constituency.pt", "wrapper": None, "training": None, "files": files}
    write_json(folder / "parser.json", card)
    return folder


def read(corpus: Path, folder: Path | str, **given: Any) -> TrainData:
    asked = settings(corpus, gold_of=str(folder), **given)
    return read_data(asked, COORDINATION, fresh_model(asked, COORDINATION, 0, torch.device("cpu")))


def ids(found: Sequence[Any]) -> list[str]:
    return [each.sentence_id for each in found]


def test_l_is_extended_by_what_is_not_in_it(corpus: Path, tmp_path: Path) -> None:
    """By the sentences learned from, those of L once, and not by those that chose the epoch."""
    folder = parser(tmp_path / "parser", [*OWN[:7], *MORE[:12]], MORE[12:])
    data = read(corpus, folder)
    assert ids(data.labelled) == OWN
    assert ids(data.others) == sorted(MORE[:12])
    assert ids(data.sources) == ids(data.labelled) + ids(data.others)
    assert [e.words for e in data.learned] == [s.words for s in data.sources]
    assert data.size == 40
    assert data.excluded["others"].to_dict() == {"seen": 12, "kept": 12, "refused": {}}


def test_candidates_of_these_sentences_are_left_out(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are L's now, and what a parser finds there must not stand beside gold; nor what is held out."""
    (shard, _) = sorted((corpus / "candidates/t5-sync/seed-0").glob("*.parquet"))
    rows = list(read_rows(shard, CANDIDATES))
    for number, row in enumerate(rows):
        row["sentence_id"] = "s64" if number < 4 else MORE[number % 20]  # s64 is of the test split
    write_rows(tmp_path / "c/candidates-00000-of-00001.parquet", CANDIDATES, rows)
    folder = parser(tmp_path / "parser", MORE[:12])
    data = read(corpus, folder, candidates=tmp_path / "c")
    assert data.candidates is not None
    left_out = sum(row["sentence_id"] in MORE[:12] for row in rows)
    assert data.candidates.left_out == {OF_L: left_out, HELD_OUT: 4}
    assert left_out > 0
    gold_of = str(folder)
    train.run(settings(corpus, candidates=tmp_path / "c", gold_of=gold_of, out=tmp_path / "run"))
    kept = read_json(tmp_path / "run/run.json")["excluded"]
    assert kept["shards"] == {
        "seen": len(rows),
        "kept": len(rows) - left_out - 4,
        "refused": {OF_L: left_out, HELD_OUT: 4},
    }
    assert kept["candidates"]["seen"] > 0  # which are those that were looked at
    printed = " ".join(capsys.readouterr().out.split())
    assert OF_L in printed
    assert HELD_OUT in printed


def test_a_run_says_so(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Printed, in its settings without the machine's path, and another predictor comes out."""
    parser(corpus / "parsers/l-trees/40/seed-0", [*OWN[:7], *MORE])
    for name, given in {"with": "parsers/l-trees/{labelled}/seed-{seed}", "without": None}.items():
        train.run(settings(corpus, mode="baseline", steps=10, gold_of=given, out=tmp_path / name))
    printed = " ".join(capsys.readouterr().out.split())
    assert "L is extended by 20 sentences" in printed
    assert "with 20 coordinations" in printed
    with_, without = (read_json(tmp_path / name / "run.json") for name in ("with", "without"))
    assert with_["settings"] == without["settings"] | {"gold_of": "parsers/l-trees/40/seed-0"}
    assert with_["labelled"] == without["labelled"] == 40
    assert with_["excluded"]["others"]["kept"] == 20
    assert "others" not in without["excluded"]
    weights = [sha256_of(tmp_path / n / "predictor/model.safetensors") for n in ("with", "without")]
    assert weights[0] != weights[1]


def test_another_parsers_folder_goes_by_its_name(corpus: Path, tmp_path: Path) -> None:
    """As candidates from elsewhere do."""
    folder = parser(tmp_path / "elsewhere/ours", MORE)
    train.run(settings(corpus, mode="baseline", steps=5, gold_of=str(folder), out=tmp_path / "run"))
    assert read_json(tmp_path / "run/run.json")["settings"]["gold_of"] == "ours"


def test_validation_sentences_are_not_learned_from(corpus: Path, tmp_path: Path) -> None:
    """Whether a parser learned from some, or was chosen by them: they are left out."""
    for name, trees, chosen in (("one", [*MORE, "s41", "s45"], ()), ("other", MORE, ["s41"])):
        data = read(corpus, parser(tmp_path / name, trees, chosen))
        assert ids(data.others) == sorted(MORE)


@pytest.mark.parametrize("lent", [False, True])
def test_a_parser_of_another_corpus_brings_its_own_sentences(tmp_path: Path, *, lent: bool) -> None:
    """Named itself, or by the folder to which it was lent; not those that the draw has word for word."""
    corpus, other = build(tmp_path / "tiny"), tmp_path / "other"
    sentences = (replace(sentence(n), sentence_id=f"other/{n}") for n in (0, 41, *range(94, 114)))
    write_rows(other / "sentences.parquet", SENTENCES, map(sentence_row, sentences))
    ingested(other)
    taught = [f"other/{n}" for n in (0, 41, *range(94, 114))]
    folder, name = parser(other / "parser", taught), "other/parser"
    if lent:
        name = "parsers/of-other/40/seed-0"
        source = {"source": str(folder / "constituency.pt"), "wrapper": None, "training": None}
        write_json(corpus / name / "parser.json", source)
        folder = corpus / name
    data = read(corpus, folder)
    assert ids(data.labelled) == OWN
    assert ids(data.others) == sorted(taught[2:])
    train.run(settings(corpus, mode="baseline", steps=5, gold_of=str(folder), out=tmp_path / "run"))
    assert read_json(tmp_path / "run/run.json")["settings"]["gold_of"] == name


@pytest.mark.parametrize("name", ["s70", "other/1"])
def test_sentences_that_are_not_of_the_training_split(
    corpus: Path, tmp_path: Path, name: str
) -> None:
    """Of a test split, or of another corpus: one line names the first."""
    folder = parser(tmp_path / "parser", [*MORE, name])
    with pytest.raises(
        InputError, match="the parser learned from a sentence that is not in"
    ) as caught:
        read(corpus, folder)
    assert name in str(caught.value)


def test_a_ready_parser_says_nothing(corpus: Path, tmp_path: Path) -> None:
    """What it learned from is not known."""
    write_json(tmp_path / "parser.json", {"source": "wsj", "wrapper": None, "training": None})
    with pytest.raises(InputError, match="a ready parser, of which nobody says"):
        read(corpus, tmp_path)


def test_no_parser_there(corpus: Path, tmp_path: Path) -> None:
    """The folder is named."""
    with pytest.raises(InputError, match="nowhere"):
        read(corpus, tmp_path / "nowhere")
