"""Parsers as rows: alone and beside every predictor, parsed once, at the annotation of both."""

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from nltk.tree import Tree
from tiny import build, ingested, settings

from benchmarks import outcomes
from pipeline.core import console
from pipeline.core.annotation import as_json, joined, unknown
from pipeline.core.answered import read_answered
from pipeline.core.cards.evaluation import Combined
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import sha256_of, write_json
from pipeline.core.parquet import read_rows
from pipeline.core.run_annotation import annotation_of_run_card
from pipeline.core.runs import System
from pipeline.core.schema import PREDICTIONS, read_sentences
from pipeline.core.types import Sentence
from pipeline.evaluate import parser_rows
from pipeline.evaluate import stage as evaluate
from pipeline.evaluate.combining import chosen_tau
from pipeline.evaluate.parsers import PlacedParser, find_parsers, seen_by
from pipeline.evaluate.settings import EvaluateSettings
from pipeline.parsing.card import CARD, LEARNED
from pipeline.parsing.parser import Parsed
from pipeline.report import stage as report
from pipeline.report.results import short_name
from pipeline.report.settings import ReportSettings
from pipeline.tasks.coordination.instances import instances_of
from pipeline.tasks.coordination.model import CoordinationPredictor, Prediction
from pipeline.tasks.coordination.with_parser import BothAnswers
from pipeline.train import stage as train

OTHERS = [{"corpus": "tiny", "part": "others", "ids": "x", "sentences": 800, "trees": 800}]
READY = {"source": "ready", "wrapper": None, "training": None}


def number_of(words: Sequence[str], sentences: Sequence[Sentence]) -> int:
    return next(n for n, s in enumerate(sentences) if s.words == tuple(words))


class Knowing:
    """A parser with the gold structure of two of three sentences, one word short of a third of those."""

    needs_tags = False

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self.sentences, self.asked = sentences, 0

    def kind(self, sentence: Sentence) -> str:
        """What it knows of a sentence: nothing, a wrong structure, or the gold one."""
        number = number_of(sentence.words, self.sentences)
        return ("no tree", "nothing", "wrong", "right", "right")[number % 5]

    def outcomes(  # noqa: D102
        self,
        texts: Sequence[Sequence[str]],
        tags: object,
        on_batch: Callable[[int, int], None] = lambda sentences, words: None,
    ) -> list[Parsed]:
        del tags
        self.asked += len(texts)
        on_batch(len(texts), sum(map(len, texts)))
        return [self._parsed(self.sentences[number_of(words, self.sentences)]) for words in texts]

    def _parsed(self, sentence: Sentence) -> Parsed:
        kind, words = self.kind(sentence), sentence.words
        if kind == "no tree":
            return Parsed(None, "gave up")
        gold = sentence.coordinations[0]
        start, k, end = gold.start, gold.coordinator, gold.end

        def tagged(first: int, last: int) -> list[Tree]:
            return [Tree("XX", [word]) for word in words[first:last]]

        if kind == "nothing":
            apart = [
                Tree("A", tagged(0, k)),
                *tagged(k, k + 1),
                Tree("B", tagged(k + 1, len(words))),
            ]
            return Parsed(Tree("S", apart), None)
        start -= kind == "wrong"
        found = Tree("NP", [Tree("NP", tagged(start, k)), Tree("XX", [words[k]]),
                            Tree("NP", tagged(k + 1, end))])  # fmt: skip
        return Parsed(Tree("S", [*tagged(0, start), found, *tagged(end, len(words))]), None)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with a baseline and a run with candidates."""
    corpus = build(tmp_path_factory.mktemp("data") / "tiny")
    for mode in ("baseline", "no-filter"):
        train.run(settings(corpus, mode=mode, steps=40))
    return corpus


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def corpus(trained: Path, tmp_path: Path) -> Path:
    """A copy of it, with a parser that says what it learned from, as the candidates do."""
    folder = tmp_path / "tiny"
    shutil.copytree(trained, folder)
    write_json(folder / "parser/parser.json", READY | {"annotation": OTHERS})
    card = folder / "runs/no-filter/40/seed-0/run.json"
    plain = {**read_json(card), "mode": "baseline"}
    plain.pop("annotation", None)
    made_of = joined([*annotation_of_run_card(plain, folder), *_others()])
    write_json(card, read_json(card) | {"annotation": as_json(made_of)})
    return folder


def _others() -> Any:
    return annotation_of_run_card({"annotation": OTHERS}, Path())


@pytest.fixture
def knowing(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Knowing:
    """The parser that every folder has."""
    parser = Knowing(list(read_sentences(trained / "sentences.parquet")))
    monkeypatch.setattr(parser_rows, "corpus_parser", lambda folder: parser)
    return parser


def run(corpus: Path, **given: Any) -> dict[str, Any]:
    """Evaluate; returns the metrics."""
    evaluate.run(EvaluateSettings(**{"corpus": corpus, "threads": 1, "parser": "corpus"} | given))
    metrics: dict[str, Any] = read_json(corpus / "evaluation/metrics.json")
    return metrics


def rows(corpus: Path, name: str) -> list[dict[str, Any]]:
    return list(read_rows(corpus / f"evaluation/predictions/{name}.parquet", PREDICTIONS))


def extent(row: dict[str, Any]) -> tuple[int, int] | None:
    found = row["predicted"]
    return (found[0]["start"], found[-1]["end"]) if found else None


def test_a_parser_that_learned_from_candidates_makes_every_row_one_with_candidates(
    corpus: Path, knowing: Knowing
) -> None:
    """So a predictor of L alone beside it is no row that candidates are held against."""
    lender = corpus.parent / "lender"
    taught = {
        "source": "parser.pt",
        "wrapper": None,
        "training": {"taught": 12},
        "annotation": OTHERS,
    }
    write_json(
        lender / "parser.json", taught | {"files": {"parser.pt": {"sha256": "a" * 64, "size": 1}}}
    )
    shutil.copy(lender / "parser.json", corpus / "parser/parser.json")
    systems = [System.of_row(each) for each in run(corpus)["runs"]]
    assert [str(s) for s in systems if not s.has_candidates] == ["baseline"]
    # One that this folder lends: the card of a loan says neither what it learned from nor its record.
    (lender / "parser.pt").write_bytes(b"weights")
    write_json(corpus / "parser/parser.json", READY | {"source": str(lender / "parser.pt")})
    metrics = run(corpus)
    (alone,) = [each for each in metrics["runs"] if each["system"] == "parser-corpus"]
    assert alone["annotation"] == OTHERS
    systems = [System.of_row(each) for each in metrics["runs"]]
    assert [str(s) for s in systems if not s.has_candidates] == ["baseline"]


def test_rows_of_a_parser_follow_the_rule(corpus: Path, knowing: Knowing) -> None:
    """Recounted here: the parser alone, else the predictor, and by τ as the predictor's probabilities say."""
    metrics = run(corpus, tau=0.3)
    test = [s for s in knowing.sentences if s.split == "test"]
    by_name = {each["system"]: each for each in metrics["runs"]}
    assert list(by_name) == [
        "baseline", "no-filter", "parser-corpus", "baseline+corpus-else", "baseline+corpus-together",
        "no-filter+corpus-else", "no-filter+corpus-together",
    ]  # fmt: skip
    alone = rows(corpus, "parser-corpus-40-0")
    for sentence, row in zip(test, alone, strict=True):
        gold, kind = sentence.coordinations[0], knowing.kind(sentence)
        wanted = {"right": (gold.start, gold.end), "wrong": (gold.start - 1, gold.end)}
        assert extent(row) == wanted.get(kind)
        assert row["probability"] == 0
    right = [knowing.kind(sentence) == "right" for sentence in test]
    assert by_name["parser-corpus"]["accuracy"]["overall"] == sum(right) / 30
    assert by_name["parser-corpus"]["unscored"] == 12
    model = CoordinationPredictor.load(corpus / "runs/baseline/40/seed-0/predictor")
    words, ks = [s.words for s in test], [s.coordinations[0].coordinator for s in test]
    best, scores = model.predict(words, ks), dict(model.distributions(words, ks))
    taken = 0
    for name in ("else", "together"):
        found = rows(corpus, f"baseline+corpus-{name}-40-0")
        for n, row in enumerate(found):
            structure, own = extent(alone[n]), best[n]
            assert own is not None
            if structure is not None:
                chance = float(scores[n][structure[0], structure[1] - 2 - ks[n]].exp())
                if name == "else" or chance >= 0.3 * own.probability:
                    taken += 1
                    assert extent(row) == structure
                    assert row["probability"] == pytest.approx(chance, rel=1e-4)
                    continue
            assert extent(row) == (own.span.start, own.span.end)
            assert row["probability"] == pytest.approx(own.probability, rel=1e-4)
    assert 18 < taken < 36  # the predictor objects to some
    assert by_name["baseline+corpus-together"]["tau"] == 0.3
    assert "tau" not in by_name["baseline+corpus-else"]
    answered = list(read_answered(corpus / "evaluation/answers.parquet"))
    assert [each.name for each in answered] == [
        f"{s.sentence_id}:{s.coordinations[0].coordinator}" for s in test
    ]
    for place, name in enumerate(by_name):
        given = [each.answers[place] for each in answered]
        assert {each.system for each in given} == {name}
        verdicts = [each.is_right for each in given]
        assert sum(verdicts) / 30 == pytest.approx(by_name[name]["accuracy"]["overall"])


def test_the_page_shows_what_rivals_answered(corpus: Path, knowing: Knowing) -> None:
    """Drawn coordinations, what is right, and what the two systems that the report opens with said."""
    run(corpus)
    report.run(ReportSettings(corpus=corpus, examples=4, seed=7))
    text = (corpus / "report/report.md").read_text()
    section = text.split("<b>What was answered</b>")[1].split("</details>")[0]
    assert "Drawn with seed 7 and not chosen, from the coordinations of test" in section
    assert "✓: the outer boundary is right" in section
    assert section.count("  - right: ") == 4
    verdicts = [line for line in section.splitlines() if "✓" in line or "✗" in line]
    systems = {line.split(": ")[0].strip(" -") for line in verdicts[1:]}
    assert len(verdicts[1:]) == 8
    assert len(systems) == 2


def test_gains_are_at_equal_annotation(corpus: Path, knowing: Knowing) -> None:
    """What has candidates is compared with parser and baseline together, with the baseline only across."""
    metrics = run(corpus)
    records = {each["system"]: each["annotation"] for each in metrics["runs"]}
    assert records["parser-corpus"] == OTHERS
    assert [part["part"] for part in records["baseline"]] == ["labelled", "validation"]
    for name in ("baseline+corpus-else", "no-filter", "no-filter+corpus-together"):
        assert [part["part"] for part in records[name]] == ["labelled", "others", "validation"]
    equal = {(c["system"], c["against"]) for c in metrics["comparisons"]}
    across = {(c["system"], c["against"]) for c in metrics["across"]}
    made = ("no-filter", "no-filter+corpus-else", "no-filter+corpus-together")
    without = ("baseline+corpus-else", "baseline+corpus-together")
    assert equal == {(one, other) for one in made for other in without}
    assert across == {(one, "baseline") for one in (*made, *without, "parser-corpus")}
    annotated = {each["system"]: each["annotated"] for each in metrics["summary"]}
    assert annotated["baseline"] == "boundaries of 40 + 24"
    assert annotated["no-filter"] == "boundaries of 40 + 24; trees of 800 others"
    assert metrics["resampled"] == "instances"  # all are of one document


def test_what_parsers_got_right_is_kept_with_the_runs(
    corpus: Path, knowing: Knowing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """benchmarks/outcomes.py reads their rows like any other."""
    monkeypatch.setattr(outcomes, "FOLDER", tmp_path / "kept")
    metrics = run(corpus)
    kept = outcomes.evaluated(corpus)
    for each in metrics["runs"]:
        (outcome,) = kept.of(each["system"], "40", [0]).values()
        right = kept.right(outcome)
        assert sum(right) / len(right) == pytest.approx(each["accuracy"]["overall"])
    assert kept.runs["no-filter+corpus-else", "40", 0]["candidates"] == 60
    assert kept.runs["parser-corpus", "40", 0]["candidates"] == 0


def test_sentences_are_parsed_once(
    corpus: Path,
    knowing: Knowing,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Kept predictions ask neither parser nor predictor, and without the parser its rows go."""
    first = run(corpus)
    assert knowing.asked == 30
    assert "6 of 30 sentences have no tree (gave up)" in capsys.readouterr().out
    with monkeypatch.context() as patch:
        patch.setattr(CoordinationPredictor, "load", None)
        assert run(corpus) == first
    assert "6 of 30 sentences have no tree (gave up)" in capsys.readouterr().out
    assert knowing.asked == 30
    run(corpus, tau=0.5)
    assert knowing.asked == 30
    card = corpus / "parser/parser.json"
    write_json(card, read_json(card) | {"source": "another"})
    run(corpus)
    assert knowing.asked == 60
    run(corpus, parser=[])
    names = {path.stem for path in (corpus / "evaluation").glob("*/*")}
    assert names == {"baseline-40-0", "no-filter-40-0"}


def test_what_a_parser_learned_from_is_not_unknown_where_its_file_is_damaged(
    trained: Path, tmp_path: Path
) -> None:
    """An earlier version did not say; else the file is the one that was written, or it is an error."""
    sentences = list(read_sentences(trained / "sentences.parquet"))
    parser, card, learned = PlacedParser("of", tmp_path, None), tmp_path / CARD, tmp_path / LEARNED
    write_json(learned, {"trees": [sentences[0].sentence_id], "dev": []})
    trained_here: dict[str, Any] = READY | {"source": "trained"}
    write_json(card, trained_here | {"files": {}})
    assert seen_by(parser, sentences) is None
    facts = {"bytes": learned.stat().st_size, "sha256": sha256_of(learned)}
    write_json(card, trained_here | {"files": {LEARNED: facts}})
    assert seen_by(parser, sentences) == 1
    write_json(learned, {"trees": [], "dev": []})
    with pytest.raises(InputError, match=r"learned\.json: not the file that parser\.json"):
        seen_by(parser, sentences)


def test_loading_and_parsing_are_shown(
    corpus: Path,
    knowing: Knowing,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A parser that takes long to load says so meanwhile; then it is told how many words are parsed."""
    spoken, tell = threading.Event(), console.tell

    def telling(text: str) -> None:
        tell(text)
        if "load parser corpus" in text:
            spoken.set()

    def slow(folder: Path) -> Knowing:
        assert spoken.wait(60), folder
        return knowing

    monkeypatch.setattr(console, "_EVERY", 0.1)
    monkeypatch.setattr(console, "tell", telling)
    monkeypatch.setattr(parser_rows, "corpus_parser", slow)
    run(corpus)
    words = sum(len(s.words) for s in knowing.sentences if s.split == "test")
    shown = capsys.readouterr()
    assert f"[parser corpus, 30 sentences by words] {words}/{words}" in shown.err
    assert "could not be scored" not in shown.out  # a parser without a structure is not too long


def test_a_named_parser_goes_with_the_runs_of_its_draw(
    corpus: Path, knowing: Knowing, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has a row for each draw that it is of; a run of another draw has none, and that is said."""
    draw = read_json(corpus / "draws/seed-0/40.json")
    write_json(corpus / "draws/seed-1/40.json", draw)
    write_json(corpus / "draws/seed-2/40.json", draw)
    ingested(corpus)
    other = corpus / "runs/baseline/40/seed-1"
    shutil.copytree(corpus / "runs/baseline/40/seed-0", other)
    write_json(other / "run.json", read_json(other / "run.json") | {"seed": 1})
    for seed in (0, 2):
        place = corpus / f"parsers/l-trees/40/seed-{seed}/parser.json"
        write_json(place, READY | {"annotation": OTHERS})
    metrics = run(corpus, parser=["l-trees"])
    found = [(each["system"], each["seed"]) for each in metrics["runs"] if each["parser"]]
    assert found == [
        ("parser-l-trees", 0), ("baseline+l-trees-else", 0), ("baseline+l-trees-together", 0),
        ("no-filter+l-trees-else", 0), ("no-filter+l-trees-together", 0), ("parser-l-trees", 2),
    ]  # fmt: skip
    assert {each["labelled"] for each in metrics["runs"]} == {40}
    assert "no rows for 40/seed-1, of which none is: l-trees" in capsys.readouterr().out
    every = [each["seed"] for each in run(corpus)["runs"] if each["system"] == "parser-corpus"]
    assert every == [0, 1]  # it goes with all draws that runs are of


def test_tau_is_chosen_on_validation_sentences(corpus: Path, knowing: Knowing) -> None:
    """Those of the draw, parsed once as well; test has no say."""
    metrics = run(corpus, tau="validation")
    assert knowing.asked == 30 + 24
    chosen = {e["system"]: e["tau"] for e in metrics["runs"] if e["combined"] == "together"}
    draw = set(read_json(corpus / "draws/seed-0/40.json")["validation"])
    instances = instances_of(s for s in knowing.sentences if s.sentence_id in draw)
    right = [knowing.kind(i.sentence) == "right" for i in instances]
    parsed = [r["gold"] == r["predicted"] for r in rows(corpus, "parsed.corpus-validation-40-0")]
    assert parsed == right
    assert chosen.keys() == {"baseline+corpus-together", "no-filter+corpus-together"}
    run(corpus, tau="validation")
    assert knowing.asked == 30 + 24


def test_the_chosen_tau_finds_most(trained: Path) -> None:
    """Of equals the usual one, else the next, of two as near the smaller."""
    (instance, *_) = instances_of(read_sentences(trained / "sentences.parquet"))
    gold = instance.gold
    first, last = gold.conjuncts
    wider = type(first)(0, first.end)
    wrong = Prediction(type(first)(0, gold.end), 0.5, (wider, last))

    def answer(ratio: float) -> BothAnswers:
        return BothAnswers(gold, wrong, 0.5 * ratio)

    assert chosen_tau([], []) == 0.001
    assert chosen_tau([instance], [answer(0.05)]) == 0.001
    assert chosen_tau([instance], [answer(0.0005)]) == 0.0001
    assert chosen_tau([instance], [answer(0.00001)]) == 0
    objecting = BothAnswers(
        type(gold)(gold.coordinator, gold.word, "NP", (wrong.span, last)),
        Prediction(type(wrong.span)(gold.start, gold.end), 0.5, (first, last)),
        0.02,
    )
    assert chosen_tau([instance], [objecting]) == 0.1
    doubting = replace(objecting, probability=0.0025)  # one is right up to 0.0001, one from 0.01 on
    assert chosen_tau([instance] * 2, [answer(0.0005), doubting]) == 0.0001


def test_a_run_of_an_earlier_version_has_a_record_all_the_same(trained: Path) -> None:
    """A baseline's is known; of candidates without a record it is not, alike for all seeds."""
    card: dict[str, Any] = {"mode": "filter", "labelled": 40, "draw": "40", "seed": 0,
                            "settings": {"candidates": "candidates/t5-sync/seed-0"}}  # fmt: skip
    parts = annotation_of_run_card(card, trained)
    assert [(part.corpus, part.part, part.sentences) for part in parts] == [
        ("t5-sync", "unknown", 0), ("tiny", "labelled", 40), ("tiny", "validation", 24),
    ]  # fmt: skip
    baseline = annotation_of_run_card(card | {"mode": "baseline"}, trained)
    assert [part.part for part in baseline] == ["labelled", "validation"]
    for given, name in (
        ({"augment": "substitute"}, "a parser"),
        ({"augment": "fill", "augment_lm": "models/bert/seed-0"}, "bert"),
    ):
        augmented = annotation_of_run_card(card | {"mode": "baseline", "settings": given}, trained)
        assert augmented == joined([*baseline, *unknown(name)])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "l-trees",
            r"no parser 'l-trees': neither a name in parsers/ nor a folder.*there are: corpus",
        ),
        ("corpsu", "did you mean 'corpus'"),
        ("corpus", "this corpus has no parser; run `conjoin preparse`"),
        ("empty", "no parser here"),
    ],
)
def test_a_parser_that_is_not_there_is_one_line(tmp_path: Path, given: str, message: str) -> None:
    """With what there is instead."""
    (tmp_path / "parsers/empty").mkdir(parents=True)
    with pytest.raises(InputError, match=message) as caught:
        find_parsers(tmp_path, given)
    assert "\n" not in str(caught.value)


def test_a_slip_in_a_parsers_name_costs_no_result(corpus: Path, knowing: Knowing) -> None:
    """It is looked for before anything is removed."""
    metrics = run(corpus)
    with pytest.raises(InputError, match="did you mean 'corpus'"):
        run(corpus, parser="corpsu")
    assert read_json(corpus / "evaluation/metrics.json") == metrics


def test_parsers_are_found_by_name_and_by_folder(tmp_path: Path) -> None:
    """A folder's own, a corpus's that lends it, harvest's, and those of draws; each has a plain name."""
    for place in ("a/parser", "a/parsers/l/250/seed-3", "a/parsers/l/full/seed-0", "b/parser"):
        write_json(tmp_path / place / "parser.json", READY)
    harvest = tmp_path / "a/parsers/labelled-250-bert/seed-1/parser.json"
    write_json(harvest, READY | {"about": {"settings": {"labelled": "250"}}})

    def found(given: str) -> list[tuple[str, str, Any]]:
        corpus = tmp_path / "a"
        return [
            (p.name, p.folder.relative_to(tmp_path).as_posix(), p.draw)
            for p in find_parsers(corpus, given)
        ]

    assert found("corpus") == [("corpus", "a/parser", None)]
    assert found("l") == [("l", "a/parsers/l/250/seed-3", ("250", 3)),
                          ("l", "a/parsers/l/full/seed-0", ("full", 0))]  # fmt: skip
    assert found("labelled-250-bert") == [
        ("labelled-250-bert", "a/parsers/labelled-250-bert/seed-1", ("250", 1))
    ]
    assert found(str(tmp_path / "b")) == [("b", "b/parser", None)]
    assert found(str(tmp_path / "b/parser")) == [("b", "b/parser", None)]
    assert found(str(tmp_path / "a/parsers/l/250/seed-3")) == [
        ("l-250-seed-3", "a/parsers/l/250/seed-3", None)
    ]
    (tmp_path / "b b").mkdir()
    with pytest.raises(InputError, match="'b b' cannot be the name of a row"):
        find_parsers(tmp_path / "a", str(tmp_path / "b b"))


@pytest.mark.parametrize("tau", ["-1", "nan", "inf", "test", "x"])
def test_tau_is_a_number_or_validation(tau: str) -> None:
    """Anything else is refused, test above all."""
    with pytest.raises(SettingsError, match="must be a number from 0, or 'validation'"):
        EvaluateSettings.build({"corpus": "data/x", "tau": tau}, None)


def test_two_rows_of_one_name_are_refused(corpus: Path, knowing: Knowing, tmp_path: Path) -> None:
    """A folder that is called like a name would write the same files."""
    write_json(tmp_path / "corpus/parser.json", READY)
    with pytest.raises(InputError, match=r"two systems would be called parsed\.corpus"):
        run(corpus, parser=["corpus", str(tmp_path / "corpus")])


@pytest.mark.parametrize("combined", [None, "alone", "else", "together"])
def test_a_system_has_one_name(combined: Combined | None) -> None:
    """In the tables of evaluate and of report."""
    parser = None if combined is None else "corpus"
    system = System("no-filter+corpus-x", "no-filter", parser=parser, combined=combined)
    assert system.called(system.predictor) == short_name(system)
