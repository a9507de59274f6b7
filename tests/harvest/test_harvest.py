"""Natural coordinations as candidates: what is taken, what is left out, and by whose trees."""

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import harvested
import pytest
import torch
from harvested import COORDINATED, LABELLED, SENTENCES_THERE, VALIDATION, settings
from stanza.models.constituency.parse_tree import Tree as StanzaTree

from pipeline.core.corpus_folder import PARSERS_FOLDER
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, ModelError, SettingsError
from pipeline.core.files import write_json
from pipeline.core.parquet import read_rows
from pipeline.core.schema import REJECTS, read_candidates
from pipeline.core.types import Candidate, Reject, Sentence
from pipeline.harvest import natural_text
from pipeline.harvest.natural_text import NaturalTextSource, rows_of
from pipeline.harvest.settings import HarvestSettings
from pipeline.harvest.stage import default_out, run
from pipeline.parsing import making
from pipeline.parsing.card import LEARNED
from pipeline.parsing.levels import TOO_DEEP
from pipeline.parsing.parser import NO_TAGS, Parsed, load_parser
from pipeline.preparse import stage as preparse
from pipeline.preparse.settings import PreparseSettings
from pipeline.sources.protocol import WordedSource
from pipeline.text.coordinations import UNBALANCED, UNWORDED
from pipeline.text.natural import join_words
from pipeline.text.trees import escape, parse_tree

DRAWN = {s.sentence_id for s in (*LABELLED, *VALIDATION)}


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The world's sentences, and a ready parser that knows their trees."""
    harvested.knowing(monkeypatch)
    return harvested.with_ready_parser(harvested.corpus_of(tmp_path / "corpus"))


def candidates(out: Path) -> list[Candidate]:
    return [c for path in sorted(out.glob("candidates-*.parquet")) for c in read_candidates(path)]


def contents(out: Path) -> dict[str, bytes]:
    found = {str(p.relative_to(out)): p for p in out.rglob("*") if p.is_file()}
    return {n: p.read_bytes() for n, p in found.items() if n not in {".lock", ".workers"}}


def test_rows_are_the_coordinations_of_the_sentences_outside_l(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With gold trees they are the gold structures: the first conjunct, the last, and those between."""
    run(settings(corpus))
    out = corpus / "candidates/harvest-10/seed-0"
    found = candidates(out)
    outside = [s for s in COORDINATED if s.sentence_id not in DRAWN]
    gold = [(s, c) for s in outside for c in s.evaluable]
    assert [c.coordination for c in found] == [c for _, c in gold]
    assert any(len(c.conjuncts) > 2 for c in found)
    assert any(c.conjuncts[0].end < c.coordinator for c in found)
    for row, (sentence, structure) in zip(found, gold, strict=True):
        assert (row.sentence_id, row.words) == (sentence.sentence_id, sentence.words)
        assert (row.reference, row.license) == (structure.conjuncts[0], sentence.license)
        last = structure.conjuncts[-1]
        assert row.fill == join_words(row.words[last.start : last.end]).text
        assert (row.score, row.score_append, row.score_prepend, row.donor) == (None,) * 4
    manifest = read_json(out / "manifest.json")
    assert manifest["tally"] == {"seen": len(gold), "kept": len(gold), "refused": {}}
    assert manifest["notes"][natural_text.OF_L] == len(DRAWN)
    assert manifest["notes"][natural_text.LEARNED_FROM] == 0
    assert manifest["settings"]["fills"] == "harvested"
    assert manifest["command"].startswith("conjoin harvest data/corpus ")
    assert "--seed 0 --labelled 10 --parser corpus" in manifest["command"]
    printed = capsys.readouterr()
    assert f"{len(DRAWN):,} {natural_text.OF_L}" in printed.out
    assert "nothing says which sentences this ready parser learned from" in printed.err


def test_copies_of_what_is_known_are_left_out(corpus: Path, tmp_path: Path) -> None:
    """Word for word, under another id: sentences of L, and that validate."""
    own = next(s for s in LABELLED if s in COORDINATED)
    other = next(s for s in COORDINATED if s.sentence_id not in DRAWN)
    copies = [
        replace(harvested.without_gold(s), sentence_id=f"text/{n}", split="train")
        for n, s in enumerate((own, VALIDATION[0], other))
    ]
    more = harvested.with_ready_parser(
        harvested.corpus_of(tmp_path / "more", [*SENTENCES_THERE, *copies])
    )
    for each in (corpus, more):
        run(settings(each))
    place = "candidates/harvest-10/seed-0"
    found = [c for c in candidates(more / place) if c.sentence_id.startswith("text/")]
    assert {c.sentence_id for c in found} == {"text/2"}
    assert len(candidates(more / place)) == len(candidates(corpus / place)) + len(found)
    assert read_json(more / place / "manifest.json")["notes"][natural_text.COPIES] == 2


def test_sentences_without_the_tags_that_the_parser_reads_are_counted(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Raw text has none: its coordinators are in sentences without a tree, and the run goes on."""
    bare = next(s for s in COORDINATED if s.sentence_id not in DRAWN)
    given = [replace(s, tags=None) if s is bare else s for s in SENTENCES_THERE]
    harvested.with_ready_parser(harvested.corpus_of(corpus, given))
    knowing = natural_text.corpus_parser(corpus)
    monkeypatch.setattr(knowing, "needs_tags", True)
    run(settings(corpus))
    out = corpus / "candidates/harvest-10/seed-0"
    assert bare.sentence_id not in {row.sentence_id for row in candidates(out)}
    (found,) = [
        count
        for note, count in read_json(out / "manifest.json")["notes"].items()
        if note == f"{natural_text.UNPARSED}: {NO_TAGS}"
    ]
    assert found == sum(word.lower() in bare.coordinators for word in bare.words)


def test_gold_annotation_is_not_looked_at(corpus: Path, tmp_path: Path) -> None:
    """Raw text gives the same rows, and so do lies beside the words; U's filter does not apply."""
    run(settings(corpus))
    lies = [
        s if s.sentence_id in DRAWN else replace(s, tree="(S1 (X lie))", coordinations=())
        for s in SENTENCES_THERE
    ]
    raw = [s if s.sentence_id in DRAWN else harvested.without_gold(s) for s in SENTENCES_THERE]
    for name, sentences in (("lies", lies), ("raw", raw)):
        other = harvested.with_ready_parser(harvested.corpus_of(tmp_path / name, sentences))
        run(settings(other))
        place = "candidates/harvest-10/seed-0"
        assert candidates(other / place) == candidates(corpus / place)


def _sentence(words: str) -> Sentence:
    return Sentence("t/1", "t", "train", tuple(words.split()), None, None, (), "CC0-1.0")


def _made(
    words: str, tree: str | None, reason: str | None = None
) -> tuple[list[Any], dict[str, int]]:
    notes = natural_text.Counter[str]()
    parsed = Parsed(parse_tree(tree) if tree else None, reason)
    return list(rows_of(_sentence(words), parsed, notes)), dict(notes)


def test_what_gives_no_row_is_counted_with_its_reason() -> None:
    """No tree; nothing joined; an earlier coordinator of a structure; punctuation; a strange label."""
    assert _made("a and b or c", None, "no tree found") == (
        [],
        {f"{natural_text.UNPARSED}: no tree found": 2},
    )
    assert _made("And so", "(S (CC And) (RB so))") == ([], {natural_text.UNFOUND: 1})
    tree = "(NP (NP (XX a)) (XX and) (NP (XX b)) (XX or) (NP (XX c)))"
    (row,), notes = _made("a and b or c", tree)
    assert isinstance(row, Candidate)
    assert (row.coordinator, len(row.conjuncts), row.label) == (3, 3, "NP")
    assert notes == {natural_text.EARLIER: 1}
    dots = "(NP (NP (XX -)) (XX and) (NP (XX b)))"
    (row,), notes = _made("- and b", dots)
    assert isinstance(row, Reject)
    assert (row.reason, notes) == (UNWORDED, {})
    half = "(NP (NP (XX a)) (XX and) (NP (XX -LRB-) (XX b)))"
    (row,), _ = _made("a and ( b", half)
    assert isinstance(row, Reject)
    assert row.reason == UNBALANCED
    (row,) = rows_of(
        _sentence("a and ( b"),
        Parsed(parse_tree(half), None),
        natural_text.Counter(),
        unbalanced=True,
    )
    assert isinstance(row, Candidate)
    (row,), _ = _made("a and b", "(np (np (XX a)) (XX and) (np (XX b)))")
    assert isinstance(row, Reject)
    assert (row.reason, row.candidate.label) == (natural_text.STRANGE, "X")
    (row,), _ = _made("a and b", "(UCP (NP (XX a)) (XX and) (ADJP (XX b)))")
    assert isinstance(row, Candidate)
    assert row.label == "UCP"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("a ) , b and c", UNBALANCED),
        ("a , ( b and c", UNBALANCED),
        ("a , b and ( c", UNBALANCED),
        ("`` a , b '' and c", UNBALANCED),  # together they would balance
        ("( a ) , `` b '' and c", None),
    ],
)
def test_every_conjunct_balances_by_itself(words: str, reason: str | None) -> None:
    """The first, the last and those between."""
    first, last = words.split(" and ")
    parts = [
        " ".join(f"(XX {escape(w)})" for w in part.split()) for part in (*first.split(" , "), last)
    ]
    one, two, three = (f"(NP {part})" for part in parts)
    (row,), _ = _made(words, f"(NP {one} (XX ,) {two} (XX and) {three})")
    assert (row.reason if isinstance(row, Reject) else None) == reason
    made = row.candidate if isinstance(row, Reject) else row
    assert len(made.conjuncts) == 3


def test_sentences_without_a_tree_are_counted(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parser fails on one of them: its coordinators are in the notes, the others' rows stand."""
    outside = [s for s in COORDINATED if s.sentence_id not in DRAWN]
    harvested.knowing(monkeypatch, outside[1:])
    run(settings(corpus))
    out = default_out(settings(corpus))
    assert outside[0].sentence_id not in {c.sentence_id for c in candidates(out)}
    notes = read_json(out / "manifest.json")["notes"]
    assert notes[f"{natural_text.UNPARSED}: no tree found"] >= 1


def test_a_parse_of_too_many_levels_loses_one_sentence(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its id is said, its coordinators are counted; the others' rows stand."""
    outside = [s for s in COORDINATED if s.sentence_id not in DRAWN]
    deep = StanzaTree("XX", StanzaTree("x"))
    for _ in range(500):
        deep = StanzaTree("NP", deep)
    harvested.knowing(monkeypatch, outside, {outside[0].words: deep})
    run(settings(corpus))
    found = {c.sentence_id for c in candidates(default_out(settings(corpus)))}
    assert found
    assert outside[0].sentence_id not in found
    assert f"sentence {outside[0].sentence_id} is left out" in capsys.readouterr().err
    notes = read_json(default_out(settings(corpus)) / "manifest.json")["notes"]
    assert notes[f"{natural_text.UNPARSED}: {TOO_DEEP}"] >= 1


def test_the_first_so_many_sentences(corpus: Path, tmp_path: Path) -> None:
    """They are the first rows of all; without a limit nothing says that there could be one."""
    run(settings(corpus, unit=5))
    whole = candidates(default_out(settings(corpus)))
    run(settings(corpus, unit=5, limit=8, out=tmp_path / "few"))
    few = candidates(tmp_path / "few")
    assert 0 < len(few) < len(whole)
    assert few == whole[: len(few)]
    outside = [s.sentence_id for s in COORDINATED if s.sentence_id not in DRAWN]
    assert {c.sentence_id for c in few} <= set(outside[:8])
    assert "limit" not in read_json(default_out(settings(corpus)) / "manifest.json")["settings"]
    assert read_json(tmp_path / "few/manifest.json")["settings"]["limit"] == 8


def test_more_sentences_in_the_same_folder(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is new is parsed; a unit that was full stays; all is as if made at once."""
    out, once = tmp_path / "out", tmp_path / "once"
    run(settings(corpus, unit=5, out=once))
    run(settings(corpus, unit=5, limit=8, out=out))
    read: list[int] = []
    make = NaturalTextSource.prepare

    def counted(self: NaturalTextSource, device: Any) -> Any:
        rows_of_unit = make(self, device)
        return lambda some, on_batch: (read.append(len(some)), rows_of_unit(some, on_batch))[1]

    monkeypatch.setattr(NaturalTextSource, "prepare", counted)
    run(settings(corpus, unit=5, out=out))
    assert sum(read) == sum(NaturalTextSource(settings(corpus, unit=5)).sizes) - 5
    assert contents(out) == contents(once)


SMALL = {"parser_trees": 12, "parser_epochs": 1, "parser_hidden": 8, "limit": 2}


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with a parser that learned from some of the sentences that are to be harvested."""
    corpus = harvested.corpus_of(tmp_path_factory.mktemp("parsed"))
    preparse.run(PreparseSettings(corpus=corpus, **SMALL))
    return corpus


def test_no_row_is_of_a_sentence_that_the_parser_has_seen(
    parsed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trap: its trees of them are no predictions. A parser that does not say stops the run."""
    harvested.knowing(monkeypatch)
    run(settings(parsed))
    learned = read_json(parsed / "parser" / LEARNED)
    trap = {s.sentence_id for s in COORDINATED} & set(learned["trees"]) - DRAWN
    assert trap
    out = default_out(settings(parsed))
    found = {c.sentence_id for c in candidates(out)}
    assert found
    assert not found & {*learned["trees"], *learned["dev"]}
    assert not found & DRAWN
    assert read_json(out / "manifest.json")["notes"][natural_text.LEARNED_FROM] == len(trap)
    # Lent to another corpus of the same sentences it leaves them out as well.
    other = harvested.corpus_of(tmp_path / "other")
    harvested.with_ready_parser(other, str(parsed / "parser/parser.pt"))
    run(settings(other))
    assert {c.sentence_id for c in candidates(default_out(settings(other)))} == found
    card = read_json(parsed / "parser/parser.json")
    old = {**card, "files": {n: f for n, f in card["files"].items() if n != LEARNED}}
    write_json(tmp_path / "old/parser/parser.json", old)
    older = harvested.corpus_of(tmp_path / "old")
    (older / "parser/parser.pt").write_bytes((parsed / "parser/parser.pt").read_bytes())
    with pytest.raises(InputError, match=r"learned from; run `conjoin preparse` again"):
        run(settings(older))


@pytest.mark.long
def test_a_parser_of_ls_trees_learns_from_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its folder says of what it is, it is trained once, and the gold trees outside L do not matter."""
    raw = [s if s.sentence_id in DRAWN else harvested.without_gold(s) for s in SENTENCES_THERE]
    corpus = harvested.corpus_of(tmp_path / "corpus", raw)
    given = {"parser": "labelled", "parser_epochs": 2, "parser_hidden": 8}
    with pytest.raises(InputError, match="not trained yet, and a dry run writes nothing"):
        run(settings(corpus, **given, dry_run=True))
    assert not (corpus / "parsers").exists()
    run(settings(corpus, **given))
    assert "warning" not in capsys.readouterr().err
    folder = corpus / "parsers/labelled-10/seed-0"
    assert read_json(folder / LEARNED) == {
        "trees": sorted(s.sentence_id for s in LABELLED),
        "dev": sorted(s.sentence_id for s in VALIDATION),
    }
    out = corpus / "candidates/harvest-labelled-10/seed-0"
    manifest = read_json(out / "manifest.json")
    assert manifest["model"].startswith("stanza:train:")
    assert manifest["settings"]["parser_epochs"] == 2
    assert not {c.sentence_id for c in candidates(out)} & DRAWN
    before = contents(corpus / "parsers") | contents(out)
    monkeypatch.setattr(making, "train_parser", None)
    capsys.readouterr()
    run(settings(corpus, **given))
    assert "the parser is already there and current" in capsys.readouterr().out
    assert contents(corpus / "parsers") | contents(out) == before
    run(settings(corpus, **given, dry_run=True))
    assert "finished and current" in capsys.readouterr().out
    with pytest.raises(TypeError):  # nothing trains it here
        run(settings(corpus, **given | {"parser_epochs": 1}))


@pytest.mark.long
def test_a_parser_that_had_all_its_epochs_is_not_trained_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As earlier versions made them: it chose among more. One that ended early says so, and is no other."""
    corpus = harvested.corpus_of(tmp_path / "corpus")
    given = {"parser": "labelled", "parser_epochs": 1, "parser_hidden": 8, "limit": 10}
    card = corpus / "parsers/labelled-10/seed-0/parser.json"
    run(settings(corpus, **given, parser_patience=0))
    assert "parser_patience" not in read_json(card)["about"]["settings"]
    before = contents(corpus / "parsers"), candidates(default_out(settings(corpus, **given)))
    capsys.readouterr()
    run(settings(corpus, **given))
    assert "the parser is already there and current" in capsys.readouterr().out
    after = contents(corpus / "parsers"), candidates(default_out(settings(corpus, **given)))
    assert after == before
    card.unlink()
    run(settings(corpus, **given))
    assert read_json(card)["about"]["settings"]["parser_patience"] == 5
    assert read_json(card)["training"]["patience"] == 5
    monkeypatch.setattr(making, "train_parser", None)
    run(settings(corpus, **given))
    with pytest.raises(TypeError):  # nothing trains it here
        run(settings(corpus, **given, parser_patience=0))


@pytest.mark.long
def test_a_parser_may_read_a_language_model(
    tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model lies in the parser's folder, whole: it is found there whatever becomes of the other."""
    corpus = harvested.corpus_of(tmp_path / "corpus")
    little = {"parser_epochs": 1, "parser_hidden": 8, "limit": 10}
    given = {"parser": "labelled", "parser_lm": "bert", **little}
    with pytest.raises(ModelError, match="no such model folder"):
        run(settings(corpus, **given))
    shutil.copytree(tiny_bert, corpus / "models/bert")
    run(settings(corpus, **given))
    folder = corpus / "parsers/labelled-10-bert/seed-0"
    card = read_json(folder / "parser.json")
    assert "encoder/model.safetensors" in card["files"]
    plain = settings(corpus, **given | {"parser_lm": None}, out=tmp_path / "plain")
    run(plain)
    own = corpus / "candidates/harvest-labelled-10-bert/seed-0"
    models = [read_json(each / "manifest.json")["model"] for each in (own, tmp_path / "plain")]
    assert models[0] != models[1]
    before = contents(own)
    monkeypatch.setattr(making, "train_parser", None)
    run(settings(corpus, **given, out=tmp_path / "again"))  # the parser is not trained again
    assert contents(tmp_path / "again") == before
    weights = folder / "encoder/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"0000")
    with pytest.raises(ModelError, match=r"not the file that parser\.json beside it lists"):
        load_parser(str(folder / "parser.pt"))


def test_what_another_command_made_is_not_removed(corpus: Path, tmp_path: Path) -> None:
    """A selection, a folder of generated candidates, trees, a corpus: refused, in a dry run, too."""
    run(settings(corpus, out=tmp_path / "own"))
    before = contents(tmp_path / "own")
    run(settings(corpus, out=tmp_path / "own"))  # its own is current
    assert contents(tmp_path / "own") == before
    for key, value, said in (
        ("selection", {}, r"by `conjoin select` or `merge`"),
        ("command", "conjoin generate data/x --lm bert", "by `conjoin generate`"),
    ):
        other = tmp_path / key
        shutil.copytree(tmp_path / "own", other)
        manifest = read_json(other / "manifest.json")
        write_json(other / "manifest.json", manifest | {key: value})
        kept = contents(other)
        for dry in (False, True):
            with pytest.raises(
                InputError, match=f"something else here already, {said}; name a new"
            ):
                run(settings(corpus, out=other, dry_run=dry))
        assert contents(other) == kept
    begun = tmp_path / "begun"  # by generate, and not finished: it has no manifest
    (begun / ".units").mkdir(parents=True)
    write_json(begun / ".units/about-0.json", {"settings": {"fills": "attested"}})
    (begun / "candidates-00000-of-00002.parquet").touch()
    trees = tmp_path / "trees"
    trees.mkdir()
    (trees / "trees-00000-of-00001.parquet").touch()
    (trees / "rejects-00000-of-00001.parquet").touch()
    for place, said in (
        (begun, "there is something else here already"),
        (trees, "there is something else here already"),
        (corpus, "may not replace, contain or lie inside its input"),
    ):
        with pytest.raises(InputError, match=said):
            run(settings(corpus, out=place))
    assert (begun / "candidates-00000-of-00002.parquet").exists()
    for path in (tmp_path / "own").glob("*.parquet"):  # killed between two runs
        path.unlink()
    (tmp_path / "own/manifest.json").unlink()
    run(settings(corpus, out=tmp_path / "own"))
    assert contents(tmp_path / "own") == before


def test_parsers_of_other_kinds_have_folders_of_their_own(corpus: Path) -> None:
    kinds: list[dict[str, Any]] = [
        {"tags": tags, "parser_lm": lm} for tags in ("none", "treebank") for lm in (None, "bert")
    ]
    places = {default_out(settings(corpus, parser="labelled", **kind)) for kind in kinds}
    assert len(places) == 4
    with pytest.raises(SettingsError, match="say --parser labelled"):
        HarvestSettings.build({"corpus": corpus, "parser_lm": "bert"}, None)


def test_input_that_is_missing_is_one_line(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No draw, no parser, the treebank's own trees, no trees of L, no sentence that is left."""
    with pytest.raises(InputError, match=r"there are: 10; e.g. --labelled 10; or run"):
        run(settings(corpus, labelled="20"))
    with pytest.raises(InputError, match="no corpus here"):
        run(settings(tmp_path / "nowhere"))
    bare = harvested.corpus_of(tmp_path / "bare", map(harvested.without_gold, SENTENCES_THERE))
    with pytest.raises(InputError, match=r"parser\.json: no such file; run `conjoin preparse`"):
        run(settings(bare))
    with pytest.raises(InputError, match="no trees, so no parser can be trained on them"):
        run(settings(bare, parser="labelled"))
    assert not (bare / "candidates").exists()
    harvested.with_ready_parser(corpus, "treebank")
    with pytest.raises(ModelError, match="took its trees from the treebank and has no parser"):
        run(settings(corpus))
    few = harvested.corpus_of(tmp_path / "few", [*LABELLED, *VALIDATION])
    with pytest.raises(InputError, match=r"coordinator is left \(12 sentences with"):
        run(settings(harvested.with_ready_parser(few)))
    assert PARSERS_FOLDER not in {p.name for p in few.iterdir()}


def test_what_a_unit_takes_is_told_by_its_words(corpus: Path) -> None:
    """A parser takes as long for a sentence of forty words as for four of ten, in batches of the run's."""
    source = NaturalTextSource(settings(corpus, unit=7, batch_size=3))
    assert isinstance(source, WordedSource)
    assert source.at_once == 3
    units = [source.items(unit)[0] for unit in range(len(source.sizes))]
    assert len(units) > 1
    assert [sum(len(s.words) for s in unit) for unit in units] == list(source.words)
    assert list(map(source.words_of, units)) == list(source.words)


def test_any_number_of_workers_writes_the_same_folder(
    corpus: Path, tmp_path: Path, forks: Any, start: Any
) -> None:
    """One, two, three and seven of them; and whatever the units are, the rows are the same."""
    alone = tmp_path / "alone"
    run(settings(corpus, out=alone))
    assert len(list(alone.glob("candidates-*.parquet"))) > 3
    for count in (2, 3, 7):
        out = tmp_path / str(count)
        children = start(*[partial(run, settings(corpus, out=out))] * count)
        codes = [forks.end(child) for child in children]
        assert codes == [0] * count, (tmp_path / "log-0").read_text()
        assert contents(out) == contents(alone)
    run(settings(corpus, out=tmp_path / "units", unit=50, batch_size=7))
    assert candidates(tmp_path / "units") == candidates(alone)


def test_a_killed_run_goes_on(corpus: Path, tmp_path: Path, forks: Any) -> None:
    """At any moment: the same folder after a rerun."""
    dice, whole = random.Random(4), tmp_path / "whole"
    begun = time.monotonic()
    assert forks.end(forks.start(partial(run, settings(corpus, out=whole, unit=3)))) == 0
    length = time.monotonic() - begun
    for number in range(3):
        out = tmp_path / str(number)
        child = forks.start(partial(run, settings(corpus, out=out, unit=3)))
        time.sleep(dice.uniform(0, length))
        os.kill(child, signal.SIGKILL)
        forks.end(child)
        run(settings(corpus, out=out, unit=3))
        assert contents(out) == contents(whole)


def test_rejects_have_the_columns_of_rejects(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A structure that is refused stands there with its conjuncts."""
    monkeypatch.setattr(natural_text, "is_worded", lambda words: len(words) > 1)
    run(settings(corpus))
    out = default_out(settings(corpus))
    rows = [r for path in sorted(out.glob("rejects-*")) for r in read_rows(path, REJECTS)]
    assert rows
    assert {row["reason"] for row in rows} == {UNWORDED}
    assert read_json(out / "manifest.json")["tally"]["refused"] == {UNWORDED: len(rows)}
