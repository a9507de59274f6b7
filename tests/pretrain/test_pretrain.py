"""The pretrain stage: tokenizers, corruption, and small models that learn."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoConfig, AutoTokenizer

from pipeline.core.errors import InputError, ModelError, SettingsError
from pipeline.core.files import sha256_of, write_text
from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, sentence_row
from pipeline.core.types import Coordination, Sentence, Span
from pipeline.infill.families.known import load_language_model
from pipeline.models.annotated import annotation_of_model
from pipeline.models.loading import READY, locate
from pipeline.models.tokenizers import SENTINELS, sentinel_ids, train_unigram, train_wordpiece
from pipeline.preparse import stage as preparse
from pipeline.preparse.settings import PreparseSettings
from pipeline.pretrain import loop
from pipeline.pretrain.batches import CorruptedSentence, MaskedPairs, steps_of
from pipeline.pretrain.corruption import (
    IGNORED,
    Spans,
    corrupt_spans,
    draw_spans,
    mask_tokens,
    spread_to_tokens,
)
from pipeline.pretrain.loop import _loss_sum
from pipeline.pretrain.new_model import new_t5
from pipeline.pretrain.raw_text import CONTAINS, EQUAL
from pipeline.pretrain.settings import PretrainSettings
from pipeline.pretrain.stage import ALGORITHM, run
from pipeline.pretrain.token_store import encode_texts
from pipeline.text.natural import NaturalText, join_words

ROOT = Path(__file__).resolve().parents[2]
NOUNS = ("lamp", "harbor", "baker", "boat", "letter", "garden")
VERBS = ("sold", "found", "painted", "carried")
TINY: dict[str, Any] = {
    "hidden": 16, "layers": 1, "heads": 2, "vocab_size": 260, "max_length": 64,
    "batch_size": 8, "steps": 30, "learning_rate": 1e-2, "dropout": 0.0, "eval_every": 10,
}  # fmt: skip


def _words(index: int) -> tuple[str, ...]:
    a, b, v = NOUNS[index % 6], NOUNS[(index * 5 + 2) % 6], VERBS[index % 4]
    if index % 3:
        return ("The", a, v, "the", "old", b, "(", "near", "me", ")", ".")
    return ("The", a, v, "a", b, ",", "but", "``", "slowly", "''", ".")


def _corpus(folder: Path, *, train: int = 120) -> Path:
    lines = [join_words(_words(i)).text for i in range(train)]
    write_text(folder / "text.txt", "".join(f"{line}\n" for line in lines))
    return folder


def _weights(corpus: Path) -> dict[str, str]:
    """What a run left of its model, but for how long it took."""
    files = (corpus / "models").rglob("*")
    named = {
        str(p.relative_to(corpus)): p for p in files if p.is_file() and p.name != "timing.json"
    }
    return {name: sha256_of(path) for name, path in named.items()}


def _looks(corpus: Path, lm: str) -> list[dict[str, Any]]:
    lines = (corpus / f"models/{lm}/seed-0/history.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def _kill_after(updates: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let so many updates pass, and then interrupt."""
    done = iter(range(updates))
    part = loop._own_part

    def counted(*given: Any) -> Any:
        if next(done, None) is None:
            raise KeyboardInterrupt
        return part(*given)

    monkeypatch.setattr(loop, "_own_part", counted)


@pytest.fixture(scope="module")
def texts() -> list[NaturalText]:
    """Natural text of the little corpus."""
    return [join_words(_words(i)) for i in range(120)]


@pytest.fixture(scope="module")
def wordpiece(texts: list[NaturalText]) -> Any:
    """A BERT tokenizer for it."""
    return train_wordpiece([text.text for text in texts], 260, 64)


@pytest.fixture(scope="module")
def unigram(texts: list[NaturalText]) -> Any:
    """A T5 tokenizer for it."""
    return train_unigram([text.text for text in texts], 200, 64)


def _reloaded(tokenizer: Any, folder: Path) -> Any:
    tokenizer.save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder)


def _restored(source: list[int], target: list[int], sentinels: list[int], end: int) -> list[int]:
    """The text that a corrupted input and its target came from."""
    runs: dict[int, list[int]] = {}
    for token in target[:-1]:
        if token in sentinels:
            runs[token] = current = []
        else:
            current.append(token)
    assert target[-1] == end
    assert source[-1] == end
    return [t for token in source[:-1] for t in runs.get(token, [token])]


def test_wordpiece_reloads_with_the_same_tokens(wordpiece: Any, tmp_path: Path) -> None:
    """AutoTokenizer gives back a fast cased tokenizer with the five special tokens."""
    loaded = _reloaded(wordpiece, tmp_path)
    assert loaded.is_fast
    assert loaded.mask_token_id is not None
    assert loaded.model_max_length == 64
    assert loaded.get_vocab() == wordpiece.get_vocab()
    text = "The Lamp sold the unseenword."
    assert loaded(text)["input_ids"] == wordpiece(text)["input_ids"]
    assert loaded.unk_token_id not in loaded(text)["input_ids"]
    assert loaded("Lamp")["input_ids"] != loaded("lamp")["input_ids"]
    pair = loaded("The lamp.", "A boat.", return_token_type_ids=True)
    assert pair["token_type_ids"] == [0] * 5 + [1] * 4
    assert loaded.convert_ids_to_tokens(pair["input_ids"])[0] == "[CLS]"


def test_unigram_reloads_with_sentinels(unigram: Any, tmp_path: Path) -> None:
    """AutoTokenizer gives back a fast tokenizer whose sentinels are special tokens."""
    loaded = _reloaded(unigram, tmp_path)
    assert loaded.is_fast
    assert "<extra_id_0>" in loaded.get_vocab()
    assert sentinel_ids(loaded) == sentinel_ids(unigram)
    assert len(sentinel_ids(loaded)) == SENTINELS
    assert set(sentinel_ids(loaded)) <= set(loaded.all_special_ids)
    assert loaded("a lamp")["input_ids"][-1] == loaded.eos_token_id
    assert set(loaded("a lamp")) == {"input_ids", "attention_mask"}


@pytest.mark.parametrize(
    ("words", "start", "end"),
    [
        (_words(1), 3, 6),
        (_words(1), 0, 2),
        (_words(3), 3, 5),
        (_words(1), 6, 10),
        (_words(3), 7, 10),
    ],
)
def test_a_sentinel_leaves_the_tokens_around_it(
    unigram: Any, words: tuple[str, ...], start: int, end: int
) -> None:
    """Text with a sentinel has the tokens that corruption makes of the sentence itself."""
    natural = join_words(words)
    ((encoded,), _) = encode_texts(unigram, [natural], 64)
    flags = np.zeros(len(words), dtype=bool)
    flags[start:end] = True
    noise = spread_to_tokens(flags, encoded.begins)
    sentinels = sentinel_ids(unigram)
    expected, _ = corrupt_spans(
        encoded.ids.tolist(), noise.tolist(), sentinels, unigram.eos_token_id
    )
    left, right = natural.offsets[start][0], natural.offsets[end - 1][1]
    shown = natural.text[:left] + "<extra_id_0>" + natural.text[right:]
    assert unigram(shown)["input_ids"] == expected


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40))
def test_unigram_round_trip_on_ascii(unigram: Any, text: str) -> None:
    """Any printable ASCII text with single spaces comes back from its tokens."""
    text = f"The {text[:9]} lamp {text[9:]}".strip()
    if any(token in text for token in unigram.all_special_tokens):
        return
    ids = unigram(text)["input_ids"]
    assert unigram.decode(ids, skip_special_tokens=True) == text


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=40))
def test_wordpiece_round_trip_on_ascii(wordpiece: Any, text: str) -> None:
    """Any printable ASCII text comes back but for spaces, which BERT does not keep."""
    if any(token in text for token in wordpiece.all_special_tokens):
        return
    back = wordpiece.decode(wordpiece(text)["input_ids"], skip_special_tokens=True)
    assert back.replace(" ", "") == text.replace(" ", "")


def test_wordpiece_round_trip_on_words(wordpiece: Any) -> None:
    """Words with ordinary punctuation come back exactly."""
    text = "The unseen baker sold a lamp, but slowly."
    assert wordpiece.decode(wordpiece(text)["input_ids"], skip_special_tokens=True) == text


def test_frequent_words_are_one_piece(wordpiece: Any, unigram: Any) -> None:
    """Both vocabularies hold the frequent words whole, and neither glues punctuation to them."""
    assert wordpiece.tokenize("the lamp.") == ["the", "lamp", "."]
    assert unigram.tokenize("The lamp sold.") == ["▁The", "▁lamp", "▁sold", "."]


def test_tokenizers_are_the_same_every_time(texts: list[NaturalText], tmp_path: Path) -> None:
    """Trained again on the same text, both files have the same bytes."""
    plain = [text.text for text in texts]
    for train in (train_wordpiece, train_unigram):
        digests = set()
        for again in range(4):
            train(plain, 230, 64).save_pretrained(tmp_path / f"{again}")
            digests.add(sha256_of(tmp_path / f"{again}"))
        assert len(digests) == 1


def test_masking_is_80_10_10() -> None:
    """Chosen positions are masked, replaced and kept at BERT's rates; others are untouched."""
    rng = np.random.default_rng(0)
    ids = rng.integers(10, 1010, (200, 500))
    chosen = rng.random(ids.shape) < 0.2
    masked, labels = mask_tokens(ids, chosen, 4, np.arange(10, 1010), rng)
    assert (labels[~chosen] == IGNORED).all()
    assert (masked[~chosen] == ids[~chosen]).all()
    assert (labels[chosen] == ids[chosen]).all()
    assert (masked[chosen] == 4).mean() == pytest.approx(0.8, abs=0.01)
    kept = (masked[chosen] == ids[chosen]).mean()
    assert kept == pytest.approx(0.1, abs=0.01)
    assert 1 - kept - (masked[chosen] == 4).mean() == pytest.approx(0.1, abs=0.01)
    assert masked.min() >= 4


@pytest.mark.parametrize(("length", "density", "mean"), [(200, 0.15, 3.0), (60, 0.3, 3.0)])
def test_spans_have_the_density_and_length_asked_for(
    length: int, density: float, mean: float
) -> None:
    """Over many draws the share of noise and the mean span length are as specified."""
    rng = np.random.default_rng(1)
    noise = spans = 0
    for _ in range(2000):
        flags = draw_spans(length, density, mean, rng, length)
        noise += int(flags.sum())
        spans += int((flags & ~np.concatenate([[False], flags[:-1]])).sum())
    assert noise / (2000 * length) == pytest.approx(density, rel=0.05)
    assert noise / spans == pytest.approx(mean, rel=0.05)


@pytest.mark.parametrize("lengths", ["geometric", "log-uniform"])
def test_lengths_of_spans_follow_their_law(lengths: Literal["geometric", "log-uniform"]) -> None:
    """In long texts the share hidden is the density, and every length has the law's share of spans."""
    rng = np.random.default_rng(4)
    spans = Spans(lengths, 0.2, 3.0, 12)
    hidden, counts = 0, np.zeros(13)
    for _ in range(3000):
        flags = spans.draw(300, rng, 300)
        hidden += int(flags.sum())
        edges = np.diff([0, *flags.astype(int), 0])
        runs = np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)
        counts += np.bincount(runs, minlength=13)
    assert hidden / (3000 * 300) == pytest.approx(0.2, rel=0.03)
    law = np.array(
        [1 / k if lengths == "log-uniform" else (2 / 3) ** (k - 1) for k in range(1, 13)]
    )
    assert counts[1:] / counts.sum() == pytest.approx(law / law.sum(), abs=0.006)
    assert counts[0] == 0


@pytest.mark.parametrize("lengths", ["composed", "geometric", "log-uniform"])
def test_sentences_hide_about_what_is_asked(
    lengths: Literal["composed", "geometric", "log-uniform"],
) -> None:
    """At 20 words, where every sentence must hide something, it is up to an eighth more."""
    rng = np.random.default_rng(5)
    spans = Spans(lengths, 0.25, 3.0, 10)
    share = float(np.mean([spans.draw(20, rng, 50).mean() for _ in range(8000)]))
    assert 0.245 < share < 0.25 * 1.125
    if lengths == "composed":
        assert share == pytest.approx(0.25, abs=0.006)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["composed", "geometric", "log-uniform"]),
    st.integers(1, 60), st.floats(0.05, 0.9), st.floats(1, 8), st.integers(1, 30), st.integers(1, 9),
    st.integers(0, 10**6),
)  # fmt: skip
def test_spans_never_touch_nor_cover_everything(  # noqa: PLR0917 - what hypothesis draws
    lengths: Literal["composed", "geometric", "log-uniform"],
    words: int, density: float, mean: float, longest: int, most: int, seed: int,
) -> None:  # fmt: skip
    """Something is hidden and something shown, in no more runs than there are sentinels."""
    flags = Spans(lengths, density, mean, longest).draw(words, np.random.default_rng(seed), most)
    edges = np.diff([0, *flags.astype(int), 0])
    assert len(flags) == words
    assert flags.any()
    assert words == 1 or not flags.all()
    assert 1 <= (edges == 1).sum() <= most
    if lengths != "composed" and words > 1:
        assert (np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)).max() <= longest


def test_spans_reach_both_ends_and_every_length() -> None:
    """In a short sentence spans begin and end anywhere, and a lone span has many lengths."""
    rng = np.random.default_rng(2)
    drawn = [draw_spans(12, 0.3, 3.0, rng, 50) for _ in range(3000)]
    assert 0.1 < np.mean([d[0] for d in drawn]) < 0.5
    assert 0.1 < np.mean([d[-1] for d in drawn]) < 0.5
    lone = Counter(int(d.sum()) for d in drawn if (np.diff([0, *d.astype(int), 0]) == 1).sum() == 1)
    assert {1, 2, 3, 4, 5} <= set(lone)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(100, 200), min_size=1, max_size=40),
    st.floats(0.01, 0.95),
    st.floats(1, 8),
    st.integers(1, 6),
    st.integers(0, 10**6),
)
def test_corruption_can_be_undone(
    ids: list[int], density: float, mean: float, most: int, seed: int
) -> None:
    """Putting the target's spans back at the sentinels gives the text; sentinels are in order."""
    flags = draw_spans(len(ids), density, mean, np.random.default_rng(seed), most)
    assert flags.any()
    sentinels = list(range(7))
    source, target = corrupt_spans(ids, flags.tolist(), sentinels, 99)
    assert _restored(source, target, sentinels, 99) == ids
    used = [token for token in source if token < 7]
    assert 1 <= len(used) <= most
    assert [token for token in target if token < 7] == [*used, len(used)]


def test_spans_hide_whole_words(unigram: Any, texts: list[NaturalText]) -> None:
    """A word is hidden with all its tokens, and brackets and full stops are words of their own."""
    natural = join_words(("The", "xylophones", "(", "old", ")", "."))
    ((encoded,), _) = encode_texts(unigram, [natural], 64)
    pieces = unigram.convert_ids_to_tokens(encoded.ids)
    assert encoded.begins.sum() == 6
    assert len(pieces) > 6
    flags = np.array([False, True, False, False, True, False])
    hidden = [p for p, f in zip(pieces, spread_to_tokens(flags, encoded.begins), strict=True) if f]
    assert "".join(hidden) == "▁xylophones)"


def test_long_and_unusable_sentences_are_counted(unigram: Any) -> None:
    """Cut, empty and sentinel-bearing sentences each have their reason."""
    inputs = [("a", "lamp"), ("lamp",) * 90, ("a", "<extra_id_3>"), ()]
    encoded, tally = encode_texts(unigram, [join_words(words) for words in inputs], 20)
    assert tally.to_dict() == {
        "seen": 4,
        "kept": 1,
        "refused": {
            "contains a special token of the model": 1,
            "cut to 20 tokens": 1,
            "no tokens": 1,
        },
    }
    assert [len(text.ids) for text in encoded] == [2, 20]


def test_bert_batches_are_pairs(wordpiece: Any, texts: list[NaturalText]) -> None:
    """Inputs are [CLS] A [SEP] B [SEP] with token types, labels only where words were chosen."""
    encoded, _ = encode_texts(wordpiece, texts, 30)
    objective = MaskedPairs(wordpiece, spans=Spans("composed", 0.2, 1.0, 1), types=True)
    assert objective.extra == 3
    chosen = whole = 0
    for _, batch in steps_of(objective, encoded, batch_size=8, steps=60, seed=0):
        ids, labels = batch["input_ids"], batch["labels"]
        original = torch.where(labels == IGNORED, ids, labels)
        for row, types, mask in zip(
            original, batch["token_type_ids"], batch["attention_mask"], strict=True
        ):
            length = int(mask.sum())
            separators = (row[:length] == wordpiece.sep_token_id).nonzero().flatten().tolist()
            assert row[0] == wordpiece.cls_token_id
            assert len(separators) == 2
            assert separators[1] == length - 1
            assert types[:length].tolist() == [0] * (separators[0] + 1) + [1] * (
                length - separators[0] - 1
            )
        chosen += int((labels != IGNORED).sum())
        whole += int(batch["attention_mask"].sum()) - 3 * len(ids)
    assert chosen / whole == pytest.approx(0.2, abs=0.02)


def test_bert_pairs_use_a_sentence_once(wordpiece: Any, texts: list[NaturalText]) -> None:
    """An epoch has every sentence at most once, some in consecutive pairs, some by length."""
    encoded, _ = encode_texts(wordpiece, texts, 30)
    objective = MaskedPairs(wordpiece, spans=Spans("composed", 0.2, 1.0, 1), types=True)
    pairs = objective.examples(encoded, np.random.default_rng(3))
    used = Counter(i for pair in pairs for i in pair)
    assert max(used.values()) == 1
    assert len(used) >= len(encoded) - 2
    consecutive = sum(b == a + 1 for a, b in pairs)
    assert 0.2 * len(pairs) < consecutive < 0.8 * len(pairs)


def test_batches_are_a_function_of_seed_and_step(unigram: Any, texts: list[NaturalText]) -> None:
    """The same seed gives the same tensors, a longer run begins with the shorter one."""
    encoded, _ = encode_texts(unigram, texts, 30)
    objective = CorruptedSentence(unigram, spans=Spans("composed", 0.3, 3.0, 1))

    def drawn(steps: int, seed: int) -> list[list[list[int]]]:
        found = steps_of(objective, encoded, batch_size=8, steps=steps, seed=seed)
        return [batch["labels"].tolist() for _, batch in found]

    assert drawn(40, 1)[:10] == drawn(10, 1)
    late = steps_of(objective, encoded, batch_size=8, steps=40, seed=1, first=17)
    assert [batch["labels"].tolist() for _, batch in late] == drawn(40, 1)[17:]
    assert drawn(10, 1) != drawn(10, 2)


@pytest.mark.parametrize("lm", ["bert", "t5"])
def test_a_tiny_model_learns_and_repeats(lm: str, tmp_path: Path) -> None:
    """Thirty steps lower the validation loss; the same settings give the same bytes."""
    a, b = _corpus(tmp_path / "a"), _corpus(tmp_path / "b")
    mine = a / f".pretrain/{lm}-seed-0/text/mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    cards = {}
    for corpus, steps in ((a, 1), (a, 30), (b, 30)):
        run(PretrainSettings(corpus=corpus, lm=lm, **{**TINY, "steps": steps}))
        cards[corpus.name, steps] = json.loads(
            (corpus / f"models/{lm}/seed-0/pretrain.json").read_text()
        )
    assert cards["a", 30]["validation_loss"] < cards["a", 1]["validation_loss"] - 0.3
    assert cards["a", 30]["loss"] < cards["a", 1]["loss"] - 0.3
    assert _weights(a) == _weights(b)
    files = {p.name for p in (a / "models" / lm / "seed-0").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "pretrain.json"} <= files
    assert {"history.jsonl", "timing.json"} <= files
    looks = _looks(a, lm)
    assert [look["step"] for look in looks] == [10, 20, 30]
    assert looks[-1]["perplexity"] == pytest.approx(np.exp(looks[-1]["validation_loss"]), rel=1e-3)
    assert looks[0]["tokens"] < looks[1]["tokens"] < looks[2]["tokens"] == cards["a", 30]["tokens"]
    assert looks[2]["learning_rate"] < looks[1]["learning_rate"] < looks[0]["learning_rate"]
    assert [path for path in (a / ".pretrain").rglob("*") if path.is_file()] == [mine]
    assert not list((b / ".pretrain").rglob("*"))
    assert cards["a", 30]["texts"]["kept"] == 120
    model, tokenizer = load_language_model(lm, locate(f"models/{lm}", a, 0))
    assert model.config.vocab_size == len(tokenizer)


@pytest.mark.parametrize("lm", ["bert", "t5"])
def test_a_killed_run_goes_on_as_if_nothing_had_happened(
    lm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Taken up from a checkpoint, with dropout and Adam's memory: the same bytes as in one go."""
    whole, broken = _corpus(tmp_path / "a"), _corpus(tmp_path / "b")
    asked = {**TINY, "lm": lm, "dropout": 0.2, "checkpoint_every": 8}
    run(PretrainSettings(corpus=whole, **asked))
    _kill_after(24, monkeypatch)
    for _ in range(3):  # of thirty updates: killed after 24, at once again, and then 14 later
        with pytest.raises(KeyboardInterrupt):
            run(PretrainSettings(corpus=broken, **asked))
        _kill_after(0, monkeypatch)
        assert not (broken / "models").exists()
    monkeypatch.undo()
    capsys.readouterr()
    run(PretrainSettings(corpus=broken, **asked))
    assert "taken up at step 24\n" in capsys.readouterr().out
    assert _weights(whole) == _weights(broken)
    assert _looks(whole, lm) == _looks(broken, lm)


def test_a_model_that_stays_leaves_the_checkpoints_of_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A longer run was killed; the shorter one, asked for again, is current; the longer one goes on."""
    corpus = _corpus(tmp_path)
    short = PretrainSettings(corpus=corpus, **{**TINY, "steps": 2, "eval_every": 2})
    long = PretrainSettings(corpus=corpus, **{**TINY, "checkpoint_every": 8})
    run(short)
    _kill_after(12, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        run(long)
    monkeypatch.undo()
    capsys.readouterr()
    run(short)
    run(long)
    said = capsys.readouterr().out
    assert "already there and current" in said
    assert "taken up at step 8\n" in said


def test_a_finished_model_is_trained_again_only_if_something_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same command again leaves it; other settings, text or algorithm make another."""
    corpus = _corpus(tmp_path)
    asked = {**TINY, "steps": 2, "eval_every": 2}

    def trained(**more: Any) -> bool:
        capsys.readouterr()
        run(PretrainSettings(corpus=corpus, **{**asked, **more}))
        return "already there and current" not in capsys.readouterr().out

    assert trained()
    assert not trained()
    assert not trained(checkpoint_every=1, eval_every=1, density=0.9)
    assert trained(learning_rate=0.5)
    assert trained()
    (corpus / "models/bert/seed-0/model.safetensors").write_bytes(b"")
    assert trained()
    monkeypatch.setattr("pipeline.pretrain.stage.ALGORITHM", ALGORITHM + 1)
    assert trained()
    _corpus(tmp_path, train=90)
    assert trained()
    assert not list((corpus / ".pretrain").rglob("*"))


def _twin_corpus(folder: Path) -> Path:
    """Coordinated sentences with gold trees, parsed; one of them stands in the test split as well."""
    tree = "(S (NP (NP (DT the) (NN {})) (CC and) (NP (DT the) (NN {}))) (VP (VBD saw) (NP (NNP b{}))) (. .))"
    rows = []
    for number in range(210):
        a, b = NOUNS[number % 6], NOUNS[(number + 1 + number // 6 % 5) % 6]
        words = ("the", a, "and", "the", b, "saw", f"b{number}", ".")
        split = "train" if number < 209 else "test"
        pair = Coordination(2, "and", "NP", (Span(0, 2), Span(3, 5)))
        written = tree.format(a, b, number)
        rows.append(Sentence(f"x/{number}", "d", split, words, None, written, (pair,), "CC0-1.0"))
    rows.append(replace(rows[-1], sentence_id="x/again", split="train"))
    plain = "(S (NP (DT the) (NN lamp)) (VP (VBD saw) (NP (DT the) (NN boat))) (. .))"
    words = ("the", "lamp", "saw", "the", "boat", ".")
    rows.append(Sentence("x/u", "d", "train", words, None, plain, (), "CC0-1.0"))
    write_rows(folder / "sentences.parquet", SENTENCES, map(sentence_row, rows))
    lines = [join_words(row.words).text for row in rows if row.split == "train"]
    write_text(folder / "text.txt", "".join(f"{line}\n" for line in lines))
    preparse.run(PreparseSettings(corpus=folder, parser="treebank", coordinated=500, min_words=3))
    return folder


@pytest.mark.parametrize("family", ["bert", "t5"])
@pytest.mark.long
def test_adaptation_to_twins_is_a_run_like_any_other(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It begins from the base, leaves out what the test split has, learns, and survives a kill."""
    corpora = [_twin_corpus(tmp_path / name / "corpus") for name in "ab"]
    name = f"{family}-twins"
    asked: dict[str, Any] = {
        **TINY, "lm": name, "objective": "twins", "base": f"models/{family}",
        "steps": 40, "checkpoint_every": 16,
    }  # fmt: skip
    for corpus in corpora:
        run(PretrainSettings(corpus=corpus, **{**TINY, "lm": family, "steps": 4}))
    run(PretrainSettings(corpus=corpora[0], **asked))
    said = capsys.readouterr().out
    assert "1 raw sentences hold a dev or test sentence: left out" in said
    assert "twins to learn from" in said
    card = json.loads((corpora[0] / f"models/{name}/seed-0/pretrain.json").read_text())
    assert card["overlap"] == {"policy": "drop", "found": {EQUAL: 1}}
    assert (card["objective"], card["base"]) == ("twins", f"models/{family}")
    assert card["texts"] == {"seen": 420, "kept": 418, "refused": {EQUAL: 2}}
    (part,) = annotation_of_model(str(corpora[0] / f"models/{name}/seed-0"))
    assert (part.part, part.trees, part.coordinations) == ("others", 210, 210)  # of coordinated/
    assert annotation_of_model(str(corpora[0] / f"models/{family}/seed-0")) == ()
    looks = _looks(corpora[0], name)
    assert looks[-1]["validation_loss"] < looks[0]["validation_loss"]
    _kill_after(24, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        run(PretrainSettings(corpus=corpora[1], **asked))
    monkeypatch.undo()
    run(PretrainSettings(corpus=corpora[1], repeat=3, pack=20, span_lengths="geometric", **asked))
    assert "taken up at step 16\n" in capsys.readouterr().out
    assert _weights(corpora[0]) == _weights(corpora[1])


@pytest.mark.parametrize("lm", ["bert", "t5"])
def test_packed_sequences_fit_the_model(lm: str, tmp_path: Path) -> None:
    """Whatever is asked for, no sequence is longer than the model takes, and fewer are left."""
    corpus = _corpus(tmp_path)
    run(PretrainSettings(corpus=corpus, lm=lm, pack=500, **{**TINY, "steps": 3, "max_length": 64}))
    plain = _looks(corpus, lm)[-1]["tokens"]
    run(PretrainSettings(corpus=corpus, lm=lm, **{**TINY, "steps": 3, "max_length": 64}))
    assert plain > 1.2 * _looks(corpus, lm)[-1]["tokens"]


def test_text_may_be_none_of_the_corpus_own(tmp_path: Path) -> None:
    """With an empty text.txt all text is that of others, and some of it is held out."""
    write_text(tmp_path / "text.txt", "")
    write_text(tmp_path / "more.txt", "".join(f"The old lamp number {n}.\n" for n in range(300)))
    run(PretrainSettings(corpus=tmp_path, texts=[tmp_path / "more.txt"], **{**TINY, "steps": 2}))
    assert _looks(tmp_path, "bert")[-1]["validation_loss"] > 0


def test_a_checkpoint_of_another_run_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other settings or text: one line names them. Another algorithm is used, and said."""
    corpus = _corpus(tmp_path)
    asked = {**TINY, "checkpoint_every": 4}
    _kill_after(9, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        run(PretrainSettings(corpus=corpus, **asked))
    monkeypatch.undo()
    with pytest.raises(
        InputError, match=r"another run: learning_rate 0.01 → 0.02; .*remove checkpoints/$"
    ):
        run(PretrainSettings(corpus=corpus, **{**asked, "learning_rate": 0.02}))
    monkeypatch.setattr("pipeline.pretrain.stage.ALGORITHM", ALGORITHM + 1)
    run(PretrainSettings(corpus=corpus, **asked))
    made = f"(algorithm {ALGORITHM} → {ALGORITHM + 1})"
    said = f"taken up at step 8: not the same run as without a break {made}"
    assert said in capsys.readouterr().out
    run(PretrainSettings(corpus=corpus, **asked))
    assert "already there" not in capsys.readouterr().out, "no one version made it"


def test_two_processes_learn_what_one_does(
    tmp_path: Path, forks: Any, start: Callable[..., list[int]]
) -> None:
    """Accelerate's processes share each update: the losses are those of one process but for rounding."""
    one, two = _corpus(tmp_path / "a"), _corpus(tmp_path / "b")
    asked = {**TINY, "steps": 12, "eval_every": 4}
    run(PretrainSettings(corpus=one, **asked))
    work = partial(run, PretrainSettings(corpus=two, **asked))
    codes = list(map(forks.end, start(work, work)))
    assert codes == [0, 0], "".join((tmp_path / f"log-{rank}").read_text() for rank in range(2))
    for a, b in zip(_looks(one, "bert"), _looks(two, "bert"), strict=True):
        assert a["validation_loss"] == pytest.approx(b["validation_loss"], abs=2e-3)
        assert a["loss"] == pytest.approx(b["loss"], abs=2e-3)
        assert a["tokens"] == b["tokens"]


@pytest.mark.parametrize("held_out", ["drop", "count"])
def test_no_held_out_sentence_is_learnt_from(
    held_out: Literal["drop", "count"], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What more text has of the dev and test split is left out, or only counted; either is printed."""
    corpus = _corpus(tmp_path / "c")
    judged = "Nobody else would ever write this very sentence ."
    rows = [
        Sentence(f"x/{split}", "d", split, tuple(judged.split()), None, None, (), "CC0-1.0")
        for split in ("train", "test")
    ]
    write_rows(corpus / "sentences.parquet", SENTENCES, map(sentence_row, rows))
    write_text(tmp_path / "more.txt", f"A plain sentence. As they say, {judged[:-2]}! Another.\n")
    asked: dict[str, Any] = {**TINY, "steps": 1, "texts": [tmp_path / "more.txt"]}
    run(PretrainSettings(corpus=corpus, held_out=held_out, **asked))
    assert "1 raw sentences hold a dev or test sentence" in capsys.readouterr().out
    card = json.loads((corpus / "models/bert/seed-0/pretrain.json").read_text())
    assert card["overlap"] == {"policy": held_out, "found": {CONTAINS: 1}}
    assert card["texts"]["kept"] == 122 + (held_out == "count")


def test_another_seed_gives_another_model(tmp_path: Path) -> None:
    """The seed reaches the weights."""
    corpus = _corpus(tmp_path)
    digests = set()
    for seed in (0, 1):
        run(PretrainSettings(corpus=corpus, lm="bert", seed=seed, **{**TINY, "steps": 1}))
        digests.add(sha256_of(corpus / f"models/bert/seed-{seed}/model.safetensors"))
    assert len(digests) == 2


def test_a_seed_without_a_model_of_its_own_shares_one(tmp_path: Path) -> None:
    """Seed s uses model s modulo their number: one serves all, and as many as seeds one each."""
    corpus = _corpus(tmp_path)
    for seed in (0, 1):
        run(PretrainSettings(corpus=corpus, lm="bert", seed=seed, **{**TINY, "steps": 1}))
        found = [Path(locate("models/bert", corpus, s)).name for s in range(4)]
        assert found == [["seed-0"] * 4, ["seed-0", "seed-1"] * 2][seed]


def test_t5_looks_at_neighbours_first(unigram: Any) -> None:
    """Each head of a new T5 prefers one near token, and a decoder's none that comes later."""
    torch.manual_seed(0)
    model = new_t5(PretrainSettings(corpus=Path(), lm="t5", hidden=32, heads=4, layers=1), unigram)

    def favourites(stack: Any, query: int) -> list[int]:
        attention = stack.block[0].layer[0].SelfAttention
        bias = attention.compute_bias(12, 12, device=torch.device("cpu"))[0, :, query]
        return (bias.argmax(-1) - query).tolist()

    assert favourites(model.encoder, 5) == [-1, 1, -2, 2]
    assert favourites(model.decoder, 5) == [0, -1, -2, -1]


@pytest.mark.parametrize("lm", ["bert", "t5"])
def test_training_continues_from_a_base(lm: str, tmp_path: Path) -> None:
    """A saved base goes on with its own tokenizer, and its loss falls further."""
    corpus = _corpus(tmp_path)
    run(PretrainSettings(corpus=corpus, lm=lm, **TINY))
    first = json.loads((corpus / f"models/{lm}/seed-0/pretrain.json").read_text())
    base = tmp_path / "base"
    (corpus / "models" / lm / "seed-0").rename(base)
    run(PretrainSettings(corpus=corpus, lm=lm, base=str(base), **TINY))
    second = json.loads((corpus / f"models/{lm}/seed-0/pretrain.json").read_text())
    assert second["validation_loss"] < first["validation_loss"]
    assert sha256_of(base / "tokenizer.json") == sha256_of(
        corpus / f"models/{lm}/seed-0/tokenizer.json"
    )


def test_a_ready_model_is_only_named(
    tmp_path: Path, tiny_t5: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ready` trains nothing and needs no text: the folder holds one file with the name."""
    monkeypatch.setattr("pipeline.pretrain.stage.check_ready", lambda *_: False)  # hub
    out = tmp_path / "models/t5/seed-0"
    run(PretrainSettings(corpus=tmp_path, lm="t5", ready="google-t5/t5-large"))
    assert [p.name for p in out.iterdir()] == [READY]
    assert json.loads((out / READY).read_text()) == {"name": "google-t5/t5-large"}
    assert locate("models/t5", tmp_path, 0) == "google-t5/t5-large"
    monkeypatch.undo()
    run(PretrainSettings(corpus=tmp_path, lm="t5", ready=str(tiny_t5)))
    assert locate("models/t5", tmp_path, 0) == str(tiny_t5)


def test_a_ready_model_is_looked_at_before_it_is_named(
    tmp_path: Path, tiny_t5: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path with a typo, a hub out of reach and a trained model in the way: a line, and nothing changes."""
    ready = partial(PretrainSettings, corpus=tmp_path, lm="t5")
    with pytest.raises(ModelError, match="there is no folder 'data/worldd/models'"):
        run(ready(ready="data/worldd/models"))

    def unreachable(*_: object, **__: object) -> None:
        raise OSError("no connection") from LocalEntryNotFoundError("no connection")

    with monkeypatch.context() as patch:
        patch.setattr(AutoConfig, "from_pretrained", unreachable)
        with pytest.raises(ModelError, match=r"google-t5/t5-large.* cannot be reached"):
            run(ready(ready="google-t5/t5-large"))
    assert not (tmp_path / "models").exists()
    trained = Path(shutil.copytree(tiny_t5, tmp_path / "models/t5/seed-0"))
    before = {path.name: sha256_of(path) for path in trained.iterdir()}
    with pytest.raises(InputError, match=r"a trained model is here.*remove it first"):
        run(ready(ready=str(tiny_t5)))
    assert {path.name: sha256_of(path) for path in trained.iterdir()} == before


def test_what_cannot_be_trained_is_refused(tmp_path: Path) -> None:
    """A missing base, a BERT as T5, no training text, heads that do not fit: one error each."""
    corpus = _corpus(tmp_path / "c", train=30)
    with pytest.raises(ModelError, match="no such model folder"):
        run(PretrainSettings(corpus=corpus, base="./nowhere"))
    with pytest.raises(ModelError, match="no such model folder"):
        run(PretrainSettings(corpus=corpus, ready="/nowhere/at/all"))
    with pytest.raises(SettingsError, match="not a multiple"):
        run(PretrainSettings(corpus=corpus, hidden=16, heads=3, steps=1))
    run(PretrainSettings(corpus=corpus, lm="bert", **{**TINY, "steps": 1}))
    with pytest.raises(ModelError, match="is a bert, not an encoder-decoder LM; use lm bert"):
        run(PretrainSettings(corpus=corpus, lm="t5", base="models/bert/seed-0"))
    with pytest.raises(InputError, match="no corpus here"):
        run(PretrainSettings(corpus=tmp_path / "none"))
    with pytest.raises(InputError, match="no sentence to learn from"):
        run(PretrainSettings(corpus=_corpus(tmp_path / "empty", train=0)))
    assert not list(tmp_path.glob("**/*.tmp"))
    assert not (corpus / "models/t5/seed-0").exists()


def test_the_loss_is_the_models_own(unigram: Any, texts: list[NaturalText]) -> None:
    """Computed at labelled positions only, a T5's loss is what transformers makes of the labels."""
    torch.manual_seed(0)
    model = new_t5(
        PretrainSettings(corpus=Path(), lm="t5", hidden=32, layers=1, dropout=0), unigram
    )
    encoded, _ = encode_texts(unigram, texts, 30)
    objective = CorruptedSentence(unigram, spans=Spans("composed", 0.3, 3.0, 1))
    ((_, batch),) = steps_of(objective, encoded, batch_size=8, steps=1, seed=0)
    assert (batch["labels"] == IGNORED).any()
    with torch.inference_mode():
        count = int((batch["labels"] != IGNORED).sum())
        ours = float(_loss_sum(model, batch, model)) / count
        assert ours == pytest.approx(float(model(**batch).loss), rel=1e-5)
