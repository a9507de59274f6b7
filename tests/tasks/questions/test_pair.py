"""`conjoin pair`: a corpus's sentences become event pairs, and those with core events are told."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import caused
import harvested
import pyarrow.parquet as pq
import pytest
import torch
from caused import BAKER, BROKE, CLERK, so

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, ModelError
from pipeline.core.files import write_json
from pipeline.core.questions import CORE_PAIRS_FILE
from pipeline.parsing.parser import Parser
from pipeline.tasks.questions.events import Event, EventArgument
from pipeline.tasks.questions.pair import clauses, joined
from pipeline.tasks.questions.pair.basic import FREQUENT, NO_FORMER, NO_LATTER, TWICE, core_pairs
from pipeline.tasks.questions.pair.settings import PairSettings
from pipeline.tasks.questions.pair.stage import default_out, run
from pipeline.tasks.questions.pairs import EventPair, read_core_pairs, read_event_pairs


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Eight sentences of training text, and one of another split."""
    held_out = caused.sentence(8, caused.TREES[0], split="dev")
    every = [caused.sentence(n, tree) for n, tree in enumerate(caused.TREES)]
    return caused.corpus_of(tmp_path / "corpus", [*every, held_out])


def settings(corpus: Path, **more: Any) -> PairSettings:
    return PairSettings(**{"corpus": corpus, "unit": 3, **more})


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in {".lock", ".workers"}
    }


def test_training_sentences_become_pairs(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One row for each with a connective, in order; counts of each step; a rerun changes nothing."""
    run(settings(corpus))
    out = default_out(settings(corpus))
    assert out == corpus / "pairs/treebank"
    found = read_event_pairs(out)
    assert [each.sentence_id for each in found] == ["c/0", "c/1", "c/2", "c/5", "c/7"]
    assert len({each.pair_id for each in found}) == 5
    first = found[0]
    assert (first.former, first.latter) == (
        ("the", "baker", "dropped", "the", "jar"),
        ("it", "broke"),
    )
    assert first.former_event.arguments == (
        EventArgument("subject", "baker"),
        EventArgument("object", "jar"),
    )
    assert (first.connective, first.license) == ("so", "CC0-1.0")
    refused = [r for p in sorted(out.glob("rejects-*")) for r in pq.read_table(p).to_pylist()]
    assert refused == [{"sentence_id": "c/6", "connective": "so", "reason": clauses.DEMONSTRATIVE}]
    assert len(list(out.glob("pairs-*-of-00002.parquet"))) == 2
    manifest = read_json(out / "manifest.json")
    assert manifest["tally"] == {"seen": 6, "kept": 5, "refused": {clauses.DEMONSTRATIVE: 1}}
    assert manifest["notes"] == {joined.WITHOUT: 2}
    assert manifest["command"].startswith("conjoin pair data/corpus ")
    assert [part["part"] for part in manifest["annotation"]] == ["others"]
    cores = read_core_pairs(out)
    assert [(each.former_core, each.latter_core, each.recovered) for each in cores] == [
        ("drop(object jar)", "broke(subject jar)", "jar"),
        ("drop(object jar)", "ran(subject baker)", None),
    ]
    assert not (out / "README.md").exists()
    printed = capsys.readouterr().out
    for name, count in (
        ("training sentences", 8),
        ("with a connective", 6),
        ("reliable", 5),
        (TWICE, 1),
        (NO_FORMER, 2),
    ):
        assert any(name in line and line.split()[-1] == str(count) for line in printed.splitlines())
    before = files(out)
    run(settings(corpus))
    assert files(out) == before


@pytest.fixture
def parsed(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same as raw text, and beside it the folder of a corpus whose parser knows the trees."""
    every = [caused.sentence(n, tree) for n, tree in enumerate(caused.TREES)]
    harvested.with_ready_parser(tmp_path / "bank")

    def load(_: str) -> Parser:
        with monkeypatch.context() as patch:
            harvested.knowing(patch, every)
            return harvested.natural_text.corpus_parser(Path())

    monkeypatch.setattr(joined, "load_parser", load)
    return caused.corpus_of(tmp_path / "raw", map(harvested.without_gold, every))


def test_a_parser_makes_the_same_pairs(corpus: Path, parsed: Path, tmp_path: Path) -> None:
    """Named by its corpus's folder or its own; sentences that are too long for it are not parsed."""
    run(settings(corpus))
    wanted = read_event_pairs(default_out(settings(corpus)))
    for name in ("bank", "bank/parser"):
        with_parser = settings(parsed, parser=str(tmp_path / name))
        run(with_parser)
        out = default_out(with_parser)
        assert out == parsed / "pairs" / Path(name).name
        assert read_event_pairs(out) == wanted
        assert read_json(out / "manifest.json")["model"].startswith("stanza:ready")
    long = replace(
        caused.sentence(0, caused.TREES[0]), words=("if", *["a"] * 99), tree=None, tags=None
    )
    source = joined.JoinedClausesSource(
        settings(caused.corpus_of(tmp_path / "long", [long]), parser=str(tmp_path / "bank"))
    )
    (row,), _ = source.prepare(torch.device("cpu"))(source.items(0)[0], lambda *_: None)
    assert row == joined.RefusedSentence("c/0", "if", clauses.TOO_LONG)


def test_a_run_goes_on_where_it_was_stopped(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Units that are there stay; without the last one there are no core pairs to be read."""
    out = default_out(settings(corpus))
    run(settings(corpus))
    whole = files(out)
    (out / "pairs-00001-of-00002.parquet").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(joined, "_row", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run(settings(corpus))
    for read in (read_event_pairs, read_core_pairs):
        with pytest.raises(InputError, match=r"no finished folder of event pairs"):
            read(out)
    run(settings(corpus))
    assert files(out) == whole


def test_core_pairs_are_made_anew_of_what_stands_there(corpus: Path) -> None:
    """Missing, of other settings, or stopped before they were written: a rerun makes them, and no unit."""
    out = default_out(settings(corpus))
    run(settings(corpus))
    whole = files(out)
    (out / CORE_PAIRS_FILE).unlink()
    with pytest.raises(InputError, match="missing, or of other pairs"):
        read_core_pairs(out)
    run(settings(corpus))
    assert files(out) == whole
    run(settings(corpus, predicates=1))
    assert [each.latter_core for each in read_core_pairs(out)] == []
    shards = {name for name, data in files(out).items() if whole.get(name) == data}
    assert {each for each in whole if each.startswith((".units", "pairs-", "rejects-"))} <= shards
    (out / CORE_PAIRS_FILE).write_bytes(whole[CORE_PAIRS_FILE])
    with pytest.raises(InputError, match="missing, or of other pairs"):
        read_core_pairs(out)
    run(settings(corpus))
    assert files(out) == whole
    other = settings(corpus, unit=5)
    run(other)
    assert len(read_core_pairs(out)) == 2


def test_somebody_elses_file_stays(corpus: Path) -> None:
    """One that is called like the core pairs is no output of an earlier run."""
    out = default_out(settings(corpus))
    out.mkdir(parents=True)
    (out / CORE_PAIRS_FILE).write_text("mine")
    with pytest.raises(InputError, match="something else here already"):
        run(settings(corpus))
    assert (out / CORE_PAIRS_FILE).read_text() == "mine"


@pytest.mark.long
def test_workers_make_the_same(corpus: Path, forks: Any, tmp_path: Path) -> None:
    """As many as there are; worker 0 makes the core pairs."""
    run(settings(corpus))
    one, two = default_out(settings(corpus)), corpus / "pairs/two"
    child = forks.launch(settings(corpus, processes=2, out=two), tmp_path / "log")
    assert forks.end(child) == 0, (tmp_path / "log").read_text()
    assert files(two) == files(one)


def test_a_dry_run_writes_nothing(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what there is to do."""
    run(settings(corpus, dry_run=True))
    assert "2 to make of 2" in capsys.readouterr().out
    assert not (corpus / "pairs").exists()


def test_text_stays_at_home(tmp_path: Path) -> None:
    """Each row has its sentence's licence, and one that forbids to hand it on keeps the folder there."""
    corpus = caused.corpus_of(
        tmp_path / "corpus", [caused.sentence(0, so(BAKER, BROKE), licence="unknown")]
    )
    with pytest.raises(InputError, match="licence 'unknown'"):
        run(settings(corpus, out=tmp_path / "elsewhere"))
    run(settings(corpus))
    assert read_event_pairs(default_out(settings(corpus)))[0].license == "unknown"


def _without_connective(folder: Path) -> PairSettings:
    return settings(caused.corpus_of(folder / "c", [caused.sentence(0, f"(S1 {BAKER})")]))


def _without_trees(folder: Path) -> PairSettings:
    bare = harvested.without_gold(caused.sentence(0, so(CLERK, BROKE)))
    return settings(caused.corpus_of(folder / "c", [bare]))


def _without_parser(folder: Path) -> PairSettings:
    return settings(caused.corpus_of(folder / "c"), parser=str(folder))


def _with_treebank(folder: Path) -> PairSettings:
    write_json(
        folder / "b/parser/parser.json", {"source": "treebank", "wrapper": None, "training": None}
    )
    return settings(caused.corpus_of(folder / "c"), parser=str(folder / "b"))


@pytest.mark.parametrize(
    ("case", "kind", "line"),
    [
        (lambda folder: settings(folder / "none"), InputError, "no corpus here"),
        (_without_connective, InputError, "none of 1 training sentences has a causal"),
        (
            _without_trees,
            InputError,
            "no sentence gave a pair; look at the reasons above; --parser",
        ),
        (_without_parser, InputError, "no parser here; name a corpus"),
        (_with_treebank, ModelError, "has no parser"),
    ],
)
def test_bad_input_is_one_line(
    case: Callable[[Path], PairSettings], kind: type[Exception], line: str, tmp_path: Path
) -> None:
    """What, where, and what to do."""
    with pytest.raises(kind, match=line) as caught:
        run(case(tmp_path))
    assert "\n" not in str(caught.value)


def test_folders_of_other_rows_are_no_pairs(corpus: Path, tmp_path: Path) -> None:
    """Nor are shards that somebody changed."""
    shards = {
        "shards": [
            {"file": "candidates-00000-of-00001.parquet", "rows": 1, "bytes": 1, "sha256": "0" * 64}
        ]
    }
    write_json(tmp_path / "other/manifest.json", shards)
    with pytest.raises(InputError, match="these are no event pairs"):
        read_event_pairs(tmp_path / "other")
    run(settings(corpus))
    out = default_out(settings(corpus))
    (out / "pairs-00000-of-00002.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="missing, or not as pair wrote it"):
        read_event_pairs(out)


def pair(number: int, former: Event, latter: Event) -> EventPair:
    return EventPair(f"p{number:03d}", f"s{number}", (), (), "so", former, latter, "CC0-1.0")


def one(predicate: str, head: str) -> Event:
    return Event(predicate, False, False, (EventArgument("object", head),))


def test_trivial_and_repeated_pairs_are_left_out() -> None:
    """A core event is trivial that more than --most per cent of events have, and more than ten times."""
    bare = Event("rain", False, False, ())
    pairs = [pair(n, one("do", "work"), one("eat", f"meal-{n}")) for n in range(11)]
    pairs += [pair(20 + n, one("cut", f"tree-{n}"), one("sell", f"wood-{n}")) for n in range(10)]
    pairs += [
        pair(40, one("cut", "tree-0"), one("sell", "wood-0")),
        pair(41, bare, one("cut", "tree-1")),
    ]
    pairs += [pair(42, one("cut", "tree-1"), bare)]
    usual = PairSettings(corpus=Path("c"))
    kept, tally = core_pairs(pairs, usual)
    assert [each.pair_id for each in kept] == [f"p{20 + n:03d}" for n in range(10)]
    assert tally.refused == {FREQUENT: 11, TWICE: 1, NO_FORMER: 1, NO_LATTER: 1}
    assert tally.seen == len(pairs)
    kept, tally = core_pairs(pairs, usual.model_copy(update={"most": 30}))
    assert (len(kept), tally.refused[FREQUENT]) == (21, 0)
