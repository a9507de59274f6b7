"""``select --like``, ``--sample``, ``--top`` and ``--agree``: how many rows are taken, and which."""

import hashlib
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from planted import candidate, sentence, write_candidates, write_corpus

from pipeline.core.buckets import bucket_of, deciles
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.types import Span
from pipeline.corpus.layout import find_shards
from pipeline.corpus.rows import read_accepted, read_rejects
from pipeline.select.drawing import any_rows
from pipeline.select.settings import SelectSettings
from pipeline.select.stage import run
from pipeline.select.strata import apportion, distance, features
from pipeline.tasks.coordination.model import CoordinationPredictor

Row = dict[str, Any]
NAMES = ("lamp", "harbor", "dog", "radio", "letter", "boat", "clock")


def row(number: int, label: str, length: int, score: float | None) -> Row:
    """A candidate of a coordination of some words; all of them differ."""
    filler = [NAMES[(number + n) % len(NAMES)] for n in range(length - 2)]
    text = " ".join([f"clerk{number}", "saw", "one", "and", *filler, "."])
    return candidate(text, 3, [(2, 3), (4, 2 + length)], label=label, score=score)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """L is half NP and half VP, of 3 to 12 words; the rows are four fifths NP, and most are short."""
    folder = tmp_path_factory.mktemp("like") / "toy"
    words = [f"w{n}" for n in range(20)]
    labelled = []
    for number in range(40):
        length = 3 + number % 10
        text = " ".join(["It", *words[:1], "and", *words[: length - 2], "."])
        label = "VP" if number // 10 % 2 else "NP"
        spans = [(1, 2), (3, 1 + length)]
        labelled.append(sentence(f"toy/{number:03}", "train", text, (2, label, spans)))
    write_corpus(folder, labelled, [each.sentence_id for each in labelled])
    random = Random(0)
    rows = [
        row(n, "VP" if n % 5 == 0 else "NP", 3 + min(random.randrange(10), random.randrange(10)),
            None if n % 50 == 7 else -random.random())
        for n in range(600)
    ]  # fmt: skip
    write_candidates(folder / "rows.parquet", rows)
    return folder


def kept(out: Path) -> list[Row]:
    return [row for batch in read_accepted(find_shards(out)) for row in batch.to_pylist()]


def chosen(corpus: Path, out: Path, *places: Path, **given: Any) -> list[Row]:
    if given.get("like") is True:
        given["like"] = corpus / "draws/seed-0/1.json"
    run(SelectSettings(places=list(places) or [corpus / "rows.parquet"], out=out, **given))
    return kept(out)


def selection(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = read_json(out / "manifest.json")["selection"]
    return found


def ids(rows: list[Row]) -> list[str]:
    return [row["candidate_id"] for row in rows]


def words_of(found: Row) -> int:
    return int(found["conjuncts"][-1]["end"] - found["conjuncts"][0]["start"])


def test_a_stratified_draw_is_closer_to_l_than_a_random_one(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Near half of it VP, as in L, not a fifth; both distances are printed and in the manifest."""
    found = chosen(corpus, tmp_path / "like", like=True, size="100")
    assert 40 <= Counter(each["label"] for each in found)["VP"] <= 50  # the longest of them run out
    far = selection(tmp_path / "like")["sample"]["distance"]
    printed = capsys.readouterr().out
    assert f"{far['before']:.3f} before, {far['after']:.3f} after" in printed
    random = chosen(corpus, tmp_path / "any", like=True, size="100", sample="random-sentences")
    at_random = selection(tmp_path / "any")["sample"]["distance"]
    assert len(random) == 100
    assert far["after"] < 0.15
    assert min(at_random["after"], far["before"]) > 0.25
    assert at_random["before"] == far["before"]
    reasons = Counter(
        each["reason"] for batch in read_rejects(find_shards(tmp_path / "like"))
        for each in batch.to_pylist()
    )  # fmt: skip
    assert reasons == {"beyond the share of its stratum": 500}


def test_equal_seeds_give_equal_selections(corpus: Path, tmp_path: Path) -> None:
    """In whatever files and order the rows come; another seed gives others."""
    given = {"like": True, "size": "20%", "by": ["label,length,coordinator,arity"]}
    one = chosen(corpus, tmp_path / "one", **given)
    every = kept(tmp_path / "one") + [
        {k: v for k, v in each.items() if k != "reason"}
        for batch in read_rejects(find_shards(tmp_path / "one")) for each in batch.to_pylist()
    ]  # fmt: skip
    turned = [write_candidates(tmp_path / f"{n}.parquet", every[n::3][::-1]) for n in range(3)]
    two = chosen(corpus, tmp_path / "two", *turned, **given)
    assert len(one) == 120
    assert set(ids(one)) == set(ids(two))
    other = chosen(corpus, tmp_path / "other", seed=1, **given)
    assert len(other) == 120
    assert set(ids(one)) != set(ids(other))


def test_a_selection_that_is_there_is_left_as_it_is(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same of the same rows; anything else, or a damaged one, is not overwritten."""
    out, rows = tmp_path / "out", tmp_path / "rows.parquet"
    rows.write_bytes((corpus / "rows.parquet").read_bytes())
    given = {"like": True, "size": "50"}
    chosen(corpus, out, rows, **given)
    before = {path.name: path.read_bytes() for path in sorted(out.iterdir())}
    capsys.readouterr()
    chosen(corpus, out, rows, **given)
    assert capsys.readouterr().out == f"{out}: already there and current\n"
    assert {path.name: path.read_bytes() for path in sorted(out.iterdir())} == before
    assert set(selection(out)["made_of"]) == {"rows", "like"}
    for changed in ({"seed": 1}, {"size": "40"}, {"label": ["NP"]}):
        with pytest.raises(InputError, match="there is something here already"):
            chosen(corpus, out, rows, **given | changed)
    shard = out / listed_shards(out)[0]
    shard.write_bytes(shard.read_bytes() + b"0")
    with pytest.raises(InputError, match="there is something here already"):
        chosen(corpus, out, rows, **given)


def listed_shards(out: Path) -> list[str]:
    return [each["file"] for each in read_json(out / "manifest.json")["shards"]]


def test_paths_may_name_the_seed(corpus: Path) -> None:
    """One line of params.yaml chooses for every seed of a grid."""
    given = {
        "places": ["a/seed-{seed}"], "out": "out", "agree": ["runs/{seed}/p", "other"], "seed": 3,
        "like": "draws/seed-{seed}/9.json", "size": "20%",
    }  # fmt: skip
    made = SelectSettings.build(given, None)
    assert made.places == [Path("a/seed-3")]
    assert made.agree == [Path("runs/3/p"), Path("other")]
    assert made.like == Path("draws/seed-3/9.json")
    assert SelectSettings.build({"places": ["a-{seed}"], "out": "out"}, None).places == [
        Path("a-0")
    ]


def test_the_order_is_that_of_a_hash_that_any_machine_has(corpus: Path, tmp_path: Path) -> None:
    """BLAKE2b of seed, NUL and id, as a number whose first byte is the highest."""
    every = chosen(corpus, tmp_path / "all")
    found = chosen(corpus, tmp_path / "out", sample="random-sentences", size="30", seed=5)
    keys = {i: hashlib.blake2b(f"5\0{i}".encode(), digest_size=8).digest() for i in ids(every)}
    first = set(sorted(keys, key=keys.__getitem__)[:30])
    assert ids(found) == [i for i in ids(every) if i in first]


def test_as_many_words_as_are_asked_for(corpus: Path, tmp_path: Path) -> None:
    """Rows until their sentences have so many words: the last goes beyond, and none follows it."""
    keys, lengths = np.array([3, 1, 2, 0], np.uint64), np.array([4, 5, 6, 7])
    assert any_rows(keys, 12, lengths).tolist() == [False, True, False, True]
    assert any_rows(keys, 13, lengths).tolist() == [False, True, True, True]
    found = chosen(corpus, tmp_path / "out", sample="random-tokens", size="500")
    words = [len(each["words"]) for each in found]
    assert 500 <= sum(words) < 500 + max(words)
    every = chosen(corpus, tmp_path / "all")
    share = chosen(corpus, tmp_path / "share", sample="random-tokens", size="10%")
    whole = sum(len(each["words"]) for each in every)
    assert whole // 10 <= sum(len(each["words"]) for each in share) < whole // 10 + 20
    least = chosen(corpus, tmp_path / "least", sample="random-sentences", size="0.1%")
    assert len(least) == 1  # of 600 rows: of a share there is one at least


def test_a_shortage_is_spread_in_proportion_and_again_where_that_runs_out() -> None:
    """The first lacks 30, which go 2 : 1; the second then lacks 5; who has no weight gives nothing."""
    assert apportion(90, [1, 2, 3], [100, 100, 100]) == [15, 30, 45]
    assert apportion(90, [3, 2, 1, 0], [15, 100, 100, 100]) == [15, 50, 25, 0]
    assert apportion(90, [3, 2, 1, 0], [15, 45, 100, 100]) == [15, 45, 30, 0]
    assert apportion(90, [3, 2, 1, 0], [15, 45, 10, 100]) == [15, 45, 10, 0]
    assert apportion(10, [1, 1, 1], [9, 9, 9]) == [4, 3, 3]
    assert apportion(10, [1, 2, 4], [9, 9, 9]) == [1, 3, 6]  # of 1.43, 2.86 and 5.71
    assert apportion(5, [0, 0], [9, 9]) == [0, 0]


def test_a_shortage_of_rows_is_reported(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that L has strata for are taken."""
    found = chosen(corpus, tmp_path / "out", like=True, size="5000")
    assert len(found) == 600
    assert "5,000 rows were asked for, and no more can be drawn" in " ".join(
        capsys.readouterr().err.split()
    )


def test_strata_that_l_lacks_give_nothing(corpus: Path, tmp_path: Path) -> None:
    """With the reason that it is not a matter of chance."""
    strange = [row(1000 + n, "PP", 4, -1.0) for n in range(5)]
    path = write_candidates(tmp_path / "pp.parquet", strange)
    found = chosen(corpus, tmp_path / "out", corpus / "rows.parquet", path, like=True, size="100")
    assert len(found) == 100
    assert selection(tmp_path / "out")["left_out"]["stratum that the draw of L does not have"] == 5


def test_strata_are_of_coordinators_whatever_their_case() -> None:
    """And of the words from the first conjunct to the last."""
    made = candidate("We saw one And two And three lamps", 5, [(2, 3), (4, 5), (6, 8)])
    assert features(made) == {"label": "NP", "length": 6, "coordinator": "and", "arity": 3}


def test_distances() -> None:
    """0 of equal shares, 1 of none in common."""
    one = Counter({("NP",): 1, ("VP",): 3})
    assert distance(one, Counter({("NP",): 10, ("VP",): 30})) == 0
    assert distance(one, Counter({("PP",): 1})) == 1
    assert distance(one, Counter({("NP",): 3, ("VP",): 1})) == 0.5


def test_the_best_of_each_label_and_length(corpus: Path, tmp_path: Path) -> None:
    """A tenth of each, rounded up, by score; those without a score are counted apart."""
    every = chosen(corpus, tmp_path / "all")
    found = chosen(corpus, tmp_path / "out", top="10%", by=["score"])
    scored = [each for each in every if each["score"] is not None]
    edges = deciles([words_of(each) for each in scored])
    groups = defaultdict(list)
    for each in scored:
        groups[each["label"], bucket_of(edges, words_of(each))].append(each)
    best = {
        each["candidate_id"] for group in groups.values()
        for each in sorted(group, key=lambda e: -e["score"])[: -(-len(group) // 10)]
    }  # fmt: skip
    assert set(ids(found)) == best
    left_out = selection(tmp_path / "out")["left_out"]
    assert left_out["no score"] == len(every) - len(scored) == 12
    assert left_out["score not among the best 10% of its label and length"] == len(scored) - len(
        best
    )


def test_of_equal_scores_chance_decides(corpus: Path, tmp_path: Path) -> None:
    """And not the order in which the rows come."""
    path = write_candidates(tmp_path / "rows.parquet", [row(n, "NP", 4, -1.0) for n in range(8)])
    every = ids(chosen(corpus, tmp_path / "all", path))
    keys = {i: hashlib.blake2b(f"5\0{i}".encode(), digest_size=8).digest() for i in every}
    first = set(sorted(every, key=keys.__getitem__)[:4])
    assert first != set(every[:4])
    found = chosen(corpus, tmp_path / "out", path, top="50%", by=["score"], seed=5)
    assert set(ids(found)) == first


def test_of_the_best_a_sample_like_l(corpus: Path, tmp_path: Path) -> None:
    """Both at once: first the best, then the draw."""
    given = {"top": "50%", "by": ["label,length,score"], "like": True, "size": "60"}
    found = chosen(corpus, tmp_path / "out", **given)
    left_out = selection(tmp_path / "out")["left_out"]
    assert len(found) == 60
    assert left_out["score not among the best 50% of its label and length"] > 200
    assert all(each["score"] is not None for each in found)


def test_a_sample_is_a_corpus_like_any_other(corpus: Path, tmp_path: Path) -> None:
    """Its manifest is read, and its selection stands in the manifest of what is made of it."""
    chosen(corpus, tmp_path / "out", like=True, size="50")
    again = chosen(
        corpus, tmp_path / "again", tmp_path / "out", sample="random-sentences", size="9"
    )
    assert len(again) == 9
    earlier = read_json(tmp_path / "again/manifest.json")["selections"]
    assert [each["sample"]["rows"] for each in earlier] == [50]


@pytest.mark.parametrize(
    ("given", "error", "why"),
    [
        ({"like": "DRAW"}, SettingsError, "need a size: say --size 5000 or 20%"),
        ({"sample": "random-tokens"}, SettingsError, "need a size"),
        ({"size": "5"}, SettingsError, "needs --like or --sample"),
        ({"like": "DRAW", "size": "0"}, SettingsError, r"select\.size = '0'.*such as 5000.*20%"),
        ({"like": "DRAW", "size": "120%"}, SettingsError, "such as 5000"),
        ({"like": "DRAW", "size": "some"}, SettingsError, "such as 5000"),
        ({"like": "DRAW", "size": "5", "by": ["lable"]}, SettingsError,
         "'lable' is none, did you mean 'label'.*label, length, coordinator, arity, score"),
        ({"by": ["label"]}, SettingsError, "name it with --like"),
        ({"by": ["score"]}, SettingsError, "say --top 20%"),
        ({"top": "20%"}, SettingsError, "--by score"),
        ({"top": "20", "by": ["score"]}, SettingsError, "a share such as 20%"),
        ({"like": "MISSING", "size": "5"}, InputError, "no such draw of L; there are: 1.json"),
        ({"like": "nowhere/9.json", "size": "5"}, InputError, "no such draw.*name draws/seed"),
        ({"like": "FOLDER", "size": "5"}, InputError, "no such draw of L; there are: 1.json"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_one_line(
    given: dict[str, Any], error: type[Exception], why: str, corpus: Path, tmp_path: Path
) -> None:
    """With what to do; nothing is written."""
    folder = corpus / "draws/seed-0"
    draws = {"DRAW": folder / "1.json", "MISSING": folder / "7.json", "FOLDER": folder}
    given = {
        **given,
        **({"like": draws.get(given["like"], given["like"])} if "like" in given else {}),
    }
    rows = corpus / "rows.parquet"
    with pytest.raises(error, match=why) as raised:
        run(SelectSettings.build({"places": [rows], "out": tmp_path / "out", **given}, None))
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_a_draw_outside_a_corpus_is_refused(corpus: Path, tmp_path: Path) -> None:
    """Nothing says of which sentences it is."""
    (tmp_path / "1.json").write_text((corpus / "draws/seed-0/1.json").read_text())
    with pytest.raises(InputError, match="a draw outside a corpus"):
        chosen(corpus, tmp_path / "out", like=tmp_path / "1.json", size="5")


@pytest.fixture(scope="module")
def predictors(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    home = tmp_path_factory.mktemp("predictors")
    for seed in range(2):
        made = CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.1, seed=seed)
        made.save(home / str(seed))
    return [home / str(seed) for seed in range(2)]


def test_predictors_agree_with_their_own_best_boundary(
    predictors: list[Path], tmp_path: Path
) -> None:
    """Rows that have it are kept, for every one of several; the reason says who does not agree."""
    texts = [f"the dog{n} saw old lamp and small radio near harbor" for n in range(8)]
    best = []
    for folder in predictors:
        found = CoordinationPredictor.load(folder).predict(
            [tuple(t.split()) for t in texts], [5] * len(texts)
        )
        best.append([each.span for each in found if each is not None])
    spans = [*best[0][:3], *best[1][3:6], Span(4, 7), Span(3, 8)]
    rows = [candidate(t, 5, [(s.start, 5), (6, s.end)]) for t, s in zip(texts, spans, strict=True)]
    path = write_candidates(tmp_path / "rows.parquet", rows)
    agreed = np.array(
        [[span == own for span, own in zip(spans, each, strict=True)] for each in best]
    )
    assert agreed[0].any()
    assert not agreed.all()
    run(SelectSettings(places=[path], out=tmp_path / "one", agree=predictors[:1]))
    assert ids(kept(tmp_path / "one")) == [
        i for i, a in zip(ids(rows), agreed[0], strict=True) if a
    ]
    left_out = selection(tmp_path / "one")["left_out"]
    assert left_out["best boundary of the predictor is another"] == int((~agreed[0]).sum())
    every = [*predictors, predictors[0]]
    both = agreed.all(axis=0)
    if both.any():
        run(SelectSettings(places=[path], out=tmp_path / "both", agree=every))
        assert ids(kept(tmp_path / "both")) == [
            i for i, a in zip(ids(rows), both, strict=True) if a
        ]
        left_out = selection(tmp_path / "both")["left_out"]
        assert left_out["best boundary of the predictor 2 of 3 is another"] == int(
            (agreed[0] & ~agreed[1]).sum()
        )
    else:
        with pytest.raises(InputError, match="no candidate is chosen"):
            run(SelectSettings(places=[path], out=tmp_path / "both", agree=every))


def test_what_a_predictor_cannot_score_is_left_out_for_that(
    predictors: list[Path], tmp_path: Path
) -> None:
    """However it is asked: a sentence beyond its encoder is counted apart from what it does not believe."""
    text, asked = "the dog saw old lamp and small radio near harbor", predictors[:1]
    (best,) = CoordinationPredictor.load(asked[0]).predict([tuple(text.split())], [5])
    assert best is not None
    other = Span(4, 7) if best.span != Span(4, 7) else Span(3, 8)
    rows = [candidate(text, 5, [(s.start, 5), (6, s.end)]) for s in (best.span, other)]
    rows.append(candidate(text + " near harbor" * 100, 5, [(4, 5), (6, 7)]))
    path = write_candidates(tmp_path / "rows.parquet", rows)
    for number, (given, unbelieved) in enumerate(
        [
            ({"predictor": asked[0], "delta": 0.0}, {}),
            ({"predictor": asked[0], "relative": 1.0}, {"probability below 1 of the best": 1}),
            ({"agree": asked}, {"best boundary of the predictor is another": 1}),
        ]
    ):
        out = tmp_path / str(number)
        run(SelectSettings(places=[path], out=out, **given))
        assert ids(kept(out)) == ids(rows)[: 1 if unbelieved else 2]
        left_out = {why: count for why, count in selection(out)["left_out"].items() if count}
        assert left_out == {**unbelieved, "predictor gives no probability": 1}
