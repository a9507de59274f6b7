"""benchmarks/equal_annotation: intervals, and the figures that pages show."""

import re
from pathlib import Path
from statistics import fmean

import pytest

from benchmarks.equal_annotation import parser_annotation as counting
from benchmarks.equal_annotation.equal_annotation import (
    BEST,
    BEST_LONG,
    ROWS,
    SEEDS,
    Outcomes,
    gains,
)
from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, sentence_row
from pipeline.core.types import Coordination, Sentence, Span

ROOT = Path(__file__).resolve().parents[2]
FIRST = {
    0: [True] * 30 + [False] * 30,
    1: [True] * 36 + [False] * 24,
    2: [True] * 33 + [False] * 27,
}
SECOND = {seed: [False, *([True, False, True] * 20)[:-1]] for seed in FIRST}


def bounds(text: str) -> list[float]:
    return [float(each.replace("−", "-")) for each in re.findall(r"[-+−]\d+\.\d+", text)][-2:]


def test_a_document_an_instance_is_resampling_of_instances() -> None:
    usual, clustered, student = gains(FIRST, SECOND, [f"d{n:03d}" for n in range(60)])
    assert bounds(clustered) == bounds(usual)
    assert bounds(student) != bounds(usual)


def test_instances_alike_within_documents_widen_the_interval() -> None:
    usual, clustered, _ = gains(FIRST, SECOND, [f"d{n // 15}" for n in range(60)])
    (low, high), (narrow, wide) = bounds(clustered), bounds(usual)
    assert high - low > 1.5 * (wide - narrow)


def test_no_interval_without_a_common_seed() -> None:
    assert gains({0: [True]}, {1: [True]}, ["d"]) == ["", "", ""]


def test_gains_are_over_a_system_without_candidates_that_knows_as_much() -> None:
    assert {row.annotation for row in ROWS if row.candidates} == {BEST.annotation}
    assert not BEST.candidates
    assert not BEST_LONG.candidates


def table_of(corpus: str, heading: str, file: str = "docs/results.md") -> str:
    """The table of a corpus in a section of a page."""
    page = (ROOT / file).read_text(encoding="utf-8")
    section = page.partition(f"\n{heading}\n")[2].partition("\n## ")[0].partition("\n### ")[0]
    return section[section.index(f"|{corpus.upper()}, n = ") :].partition("\n\n")[0]


@pytest.mark.parametrize("corpus", ["genia", "gum"])
def test_pages_show_what_is_kept(corpus: str) -> None:
    """Accuracies of predictors need no treebank: those on the first pages are those of the outcomes."""
    kept = Outcomes.read(ROOT / f"benchmarks/outcomes/{corpus}.jsonl")
    table = table_of(corpus, "## All rows", "benchmarks/equal_annotation/README.md")
    shown = dict(
        re.findall(r"^\|(?:\W*)(predictor[^|(]*?)(?: \([^|]*)?\|[^|]*\|([\d.]+) ", table, re.M)
    )
    found = 0
    for row in ROWS:
        runs = kept.of(row.predictor or "", "250", SEEDS)
        if row.parser is None and runs and (row.name in shown):
            rights = [kept.right(run) for run in runs.values()]
            share = 100 * fmean(sum(each) / len(each) for each in rights)
            assert shown[row.name] == f"{share:.2f}", row.name
            found += 1
    assert found >= 2


OF_PRETRAINED = {
    "predictor": "predictor",
    "parser": "parser-l-trees",
    "parser, else predictor": "predictor+l-trees-else",
    "predictor of attested fills": "attested",
    "predictor of the harvest": "harvest",
    "predictor of the believed harvest": "believed",
}
"""Rows of the tables with a pretrained encoder, by the systems that they are of."""


@pytest.mark.parametrize("corpus", ["genia", "gum"])
def test_pages_show_what_is_kept_of_the_pretrained_encoder(corpus: str) -> None:
    """Each row's accuracy is that of the outcomes."""
    kept = Outcomes.read(ROOT / f"benchmarks/outcomes/{corpus}-minilm.jsonl")
    table = table_of(corpus, "## Without brackets", "benchmarks/pretrained_encoder/README.md")
    found, system = {}, ""
    for name, mean in re.findall(r"^\|\W*([a-z][^|]*)\|[^|]*\|([\d.]+) ", table, re.M):
        plain = re.sub(
            r"(: no candidate at all|, one at random)?(\*\*)?( \(seeds[^)]*\))?$", "", name
        )
        if plain.endswith(" by τ"):  # beside the predictor of the row before, or that of L
            beside = system if "that" in plain else "predictor"
            system = f"{beside}+l-trees-together"
        else:
            system = OF_PRETRAINED[plain]
        runs = [
            run for (each, size, _), run in kept.runs.items() if (each, size) == (system, "250")
        ]
        rights = [kept.right(run) for run in runs]
        assert mean == f"{100 * fmean(sum(each) / len(each) for each in rights):.2f}", name
        found[system] = float(mean)
    assert len(found) == 10


OF_RIVALS = {
    "predictor": "predictor",
    "parser": "parser-l-trees",
    "parser, else predictor": "predictor+l-trees-else",
    "predictor with brackets": "brackets",
    "predictor of the believed harvest, with brackets": "believed-brackets",
}
"""Rows of the table with brackets, by the systems that they are of."""


@pytest.mark.parametrize(("corpus", "column"), [("genia", 3), ("gum", 5)])
def test_pages_show_what_is_kept_of_the_rivals(corpus: str, column: int) -> None:
    """Each accuracy is that of the outcomes, each gain that over the best row without candidates."""
    kept = Outcomes.read(ROOT / f"benchmarks/outcomes/{corpus}-minilm-rivals.jsonl")
    page = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    table = page[page.index("|n = 1,157 and 773|") :].partition("\n\n")[0]
    means, system = [], ""
    for line in table.splitlines()[2:]:
        cells = line.split("|")
        name = cells[1].strip("*").removesuffix(": no candidate at all")
        system = f"{system}+l-trees-together" if name == "parser and it by τ" else OF_RIVALS[name]
        rights = [kept.right(kept.runs[system, "250", seed]) for seed in (0, 1, 2)]
        means.append(100 * fmean(sum(each) / len(each) for each in rights))
        assert cells[column].split(" ")[0] == f"{means[-1]:.2f}", name
        gain = cells[column + 1].strip("*").split(" ")[0]
        assert gain == (f"{means[-1] - max(means[:5]):+.2f}" if "believed" in system else ""), name
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = readme[readme.index("|annotated: 250") :].partition("\n\n")[0]
    shown = [line.split("|")[column - 1].strip("*") for line in first.splitlines()[2:]]
    assert shown == [f"{mean:.1f}" for mean in (*means[:3], *means[4:])]
    gains = [line.split("|")[column].strip("*").split(" ")[0] for line in first.splitlines()[-2:]]
    assert gains == [f"{mean - max(means[:5]):+.1f}" for mean in means[5:]]


def sentence(number: int, *, holds: bool, length: int = 12) -> Sentence:
    words = tuple(f"w{place}" for place in range(length))
    pair = Coordination(1, "and", "NP", (Span(0, 1), Span(2, 3)))
    tree = f"(S {' '.join(f'(N {word})' for word in words)})"
    held = (pair,) if holds else ()
    said = ("w0", "and", *words[2:]) if holds else words
    return Sentence(
        f"toy/{number}", "d", "train", said, None, tree, held, "CC0-1.0"
    )  # fmt: skip


def test_sentences_of_l_among_the_parsers_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = tmp_path / "toy"
    sentences = [
        sentence(number, holds=number % 2 == 0, length=12 - number % 2 * 4) for number in range(20)
    ]
    write_rows(corpus / "sentences.parquet", SENTENCES, map(sentence_row, sentences))
    learned = counting.parser_trees(corpus, 8)
    assert len({each.sentence_id for each in learned}) == 8
    assert learned == counting.parser_trees(corpus, 8)
    assert len(counting.parser_trees(corpus, 99)) == 20  # short ones are not in U
    drawn = [learned[0], *[each for each in sentences if each not in learned][:3]]
    monkeypatch.setattr(counting, "read_draw", lambda *_: (drawn, learned[1:3]))
    counting.main(counting.argparse.Namespace(corpus=corpus, trees=8, labelled="4", seeds=[7]))
    said = capsys.readouterr().out
    holding = sum(bool(each.coordinations) for each in learned)
    assert f"of 8 trees {holding} hold coordination, {holding} instances" in said
    assert "1 of its 4 sentences and 2 of 2 validation sentences" in said
