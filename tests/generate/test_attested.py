"""`generate --fills attested`: fills are constituents of other sentences, and nothing else differs."""

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from pipeline.core.documents import read_json
from pipeline.core.errors import ConjoinError, InputError, SettingsError
from pipeline.core.schema import read_candidates, read_sentences
from pipeline.core.types import Candidate, Sentence
from pipeline.generate.attested import AttestedInfilling
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.stage import default_out, run
from pipeline.infill import load_ranker, pool_building, request_of
from pipeline.infill.attested_fills import NO_DONOR
from pipeline.infill.base import fill_tokens
from pipeline.text.natural import join_words
from pipeline.text.trees import constituents, parse_tree

LOCKS = {".lock", ".workers"}


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))


def settings(corpus: Path, **more: object) -> GenerateSettings:
    usual = {"lm": "bert", "fills": "attested", "pool": 4, "references": 2}
    return GenerateSettings.model_validate(
        {"corpus": corpus, "unit": 8, "batch_tokens": 300, **usual, **more}
    )


def rows_of(out: Path, kind: str = "candidates") -> list[Candidate]:
    return [c for path in sorted(out.glob(f"{kind}-*.parquet")) for c in read_candidates(path)]


def contents(out: Path) -> dict[str, bytes]:
    found = {str(p.relative_to(out)): p for p in out.rglob("*") if p.is_file()}
    return {name: p.read_bytes() for name, p in found.items() if name not in LOCKS}


@pytest.mark.parametrize("trees", ["parsed", "treebank"])
@pytest.mark.parametrize("lm", ["bert", "t5"])
def test_fills_are_constituents_of_other_sentences(corpus: Path, lm: str, trees: str) -> None:
    """Each row names its donor, has its words, and a constituent with the label stands there."""
    run(settings(corpus, lm=lm, trees=trees, out=corpus / "out"))
    by_id = {s.sentence_id: s for s in read_sentences(corpus / "sentences.parquet")}
    rows, rejects = rows_of(corpus / "out"), rows_of(corpus / "out", "rejects")
    assert len(rows) + len(rejects) == 60
    assert len(rows) > 30
    for row in rows:
        donor = row.donor
        assert donor is not None
        assert donor.sentence_id != row.sentence_id
        sentence = by_id[donor.sentence_id]
        fill = row.words[row.conjuncts[1].start : row.conjuncts[1].end]
        assert fill == sentence.words[donor.start : donor.end]
        spans = [
            (n.label, n.span.start, n.span.end)
            for n in constituents(parse_tree(sentence.tree or ""))
        ]
        assert (row.label, donor.start, donor.end) in spans
        reference = by_id[row.sentence_id].words[row.reference.start : row.reference.end]
        assert [w.lower() for w in fill] != [w.lower() for w in reference]
        assert row.score is not None
    assert {row.donor for row in rows if row.label == "NP"} != {None}


@pytest.mark.parametrize("lm", ["bert", "t5"])
def test_a_pool_has_the_tokens_that_the_model_scores(corpus: Path, lm: str) -> None:
    """Each family's own, of a masked LM all of one length, of a T5 within §3.2.2's limits."""
    given = settings(corpus, lm=lm, pool=16)
    source = AttestedInfilling(given)
    ranker = load_ranker(given.family, source._where, request_of(given), device=torch.device("cpu"))
    references, _ = source.items(0)
    counted = 0
    for reference, count in zip(references, ranker.counts(references), strict=True):
        choice = source._pool.draw(reference, partial(ranker.lengths, count), 16, 0)
        if choice is None:
            continue
        texts = [join_words(option.words).text for option in choice.options]
        assert [list(tokens) for tokens in choice.tokens] == fill_tokens(source._tokenizer, texts)
        sizes = {len(tokens) for tokens in choice.tokens}
        assert (
            len(sizes) == 1 if lm == "bert" else sizes <= set(range(-(-count // 3), 3 * count + 1))
        )
        counted += len(texts)
    assert counted >= len(references)


def test_one_of_one_is_the_first_of_many(corpus: Path) -> None:
    """M = 1 is a donor at random; with more to choose from some are chosen, and some are the same."""
    for size in (1, 16):
        run(settings(corpus, pool=size, out=corpus / str(size)))
    one, many = (
        {(r.sentence_id, r.reference): r.donor for r in rows_of(corpus / str(n))} for n in (1, 16)
    )
    assert one.keys() == many.keys()
    assert 0 < sum(one[key] != many[key] for key in one) < len(one)


@pytest.mark.parametrize("lm", ["bert", "t5"])
@pytest.mark.parametrize("decoding", ["n-best", "sample"])
def test_several_are_chosen(corpus: Path, lm: str, decoding: str) -> None:
    """N rows a reference where the pool has so many; none twice among the candidates."""
    run(settings(corpus, lm=lm, decoding=decoding, n=3, temperature=3.0, out=corpus / "out"))
    rows = rows_of(corpus / "out")
    assert len({row.candidate_id for row in rows}) == len(rows)
    several = {(row.sentence_id, row.reference) for row in rows}
    assert len(rows) > len(several)


def test_the_licence_of_a_row_covers_its_donor(
    corpus: Path, write_trees: Callable[..., None]
) -> None:
    """Half of the corpus under another licence: rows under one, the other, or both."""
    every = list(read_sentences(corpus / "sentences.parquet"))
    license_of = {s.sentence_id: ("CC0-1.0", "MIT")[n % 2] for n, s in enumerate(every)}
    write_trees(corpus, [replace(s, license=license_of[s.sentence_id]) for s in every], size=7)
    run(settings(corpus, out=corpus / "out"))
    seen = set()
    for row in rows_of(corpus / "out"):
        assert row.donor is not None
        both = {license_of[row.sentence_id], license_of[row.donor.sentence_id]}
        assert row.license == " AND ".join(sorted(both))
        seen.add(row.license)
    assert seen == {"CC0-1.0", "MIT", "CC0-1.0 AND MIT"}


def test_rows_do_not_depend_on_workers_or_the_cache(
    corpus: Path,
    tmp_path: Path,
    forks: Any,
    start: Callable[..., list[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three workers write the folder of one, with a pool in the same cache or in another."""
    alone, out = tmp_path / "alone", tmp_path / "out"
    run(settings(corpus, out=alone))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "elsewhere"))
    codes = list(map(forks.end, start(*[partial(run, settings(corpus, out=out))] * 3)))
    assert codes == [0] * 3, "".join((tmp_path / f"log-{rank}").read_text() for rank in range(3))
    assert contents(out) == contents(alone)
    names = [p.name for p in out.glob("candidates-*")]
    (out / min(names)).unlink()  # units in another order
    run(settings(corpus, out=out))
    assert contents(out) == contents(alone)


@pytest.mark.long
def test_killed_at_random_times(
    corpus: Path, tmp_path: Path, forks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From its first moment to its last, the pool's building included: the same folder after a rerun."""
    dice, whole = random.Random(4), tmp_path / "whole"
    begun = time.monotonic()
    assert forks.end(forks.start(lambda: run(settings(corpus, out=whole)))) == 0
    length = time.monotonic() - begun
    killed = 0
    for number in range(6):
        out = tmp_path / str(number)
        monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / f"cache-{number}"))
        child = forks.start(partial(run, settings(corpus, out=out)))
        time.sleep(dice.uniform(0, length))
        os.kill(child, signal.SIGKILL)
        killed += forks.end(child) == -signal.SIGKILL
        run(settings(corpus, out=out))
        assert contents(out) == contents(whole)
    assert killed


def fingerprint(out: Path) -> str:
    return str(read_json(out / "manifest.json")["fingerprint"])


def test_what_makes_shards_stale(corpus: Path, write_trees: Callable[..., None]) -> None:
    """M, the match and other trees do; what attested fills do not heed does not."""
    out = corpus / "out"

    def made(**more: object) -> str:
        run(settings(corpus, out=out, **more))
        return fingerprint(out)

    first = made()
    assert made(temperature=2.0, top_p=0.5) == first
    several = made(lm="t5", decoding="n-best", n=2)
    assert made(lm="t5", decoding="n-best", n=2, beams=7) == several
    assert len({first, made(pool=5), made(match="head"), made(fills="free"), several}) == 5
    assert made(fills="free") == made(fills="free", pool=5, match="head")
    every = list(read_sentences(corpus / "sentences.parquet"))
    write_trees(corpus, every[:29], size=7)
    assert made() != first


def test_labels_without_donors_are_counted(corpus: Path, tmp_path: Path) -> None:
    """Given spans may have labels that no tree has; each such reference is a reject with its reason."""
    given = tmp_path / "given.jsonl"
    lines = [("c/03", "NP-SBJ", 3), ("c/04", "X", 3), ("c/05", "NP", 3), ("c/20", "NP", 3)]
    given.write_text(
        "".join(
            f'{{"sentence_id": "{name}", "start": 0, "end": {end}, "label": "{label}"}}\n'
            for name, label, end in lines
        )
    )
    run(settings(corpus, spans="given", given=given, out=corpus / "out"))
    assert [r.label for r in rows_of(corpus / "out")] == ["NP", "NP"]
    assert {r.label for r in rows_of(corpus / "out", "rejects")} == {"NP-SBJ", "X"}
    assert read_json(corpus / "out/manifest.json")["tally"]["refused"] == {NO_DONOR: 2}
    given.write_text("".join(given.read_text().splitlines(keepends=True)[:2]))
    run(settings(corpus, spans="given", given=given, out=corpus / "out"))
    tally = read_json(corpus / "out/manifest.json")["tally"]
    assert tally == {"kept": 0, "refused": {NO_DONOR: 2}, "seen": 2}


def test_what_the_pool_leaves_out_is_reported_once(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the manifest, the summary and the dry run, whatever the number of units."""
    monkeypatch.setattr(pool_building, "holds_coordinator", lambda words, _: "yesterday" in words)
    out = corpus / "out"
    run(settings(corpus, out=out, dry_run=True))
    printed = capsys.readouterr().out
    assert f"60 {pool_building.COORDINATED}" in printed
    assert "8 to make of 8" in printed
    assert not out.exists()
    run(settings(corpus, out=out))
    assert f"60 {pool_building.COORDINATED}" in capsys.readouterr().out
    assert read_json(out / "manifest.json")["notes"][pool_building.COORDINATED] == 60


def test_heads_are_matched_by_the_sentences_tags(
    corpus: Path, write_trees: Callable[..., None]
) -> None:
    """Trees of a parser that writes no tags: those of the sentences count, if there are any."""
    tags = ["DT", "JJ", "NN", "VBD", "DT", "NN", "IN", "DT", "NN", "RB"]
    every = [
        replace(s, tags=tuple(tags), tree=_untagged(s))
        for s in read_sentences(corpus / "sentences.parquet")
    ]
    write_trees(corpus, every, size=7)
    run(settings(corpus, match="head", out=corpus / "out"))
    assert len(rows_of(corpus / "out")) > 30
    write_trees(corpus, [replace(s, tags=None) for s in every], size=7)
    with pytest.raises(
        InputError, match="no sentence has parts of speech, which --match head needs"
    ):
        run(settings(corpus, match="head", out=corpus / "out"))


def _untagged(sentence: Sentence) -> str:
    tree = parse_tree(sentence.tree or "")
    for node in tree.subtrees(lambda t: t.height() == 2):
        node.set_label("XX")
    return str(tree.pformat(margin=10**9))


def no_trees(corpus: Path) -> None:
    (corpus / "trees/manifest.json").unlink()


def nothing(corpus: Path) -> None:
    del corpus


@pytest.mark.parametrize(
    ("damage", "change", "error", "message"),
    [
        (no_trees, {}, InputError, "no such file; run `conjoin preparse` first"),
        (
            nothing,
            {"spans": "random"},
            SettingsError,
            "choose --spans constituents, or --fills free",
        ),
        (nothing, {"n": 2}, SettingsError, "greedy decoding gives one fill, was: n = 2"),
    ],
)
def test_bad_input_is_one_line(
    corpus: Path, damage: Any, change: dict[str, Any], error: type[ConjoinError], message: str
) -> None:
    """Each is named, with its remedy, before anything is written."""
    damage(corpus)
    with pytest.raises(error, match=message) as caught:
        run(settings(corpus, out=corpus / "out", **change))
    assert "\n" not in str(caught.value)
    assert not (corpus / "out").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pool": 0}, r"generate\.pool = 0: Input should be greater than or equal to 1"),
        (
            {"fills": 3},
            r"generate\.fills = 3: choose free or attested; the number of fills is --n now",
        ),
        ({"fills": "3"}, r"the number of fills is --n now"),
        ({"fills": "some"}, r"Input should be 'free' or 'attested'"),
    ],
)
def test_bad_settings_are_one_line(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    """No donors to choose from, and what --fills meant before it meant this."""
    with pytest.raises(SettingsError, match=message):
        GenerateSettings.build({"corpus": tmp_path, **given}, None)


def test_folders_have_the_source_in_their_names(tmp_path: Path) -> None:
    """The usual M is not named, another is."""
    names = {
        16: "attested-bert-sync", 1: "attested-1-bert-sync",
    }  # fmt: skip
    for size, name in names.items():
        given = settings(tmp_path, pool=size)
        assert default_out(given) == tmp_path / "candidates" / name / "seed-0"
