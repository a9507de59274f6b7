"""benchmarks/fill_probe: what it asks, how it judges, and that better fills read better."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, BertForMaskedLM, PreTrainedModel, T5ForConditionalGeneration

from benchmarks.fill_probe.categories import NO_PHRASE, Judge, category_of
from benchmarks.fill_probe.probe import Probe, build_probe
from benchmarks.fill_probe.questions import held_out, is_echo, ordered
from pipeline.core.errors import InputError
from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, read_sentences, sentence_row
from pipeline.core.types import CATEGORIES, Coordination, Sentence, Span
from pipeline.infill import Fill
from pipeline.infill.base import SPLIT_WORD
from pipeline.ingest import stage as ingest
from pipeline.ingest.settings import IngestSettings
from pipeline.text.natural import join_words
from pipeline.text.word_vectors import Senses

ROOT = Path(__file__).resolve().parents[2]
WORLD = ROOT / "data/raw/world"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded world, ingested: 1,800 sentences and 2,000 more as text."""
    out = tmp_path_factory.mktemp("world")
    wanted = {"reader": "world", "source": WORLD, "out": out, "sentences": 1800, "raw": 2000}
    ingest.run(IngestSettings.build(wanted, None))
    return out


@pytest.fixture(scope="module")
def probe(world: Path) -> Probe:
    """30 questions of the world."""
    found = build_probe(world, 30, seed=0)
    assert found is not None
    return found


def conjuncts(probe: Probe) -> list[tuple[str, ...]]:
    return [question.held.conjunct for question in probe.questions]


def fills(phrases: Sequence[Sequence[str]]) -> list[Fill]:
    return [Fill(join_words(words).text) for words in phrases]


def test_people_read_nearly_perfect_and_others_conjuncts_at_chance(probe: Probe) -> None:
    """The conjunct itself is recovered as often as the judge knows it; another's hardly ever."""
    real = conjuncts(probe)
    best, shuffled = probe.read(fills(real)), probe.read(fills(real[1:] + real[:1]))
    assert best.n == len(real) == 30
    assert best.filled == best.length == best.sense == best.nearer == best.exact == 1
    assert best.recovered == best.category > 0.85
    assert best.judge > 0.85
    assert shuffled.filled > 0.9
    assert shuffled.category < 0.6
    assert 0.3 < shuffled.nearer < 0.7
    assert shuffled.recovered < 0.3
    assert shuffled.exact < 0.1


def test_one_fault_at_a_time_is_seen(probe: Probe) -> None:
    """Words in another order are no such phrase; the conjunct said three times is too long."""
    real = conjuncts(probe)
    backwards = probe.read(fills([words[::-1] for words in real]))
    assert backwards.sense == 1
    assert backwards.category < 0.5
    thrice = probe.read(fills([words * 3 for words in real]))
    assert thrice.length == thrice.recovered == 0
    assert thrice.sense > 0.9


def test_near_copies_of_the_shown_conjunct_are_echoes_and_never_recovered(probe: Probe) -> None:
    """Often right in category, length and sense, they say nothing new; people's conjuncts do."""
    shown = [question.held.first for question in probe.questions]
    copies = {
        "A A": [words * 2 for words in shown],
        "the A": [("the", *words) for words in shown],
        "other A": [("other", *words) for words in shown],
        "A and its last word": [(*words, words[-1]) for words in shown],
        "A without its first word": [words[1:] for words in shown],
    }
    found = {name: probe.read(fills(phrases)) for name, phrases in copies.items()}
    assert {name: each.recovered for name, each in found.items()} == dict.fromkeys(copies, 0)
    assert all(each.echo == each.filled > 0.7 for each in found.values())
    assert min(found["A A"].category, found["A A"].length, found["A A"].sense) > 0.6
    assert probe.read(fills(conjuncts(probe))).echo == 0
    assert found["A A"].to_dict()["echo"] == 1


@pytest.mark.parametrize(
    ("first", "fill", "echo"),
    [
        ("T cells", "t CELLS T", True),
        ("T cells", "B cells", False),  # half of it
        ("primary T cells", "primary B cells", True),
        ("cytokine", "cytokine receptor", True),  # all of A
        ("T cells", "other cells", True),
        ("T cells", "other lymphocytes", False),
        ("its N-terminal domain", "its C-terminal domain", False),
        ("in the cells", "in the nucleus", False),
        ("it", "this", False),
        ("the cells", "the", True),
        ("sensitive ( 5 )", "resistant ( 6 )", False),
        ("( )", "cells", False),
    ],
)
def test_an_echo_is_mostly_or_wholly_the_shown_conjunct(first: str, fill: str, echo: bool) -> None:
    """More than half of the content words, or all of A's; case and punctuation are nothing."""
    assert is_echo(fill.split(), first.split()) is echo


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_the_borders_of_length_belong_to_it(probe: Probe, factor: float) -> None:
    """Half as many words and twice as many are right, one beyond is not."""
    at = next(i for i, words in enumerate(conjuncts(probe)) if len(words) == 4)
    one = Probe([probe.questions[at]], probe._judge, probe._senses, 1.0)
    border = round(4 * factor)
    beyond = border + (1 if factor > 1 else -1)
    assert one.read([Fill(" ".join(["word"] * border))]).length == 1
    assert one.read([Fill(" ".join(["word"] * beyond))]).length == 0


def test_rejects_count_as_wrong_with_their_reasons(probe: Probe) -> None:
    """What generation would refuse is no fill: not even the right words if they split a word."""
    given = fills(conjuncts(probe))
    given[0] = replace(given[0], reason=SPLIT_WORD)
    given[1], given[2] = Fill(""), Fill("...")
    span = probe.questions[3].held.reference.span
    given[3] = Fill(" ".join(probe.questions[3].held.reference.words[span.start : span.end]))
    found = probe.read(given)
    assert found.filled == found.sense == found.exact == pytest.approx(26 / 30)
    assert found.refused == {
        "empty fill": 1, "fill begins inside a word": 1, "fill equal to the reference": 1,
        "punctuation only": 1,
    }  # fmt: skip
    assert found.to_dict()["filled"] == 0.8667


def test_categories_are_counted_apart(probe: Probe) -> None:
    """Recovered and asked, in Table 2's order; only noun phrases filled: only they are recovered."""
    nouns = "NP, NX"
    categories = [question.held.category for question in probe.questions]
    half = [
        Fill("") if c != nouns else f
        for c, f in zip(categories, fills(conjuncts(probe)), strict=True)
    ]
    found, whole = probe.read(half), probe.read(fills(conjuncts(probe)))
    assert len(set(categories)) > 2
    assert list(found.by_category) == [c for c in CATEGORIES if c in categories]
    assert {c: n for c, (_, n) in found.by_category.items()} == Counter(categories)
    assert {c for c, (right, _) in found.by_category.items() if right} == {nouns}
    assert found.by_category[nouns] == whole.by_category[nouns]
    for each in (found, whole):
        assert sum(right for right, _ in each.by_category.values()) == round(30 * each.recovered)
    assert found.to_dict()["by_category"][nouns] == list(found.by_category[nouns])


def test_words_that_the_text_lacks_have_no_sense(probe: Probe) -> None:
    """A fill of unknown words wins no comparison."""
    found = probe.read(fills([("zxqv",)] * 30))
    assert (found.filled, found.sense, found.nearer) == (1, 0, 0)


@pytest.mark.parametrize("family", ["bert", "t5"])
def test_a_model_in_training_is_measured_and_left_as_it_was(
    probe: Probe, tiny_bert: Path, tiny_t5: Path, family: str
) -> None:
    """Two readings agree in spite of dropout; modes, gradients and random numbers are untouched."""
    probe = first_ten(probe)
    folder = tiny_bert if family == "bert" else tiny_t5
    kind: type[PreTrainedModel] = (
        BertForMaskedLM if family == "bert" else T5ForConditionalGeneration
    )
    model, tokenizer = kind.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    model.train()
    frozen = next(m for m in model.modules() if isinstance(m, torch.nn.Dropout))
    frozen.eval()
    state = torch.get_rng_state()
    first = probe.measure(family, model, tokenizer)  # type: ignore[arg-type]
    assert first == probe.measure(family, model, tokenizer)  # type: ignore[arg-type]
    assert torch.equal(state, torch.get_rng_state())
    assert model.training
    assert not frozen.training
    assert sum(not module.training for module in model.modules()) == 1
    assert all(p.requires_grad and p.grad is None for p in model.parameters())
    assert first.n == round(first.filled * 10) + sum(first.refused.values()) == 10
    assert first.recovered < 0.3


def first_ten(probe: Probe) -> Probe:
    return Probe(probe.questions[:10], probe._judge, probe._senses, 1.0)


def test_a_probe_is_a_function_of_the_corpus_and_the_seed(world: Path, probe: Probe) -> None:
    """Built again for fewer, it asks the first of them and judges alike; another seed draws others."""
    again = build_probe(world, 10, seed=0)
    assert again is not None
    real = conjuncts(probe)
    assert conjuncts(again) == real[:10]
    shuffled = fills(real[10:20])
    assert replace(again.read(shuffled), judge=1.0) == first_ten(probe).read(shuffled)
    held, _ = held_out(read_sentences(world / "sentences.parquet", lambda s: s.split == "dev"))
    assert ordered(held, 0) == ordered(held[::-1], 0) != ordered(held, 1)


@pytest.mark.long
def test_the_digest_is_of_all_that_is_asked_and_judged_by(world: Path, tmp_path: Path) -> None:
    """Built again it is the same; another text, training split, dev split, seed or count changes it."""
    sentences = list(read_sentences(world / "sentences.parquet", lambda s: True))
    text = (world / "text.txt").read_text().splitlines(keepends=True)[:400]

    def digest(
        kept: Sequence[Sentence], lines: Sequence[str], count: int = 5, seed: int = 0
    ) -> str:
        write_rows(tmp_path / "sentences.parquet", SENTENCES, [sentence_row(s) for s in kept])
        (tmp_path / "text.txt").write_text("".join(lines))
        found = build_probe(tmp_path, count, seed)
        assert found is not None
        return found.digest()

    dev = [s for s in sentences if s.split == "dev" and s.coordinations][:40]
    train = [s for s in sentences if s.split == "train" and s.coordinations][:60]
    as_it_was = digest([*train, *dev], text)
    assert digest([*train, *dev], text) == as_it_was
    assert digest([*train, *dev, *(s for s in sentences if s.split == "test")], text) == as_it_was
    others = [
        digest([*train, *dev], text[:-1]),
        digest([*train[1:], *dev], text),
        digest([*train, *dev[:20]], text),
        digest([*train, *dev], text, seed=1),
        digest([*train, *dev], text, count=4),
    ]
    assert len({as_it_was, *others}) == 6


def test_a_question_changed_in_any_part_changes_the_digest(probe: Probe) -> None:
    """Its sentence, its conjuncts, its category or its rivals."""
    first, *rest = probe.questions
    held, reference = first.held, first.held.reference
    changed = [
        replace(first, held=replace(held, reference=replace(reference, sentence_id="other"))),
        replace(first, held=replace(held, reference=replace(reference, span=Span(0, 1)))),
        replace(first, held=replace(held, conjunct=("other",))),
        replace(first, held=replace(held, category=NO_PHRASE)),
        replace(first, others=first.others[1:]),
    ]
    found = [
        Probe([each, *rest], probe._judge, probe._senses, 1.0).digest()
        for each in (first, *changed)
    ]
    assert len(set(found)) == len(found)
    assert len(first.others) == len(first.rivals)


def test_categories_are_columns_of_table_2_and_adjectives_keep_theirs() -> None:
    """Function of label and last tag: a noun phrase's adjective is one; UCP has no category."""
    one, two = Span(0, 1), Span(0, 2)
    assert category_of("NX", None, one) == "NP, NX"
    assert category_of("SBAR", None, one) == "S, SBAR"
    assert category_of("UCP", ["NN"], one) is None
    assert category_of("NP", ["JJ", "NN"], one) == "ADJP, ADVP"
    assert category_of("NP", ["JJ", "NN"], two) == "NP, NX"
    assert category_of("ADJP", ["NN", "NN"], one) == "NP, NX"
    assert category_of("ADJP", ["JJ", "NN"], two) == "ADJP, ADVP"
    assert category_of("NP", ["VBG"], one) == "NP, NX"
    assert category_of("VP", ["VBZ", "NN"], two) == "VP"


def test_what_is_asked_and_what_is_not() -> None:
    """Two conjuncts that touch and, or; every other coordination is counted with a reason."""
    words = ("we", "saw", "the", "old", "cats", "AND", "dogs", "near", "it", "today")
    two = Span(4, 5), Span(6, 7)

    def sentence(word: str, label: str, spans: tuple[Span, ...], words: tuple[str, ...] = words):  # type: ignore[no-untyped-def]
        return Sentence(
            "s", "d", "dev", words, None, None, (Coordination(5, word, label, spans),), "x"
        )

    found, tally = held_out(
        [
            sentence("AND", "NP", two),
            sentence("but", "NP", two),
            sentence("AND", "UCP", two),
            sentence("AND", "NP", (Span(3, 4), *two)),
            sentence("AND", "NP", (Span(4, 5), Span(7, 8))),
            sentence("AND", "NP", two, words[:7]),
        ]
    )
    assert [(h.coordinator, h.conjunct, h.category) for h in found] == [
        ("and", ("dogs",), "NP, NX")
    ]
    assert found[0].reference.words == ("we", "saw", "the", "old", "cats", "near", "it", "today")
    assert found[0].reference.span == Span(4, 5)
    assert tally.kept == 1
    assert len(tally.refused) == 5
    assert set(tally.refused.values()) == {1}


def test_nothing_to_probe_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], world: Path
) -> None:
    """None, and a line: no coordination in the dev split, or no training conjunct, or none wanted."""
    words = ("we", "saw", "the", "old", "cats", "and", "dogs", "near", "it", "today")
    gold = (Coordination(5, "and", "NP", (Span(4, 5), Span(6, 7))),)
    for split, said in (("train", "dev split has no"), ("dev", "training split has no")):
        rows = [sentence_row(Sentence("s", "d", split, words, None, None, gold, "x"))]
        write_rows(tmp_path / "sentences.parquet", SENTENCES, rows)
        assert build_probe(tmp_path, 5, seed=0) is None
        assert said in capsys.readouterr().out
    assert build_probe(world, 0, seed=0) is None
    assert "none was asked for" in capsys.readouterr().out


def test_a_text_that_is_missing_is_named(tmp_path: Path) -> None:
    """One line with the path and a remedy."""
    with pytest.raises(InputError, match="no such text"):
        Senses.read(tmp_path / "text.txt", seed=0)


def test_the_judge_knows_phrases_from_no_phrases() -> None:
    """A small grammar is learnt; the accuracy is the share that was right."""
    nouns = [((d, n), "NP, NX") for d in ("the", "a") for n in ("cat", "dog", "bird")]
    verbs = [((v, "it"), "VP") for v in ("saw", "ate", "sold")] * 2
    none = [((n, d), NO_PHRASE) for (d, n), _ in nouns]
    judge = Judge([*nouns, *verbs, *none])
    assert judge.categories([("the", "cow"), ("hid", "it"), ("cat", "the")]) == [
        "NP, NX", "VP", NO_PHRASE,
    ]  # fmt: skip
    assert judge.categories([]) == []
    assert judge.accuracy([(("the", "cow"), "NP, NX"), (("the", "cow"), "VP")]) == 0.5
