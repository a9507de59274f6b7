"""Adaptation to twins: what is parsed for it, which coordinations serve, and what the model is shown."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from nltk.tree import Tree
from transformers import AutoTokenizer

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError
from pipeline.core.files import sha256_of
from pipeline.core.parquet import read_rows, write_rows
from pipeline.core.schema import SENTENCES, TREES, read_sentences, sentence_row
from pipeline.core.types import Coordination, Reference, Sentence, SourceSentence, Span
from pipeline.infill import BertInfiller, InfillRequest, T5Infiller
from pipeline.infill.base import SOURCE_HAS_SPECIAL, SPECIAL_IN_FILL, TOO_LONG
from pipeline.infill.families.known import load_language_model
from pipeline.preparse import stage as preparse
from pipeline.preparse.plan import coordinated_plan
from pipeline.preparse.settings import PreparseSettings
from pipeline.pretrain import coordinations as coordinated
from pipeline.pretrain.coordinations import (
    Hidden,
    as_read,
    hidden_conjuncts,
    natural_coordinations,
)
from pipeline.pretrain.corruption import IGNORED
from pipeline.pretrain.raw_text import EQUAL, Overlap
from pipeline.pretrain.twin_objective import (
    UNEVEN,
    MaskedTwin,
    SpanTwin,
    TwinMasks,
    TwinSpans,
    encode_twins,
    read_twins,
)
from pipeline.text.trees import parse_tree

TREE = (
    "(S1 (S (NP (NP (XX the) (XX old) (XX man)) (XX and) (NP (XX a) (XX small) (XX dog))) "
    "(VP (XX saw) (NP (XX the) (XX lamp)) (ADVP (XX yesterday))) (XX .)))"
)
WORDS = ("the", "old", "man", "and", "a", "small", "dog", "saw", "the", "lamp", "yesterday", ".")
SHOWN = {  # given the first conjunct, given the second: the sentence of generation, its span, the answer
    "first": (("the", "old", "man", *WORDS[7:]), Span(0, 3), "a small dog"),
    "second": (("a", "small", "dog", *WORDS[7:]), Span(0, 3), "the old man"),
}
PLAIN = "(S1 (S (NP (XX a) (XX girl)) (VP (XX saw) (NP (XX a) (XX lamp)))))"


NONE = Overlap([])
"""Nothing held out."""


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def _sentence(number: int, tree: str, split: str = "train", *, gold: bool = True) -> Sentence:
    words = tuple(parse_tree(tree).leaves())
    at = words.index("and") if "and" in words else None
    spans = (Span(0, 1), Span(2, 3))  # never looked at: boundaries come from the parser
    found = (Coordination(at, "and", "NP", spans),) if at is not None and gold else ()
    return Sentence(f"t/{number}", "t", split, words, None, tree, found, "CC0-1.0")


def _corpus(folder: Path) -> Path:
    """Six sentences with a coordination, one of U with a coordinator all the same, others."""
    sentences = [_sentence(n, TREE) for n in range(6)]
    sentences += [
        _sentence(6, TREE, gold=False),
        _sentence(7, TREE, "test"),
        _sentence(8, TREE, "dev"),
    ]
    sentences += [_sentence(n, PLAIN) for n in range(9, 14)]
    write_rows(folder / "sentences.parquet", SENTENCES, map(sentence_row, sentences))
    return folder


def _settings(corpus: Path, asked: int, **more: Any) -> PreparseSettings:
    given = {"parser": "treebank", "min_words": 5, "unit": 2, "coordinated": asked} | more
    return PreparseSettings(corpus=corpus, **given)


def _parsed(corpus: Path) -> list[str]:
    shards = sorted((corpus / "coordinated").glob("trees-*.parquet"))
    return [row["sentence_id"] for shard in shards for row in read_rows(shard, TREES)]


def _both() -> tuple[Hidden, Hidden]:
    found, _ = natural_coordinations(WORDS, parse_tree(TREE))
    return hidden_conjuncts(SourceSentence("t/0", WORDS, "CC0-1.0"), found[0])


def test_a_tree_without_tags_gives_its_coordination() -> None:
    """Coordinator and full stop get the tags only they can have; other words and tags stay."""
    (found,), tally = natural_coordinations(WORDS, parse_tree(TREE))
    assert (found.coordinator, found.word, found.label) == (3, "and", "NP")
    assert found.conjuncts == (Span(0, 3), Span(4, 7))
    assert tally.to_dict() == {"seen": 1, "kept": 1, "refused": {}}
    tree = Tree.fromstring("(S (XX either) (XX a) (XX ,) (NN and) (XX -LRB-) (XX ...) (XX ?))")
    tags = [tag for _, tag in as_read(tree).pos()]
    assert tags == ["CC", "XX", ",", "NN", "-LRB-", ":", "."]


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        ("(S (NP (XX a) (XX ,) (XX b) (XX and) (XX c)) (VP (XX d)))", coordinated.MORE),
        ("(S (NP (NP (XX a)) (XX ,) (XX and) (NP (XX b))) (VP (XX d)))", coordinated.APART),
        ("(S (NP (XX a)) (XX and) (VP (XX b)))", coordinated.UNFOUND),
        ("(S (NP (NP (XX %)) (XX and) (NP (XX b))) (VP (XX d)))", coordinated.UNWORDED),
        ("(S (VP (ADVP (XX More)) (XX and) (ADVP (XX more))) (NP (XX d)))", coordinated.EQUAL),
    ],
)
def test_what_is_no_pair_of_twins_is_counted(tree: str, reason: str) -> None:
    """A list, a comma before the coordinator, no structure, punctuation, the same word twice."""
    parsed = parse_tree(tree)
    found, tally = natural_coordinations(parsed.leaves(), parsed)
    assert (found, tally.refused) == ([], {reason: 1})


def test_the_sentence_of_generation_lacks_what_is_hidden() -> None:
    """Either conjunct is shown once, in the sentence that has neither coordinator nor the other."""
    for hidden, (words, span, text) in zip(_both(), SHOWN.values(), strict=True):
        assert hidden == Hidden(Reference("t/0", words, span, "NP", "CC0-1.0"), "and", text)
    inner = ("we", "saw", "``", "old", "''", "and", "small", "(", "red", ")", "lamps", ".")
    given = Coordination(5, "and", "ADJP", (Span(2, 5), Span(6, 10)))
    one, two = hidden_conjuncts(SourceSentence("t/1", inner, ""), given)
    assert (one.text, two.text) == ("small (red)", '"old"')
    assert " ".join(one.reference.words) == "we saw `` old '' lamps ."
    assert " ".join(two.reference.words) == "we saw small ( red ) lamps ."
    assert (one.reference.span, two.reference.span) == (Span(2, 5), Span(2, 6))


def test_bert_sees_what_generation_shows(tiny_bert: Path) -> None:
    """The pair of twins is BertInfiller's for the same reference; the labels are the answer, twice."""
    model, tokenizer = load_language_model("bert", str(tiny_bert))
    infiller = BertInfiller(model, tokenizer, InfillRequest("and"))
    twins = encode_twins(_both(), tokenizer, 160)
    batch = TwinMasks(tokenizer, types=True).batch(twins, [(0,), (1,)], np.random.default_rng(0))
    for row, (words, span, text) in enumerate(SHOWN.values()):
        (expected,) = infiller.encode([Reference("x", words, span, "NP", "")])
        assert not isinstance(expected, str)
        assert batch["input_ids"][row].tolist() == expected.ids
        assert batch["token_type_ids"][row].tolist() == expected.types
        places = batch["input_ids"][row] == tokenizer.mask_token_id
        labels = batch["labels"][row]
        assert torch.equal(labels != IGNORED, places)
        first, second = labels[places].chunk(2)
        assert torch.equal(first, second)
        assert tokenizer.decode(first) == text
    assert "token_type_ids" not in TwinMasks(tokenizer, types=False).batch(
        twins, [(0,)], np.random.default_rng(0)
    )


def test_t5_sees_what_generation_shows(tiny_t5: Path) -> None:
    """Both twins are T5Infiller's sequences, one after the other, with one target."""
    model, tokenizer = load_language_model("t5", str(tiny_t5))
    infiller = T5Infiller(model, tokenizer, InfillRequest("and"))
    twins = encode_twins(_both(), tokenizer, 128)
    objective, rng = TwinSpans(tokenizer), np.random.default_rng(0)
    batch = objective.batch(twins, objective.examples(twins, rng), rng)
    assert len(batch["input_ids"]) == 4
    for row, (words, span, text) in enumerate(SHOWN.values()):
        (expected,) = infiller.encode([Reference("x", words, span, "NP", "")])
        assert not isinstance(expected, str)
        for part in (0, 1):
            kept = batch["attention_mask"][2 * row + part].bool()
            assert batch["input_ids"][2 * row + part][kept].tolist() == expected.inputs[part]
            labels = batch["labels"][2 * row + part]
            target = labels[labels != IGNORED]
            ends = tokenizer.convert_tokens_to_ids(["<extra_id_0>", "<extra_id_1>", "</s>"])
            assert [int(target[i]) for i in (0, -2, -1)] == ends
            assert tokenizer.decode(target[1:-2]).strip() == text


def test_targets_keep_to_generations_lengths(tiny_bert: Path, tiny_t5: Path) -> None:
    """BERT is asked for n tokens and learns up to 2n, T5 from a third to 3n (§3.2.2)."""

    def outcome(where: Path, shown: int, hidden: int, longest: int = 99) -> str:
        words = (*["lamp"] * shown, "saw", "the", "dog")
        reference = Reference("x", words, Span(0, shown), "NP", "")
        tokenizer = AutoTokenizer.from_pretrained(where)
        given = Hidden(reference, "and", " ".join(["man"] * hidden))
        (found,) = encode_twins([given], tokenizer, longest)
        if isinstance(found, str):
            return found
        masks = np.sum(found.ids == tokenizer.mask_token_id) if isinstance(found, MaskedTwin) else 0
        assert masks == (2 * len(found.target) if isinstance(found, MaskedTwin) else 0)
        return "kept"

    one = len(AutoTokenizer.from_pretrained(tiny_t5)("man", add_special_tokens=False)["input_ids"])
    assert one == len(AutoTokenizer.from_pretrained(tiny_t5).tokenize("lamp"))
    cases = ((1, 2), (2, 1), (1, 3), (3, 1), (1, 4), (4, 1))
    assert [outcome(tiny_bert, *each) for each in cases] == ["kept"] * 2 + [UNEVEN] * 4
    assert [outcome(tiny_t5, *each) for each in cases] == ["kept"] * 4 + [UNEVEN] * 2
    assert outcome(tiny_bert, 2, 2, 18) == outcome(tiny_t5, 2, 2, 7) == TOO_LONG
    assert outcome(tiny_bert, 2, 2, 19) == outcome(tiny_t5, 2, 2, 8) == "kept"


def test_words_the_model_cannot_write_are_left_out(tiny_bert: Path) -> None:
    """An unknown word is no target, and a special token no source; generation refuses both."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    reference = Reference("x", ("a", "lamp", "fell"), Span(1, 2), "NP", "")
    special = Reference("x", ("a", "lamp", "[MASK]"), Span(1, 2), "NP", "")
    found = encode_twins(
        [Hidden(reference, "and", "狗"), Hidden(special, "and", "dog"), Hidden(reference, "and", "dog")],
        tokenizer, 160,
    )  # fmt: skip
    assert found[:2] == [SPECIAL_IN_FILL, SOURCE_HAS_SPECIAL]
    assert isinstance(found[2], MaskedTwin)


def test_read_twins_has_both_directions_and_counts_the_rest(
    tmp_path: Path, tiny_bert: Path, tiny_t5: Path
) -> None:
    """Two twins per coordination in the order of the sentences; an epoch has each once."""
    corpus = _corpus(tmp_path)
    preparse.run(_settings(corpus, 4))
    bert, t5 = (AutoTokenizer.from_pretrained(where) for where in (tiny_bert, tiny_t5))
    pairs, tally = (found := read_twins(corpus, bert, 160, NONE)).items, found.tally
    spans = read_twins(corpus, t5, 128, NONE).items
    assert found.sentences == [0, 0, 1, 1, 2, 2, 3, 3]
    assert tally.to_dict() == {"seen": 8, "kept": 8, "refused": {}}
    assert all(isinstance(each, MaskedTwin) for each in pairs)
    assert all(isinstance(each, SpanTwin) for each in spans)
    assert [bert.decode(each.target) for each in pairs[:2]] == ["a small dog", "the old man"]
    assert TwinSpans(t5).examples(spans, np.random.default_rng(0)) == [(i,) for i in range(8)]
    with pytest.raises(InputError, match=r"no usable coordination \(.*: 8\)"):
        read_twins(corpus, bert, 8, NONE)
    write_rows(corpus / "sentences.parquet", SENTENCES, [sentence_row(_sentence(0, TREE))])
    with pytest.raises(InputError, match="other sentences"):
        read_twins(corpus, bert, 160, NONE)


def test_no_twins_of_held_out_sentences(tmp_path: Path, tiny_bert: Path) -> None:
    """A training sentence that is one of the dev or test split is no material, or only counted."""
    corpus = _corpus(tmp_path)
    preparse.run(_settings(corpus, 4))
    bert = AutoTokenizer.from_pretrained(tiny_bert)
    found = read_twins(corpus, bert, 160, Overlap([WORDS]), drop=False)
    assert (found.overlap, found.tally.kept) == ({EQUAL: 4}, 8)
    with pytest.raises(InputError, match=rf"no usable coordination \({EQUAL}: 8\)"):
        read_twins(corpus, bert, 160, Overlap([WORDS]))


def test_coordinated_sentences_are_drawn_outside_u(tmp_path: Path) -> None:
    """Training sentences with a coordinator, not those of U; a smaller draw is part of a larger."""
    corpus = _corpus(tmp_path)
    source = corpus / "sentences.parquet"

    def drawn(asked: int, **more: Any) -> set[str]:
        plan = coordinated_plan(source, _settings(corpus, asked, **more))
        assert sum(plan.sizes) == len(list(read_sentences(source, plan.wanted)))
        return {
            s.sentence_id for rows in plan.rows for s in read_sentences(source, plan.wanted, rows)
        }

    assert drawn(100) == {f"t/{n}" for n in range(6)}
    assert drawn(2) < drawn(4) < drawn(100)
    assert len({frozenset(drawn(3, seed=seed)) for seed in range(5)}) > 1


def test_preparse_resumes_coordinated_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A damaged shard alone is made again; another number leaves the trees of U as they are."""
    corpus = _corpus(tmp_path)
    preparse.run(_settings(corpus, 4))
    assert read_json(corpus / "preparse.json")["coordinated"] == {
        "asked": 4, "seen": 4, "kept": 4, "refused": {},
    }  # fmt: skip
    before = sha256_of(corpus / "coordinated"), sha256_of(corpus / "trees")
    path = corpus / "coordinated" / "trees-00001-of-00002.parquet"
    path.write_bytes(path.read_bytes()[:-7])
    capsys.readouterr()
    preparse.run(_settings(corpus, 4))
    said = " ".join(capsys.readouterr().out.split())
    assert "truncated" in said
    assert "units made │ 1 " in said
    assert (sha256_of(corpus / "coordinated"), sha256_of(corpus / "trees")) == before
    drawn = set()
    for seed in range(4):  # units of one shape, and other sentences in them
        preparse.run(_settings(corpus, 4, seed=seed))
        plan = coordinated_plan(corpus / "sentences.parquet", _settings(corpus, 4, seed=seed))
        wanted = [s.sentence_id for s in read_sentences(corpus / "sentences.parquet", plan.wanted)]
        assert _parsed(corpus) == wanted
        drawn.add(tuple(wanted))
    assert len(drawn) > 1
    preparse.run(_settings(corpus, 6))
    assert len(_parsed(corpus)) == 6
    assert sha256_of(corpus / "trees") == before[1]


def test_without_coordinated_sentences_a_marker_says_so(tmp_path: Path, tiny_bert: Path) -> None:
    """DVC finds its output, shards of an earlier run are gone, and read_twins says what to do."""
    corpus = _corpus(tmp_path)
    preparse.run(_settings(corpus, 4))
    preparse.run(_settings(corpus, 0))
    assert [path.name for path in (corpus / "coordinated").iterdir()] == ["manifest.json"]
    assert read_json(corpus / "preparse.json")["coordinated"] is None
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    with pytest.raises(InputError, match=r"no coordinated sentences were parsed.*--coordinated"):
        read_twins(corpus, tokenizer, 160, NONE)
    preparse.run(_settings(corpus, 4))
    assert len(_parsed(corpus)) == 4
    only = [sentence_row(_sentence(n, PLAIN)) for n in range(3)]
    write_rows(corpus / "sentences.parquet", SENTENCES, only)
    with pytest.raises(InputError, match="no training sentence outside U has a coordinator"):
        preparse.run(_settings(corpus, 4))
