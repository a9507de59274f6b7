"""The text of a fill: what a decoder of word pieces tears apart inside words is put together again."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from pipeline.core.types import Candidate, Reference, Reject, Span
from pipeline.infill import Infiller, InfillRequest, load_infiller
from pipeline.infill.base import Fill, loosens_punctuation
from pipeline.infill.candidates import SAME, make_candidate
from pipeline.text.natural import rejoin

WORDS = ("The", "E2F-1", "and/or", "IL-2-induced", "cell", "line", "made", "1,000", "dogs", ".")


def written(infiller: Infiller, text: str) -> str:
    """What the infiller makes of the tokens of a text."""
    tokens = infiller.tokenizer(text, add_special_tokens=False)["input_ids"]
    found, reason = infiller._text(tokens)
    assert reason is None
    return found


@pytest.mark.parametrize(
    "text",
    [
        "E2F-1",
        "NF-kappa B",
        "IL-2-induced cells",
        "and/or",
        "3.5 mg",
        "1,000 dogs",
        "a -- b",
        "+/-",
    ],
)
def test_word_pieces_of_a_word_are_one_word_again(tiny_bert: Path, text: str) -> None:
    """A cased WordPiece tokenizer and back, where its own decoder writes other words."""
    infiller = load_infiller("bert", str(tiny_bert), InfillRequest())
    tokens = infiller.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert infiller.tokenizer.decode(tokens) != text
    assert written(infiller, text) == text


def test_a_copy_of_a_hyphenated_reference_is_rejected(tiny_bert: Path) -> None:
    """It passed as new while its pieces counted as words."""
    infiller = load_infiller("bert", str(tiny_bert), InfillRequest())
    reference = Reference("s", WORDS, Span(1, 4), "NP", "CC0-1.0")
    outcome = make_candidate(reference, Fill(written(infiller, " ".join(WORDS[1:4]))), "and")
    assert isinstance(outcome, Reject)
    assert outcome.reason == SAME
    other = make_candidate(reference, Fill(written(infiller, "IL-4-induced cells")), "and")
    assert isinstance(other, Candidate)
    assert other.conjuncts[1] == Span(5, 7)


@pytest.mark.parametrize(
    ("loose", "text"),
    [
        ("3 . 5", "3.5"),
        ("1 , 000", "1,000"),
        ("dog ' s lamp", "dog's lamp"),
        ("alpha - and beta - bound", "alpha- and beta-bound"),
        ("cut - And - dried", "cut- And -dried"),
        ("5 - to 10 - fold", "5- to 10-fold"),
        ("face - to - face", "face-to-face"),
        ("dogs , cats", "dogs , cats"),
        ("in May. 5 dogs", "in May. 5 dogs"),
        ("( - ) dogs -", "( - ) dogs -"),
    ],
)
def test_coordinators_and_punctuation_between_words_stay(loose: str, text: str) -> None:
    """A coordinator beside a hyphen is still seen as a word; a comma between words is no part of one."""
    assert rejoin(loose) == text


def _fast(backend: Tokenizer) -> PreTrainedTokenizerBase:
    return PreTrainedTokenizerFast(tokenizer_object=backend)  # type: ignore[no-untyped-call]


def test_only_word_pieces_cut_at_punctuation_are_put_together(
    tiny_bert: Path, tiny_t5: Path
) -> None:
    """Unigrams, byte-level BPE and word pieces of whole words keep the blanks that were written."""
    byte_level = Tokenizer(models.BPE())
    byte_level.pre_tokenizer = pre_tokenizers.ByteLevel()
    byte_level.decoder = decoders.ByteLevel()
    whole = Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))  # noqa: S106
    whole.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    whole.decoder = decoders.WordPiece()
    assert loosens_punctuation(AutoTokenizer.from_pretrained(tiny_bert))
    for tokenizer in (_fast(byte_level), _fast(whole), AutoTokenizer.from_pretrained(tiny_t5)):
        assert not loosens_punctuation(tokenizer)
    infiller = load_infiller("t5", str(tiny_t5), InfillRequest())
    assert written(infiller, "a - b / c") == "a - b / c"
