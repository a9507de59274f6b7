"""From references to fills: twins (§3.1), and what all model families share in filling them."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from tokenizers import Encoding, decoders
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.core.structures import laid_out
from pipeline.core.types import Attested, Reference, Structure
from pipeline.infill.decoding import Decoding, Trace
from pipeline.infill.rankings.protocol import Ranking
from pipeline.infill.synchronize import Synchronizer
from pipeline.models.loading import length_limit
from pipeline.text.natural import NaturalText, join_words, rejoin

NAN_LOGITS = "NaN logits"
NO_TOKENS = "reference span has no tokens for the model"
SOURCE_HAS_SPECIAL = "source contains a special token of the model"
SPECIAL_IN_FILL = "special token in the fill"
SPLIT_WORD = "fill begins inside a word"
TOO_LONG = "longer than the model allows"
UNUSABLE_SOURCE = frozenset({NO_TOKENS, SOURCE_HAS_SPECIAL, TOO_LONG})
"""Reasons found in the source sentence, before the model wrote anything."""


@dataclass(frozen=True, slots=True)
class Fill:
    """What a model put in the mask.

    ``score`` is the mean log-probability per fill token under the synchronized scores;
    ``score_append`` and ``score_prepend`` under S′(1) and S′(2) alone. ``reason`` says why there is
    no fill or it cannot be used, else None. ``cut`` marks a fill that did not end by itself but at
    the paper's limit of three times the reference's length (§3.2.2). ``attested`` is the constituent
    that was chosen, where the model did not write but choose; ``text`` is then its natural text.
    """

    text: str
    score: float | None = None
    score_append: float | None = None
    score_prepend: float | None = None
    reason: str | None = None
    cut: bool = False
    attested: Attested | None = None


@dataclass(frozen=True, slots=True)
class InfillRequest:
    """What to embed in a sentence, and how to choose the fills.

    ``coordinator`` is the word that links the conjuncts, ``synchronizer`` is f of Eq. 1 and 2;
    without ``sync`` only S′(1) is filled. ``decoding`` says which fills are chosen by f's scores, and
    ``ranking`` by which scores attested ones are; None: by the model family's own. ``prompt`` is the form in
    which a causal LM is asked; None: as its tokenizer has it.
    """

    coordinator: str = "and"
    synchronizer: Synchronizer = field(default_factory=Synchronizer)
    sync: bool = True
    decoding: Decoding = field(default_factory=Decoding)
    ranking: Ranking | None = None
    prompt: str | None = None


class EncodedReference(Protocol):
    """The model's input for one reference."""

    @property
    def order(self) -> tuple[int, ...]:
        """A sort key that brings references of similar cost together, the most expensive last."""
        ...

    @property
    def read(self) -> int:
        """Tokens that the model reads for this reference, both twins together."""
        ...

    @property
    def rows(self) -> int:
        """Sequences that the model works on at once for this reference: twins times hypotheses."""
        ...

    @property
    def tokens(self) -> int:
        """Tokens of the longest of them."""
        ...


_Encoded = TypeVar("_Encoded", bound=EncodedReference)


class Infiller(ABC, Generic[_Encoded]):
    """A language model that fills the masks of twins with identical text."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, request: InfillRequest
    ) -> None:
        self.model, self.tokenizer, self.request = model, tokenizer, request
        self.limit = length_limit(model.config, tokenizer)
        self._special = frozenset(tokenizer.all_special_ids)
        self._reserved = reserved_tokens(tokenizer)
        self._blank = blank_before(tokenizer)
        self._loosens = loosens_punctuation(tokenizer)
        before = tokenizer(request.coordinator, add_special_tokens=False)["input_ids"]
        self._before: list[int] = list(before)
        self._inside_word: dict[int, bool] = {}

    def encode(
        self, references: Sequence[Reference], counts: Sequence[int] | None = None
    ) -> list[_Encoded | str]:
        """The model's input for each reference, or why it cannot be filled.

        Args:
            references: what to coordinate.
            counts: tokens of each fill, where they are known; None: of each reference span, n.
        """
        wanted = self.counts(references) if counts is None else counts
        found: list[_Encoded | str] = [NO_TOKENS] * len(references)
        usable: list[int] = []
        for i, reference in enumerate(references):
            if self.holds_special(reference):
                found[i] = SOURCE_HAS_SPECIAL
            elif wanted[i]:
                usable.append(i)
        encoded = self._encode_all([references[i] for i in usable], [wanted[i] for i in usable])
        for i, each in zip(usable, encoded, strict=True):
            found[i] = each
        return found

    def holds_special(self, reference: Reference) -> bool:
        """Whether a sentence, or what stands beside its reference span, has a special token of the model."""
        words = [*reference.words, *(word for each in reference.placed for word in each.words)]
        return self._reserved.search(join_words(words).text) is not None

    def counts(self, references: Sequence[Reference]) -> list[int]:
        """Tokens of each reference span, n."""
        texts = [join_words(reference.words) for reference in references]
        pairs = zip(texts, references, strict=True)
        spans = [span_text(text, reference, self._blank) for text, reference in pairs]
        return [len(each.ids) for each in self._tokenized(spans, special=False)]

    @abstractmethod
    def decode(self, batch: Sequence[_Encoded]) -> list[list[Fill]]:
        """Fills for what is decoded together, in its order: for each at least one, best first.

        The result for a reference depends on the batch only through floating-point rounding, so
        callers keep batches a pure function of their plan.
        """

    @abstractmethod
    def _encode_all(
        self, references: Sequence[Reference], counts: Sequence[int]
    ) -> list[_Encoded | str]:
        """The input for each reference, or why there is none, from one tokenizer call per twin.

        Args:
            references: sources without special tokens.
            counts: tokens of each fill; at least one.
        """

    def _tokenized(self, *texts: Sequence[str], special: bool = True) -> list[Encoding]:
        """Token ids and types of each text, or pair of texts, with or without the model's frame."""
        if not texts[0]:
            return []
        batch = self.tokenizer(*map(list, texts), add_special_tokens=special, verbose=False)
        return list(batch.encodings or ())

    def _twins(
        self, references: Sequence[Reference], mask: str, counts: Sequence[int]
    ) -> list[list[str]]:
        """S′(1) of each reference and, with synchronization, S′(2), with so many masks each."""
        twins = [
            make_twins(reference, self.request.coordinator, mask, count)
            for reference, count in zip(references, counts, strict=True)
        ]
        second = [[each.prepend for each in twins]] if self.request.sync else []
        return [[each.append for each in twins], *second]

    def _text(self, tokens: Sequence[int]) -> tuple[str, str | None]:
        """The text of a fill, and why it cannot be used, or None."""
        reason = None
        if self._special.intersection(tokens):
            reason = SPECIAL_IN_FILL
        elif tokens and self._continues(tokens[0]):
            reason = SPLIT_WORD
        text = str(self.tokenizer.decode(list(tokens))).strip()
        return rejoin(text) if self._loosens else text, reason

    def _continues(self, token: int) -> bool:
        """Whether a fill that begins with this token goes on with the word before it.

        Families mark either the beginning of a word (``▁dog``, ``Ġdog``) or its inside (``##s``);
        the decoder knows which. Punctuation may touch a word.
        """
        if token not in self._inside_word:
            head, whole = (
                str(self.tokenizer.decode(ids, clean_up_tokenization_spaces=False))
                for ids in (self._before, [*self._before, token])
            )
            rest = whole[len(head) :]
            alone = str(self.tokenizer.decode([token], clean_up_tokenization_spaces=False))
            self._inside_word[token] = not rest.startswith(" ") and (
                rest[:1].isalnum()
                or rest[:1] == "\ufffd"  # a byte-level token that is a part of a character
                or rest != alone  # "##-" loses its mark only where it continues something
            )
        return self._inside_word[token]

    def _finish(self, trace: Trace) -> Fill:
        """The fill of what was written."""
        if not math.isfinite(trace.fused):
            return Fill("", reason=NAN_LOGITS)
        text, reason = self._text(trace.tokens)
        return Fill(text, trace.fused, trace.append, trace.prepend, reason, trace.cut)


@dataclass(frozen=True, slots=True)
class Twins:
    """``append`` is S′(1), "X and ⟨mask⟩"; ``prepend`` is S′(2), "⟨mask⟩ and X"; as natural text."""

    append: str
    prepend: str


def make_twins(reference: Reference, coordinator: str, mask: str, masks: int = 1) -> Twins:
    """Embed ``masks`` copies of the mask string in a structure, as its last and its first conjunct.

    Args:
        reference: the sentence and its reference span X, with what stands beside it already.
        coordinator: the word that links the conjuncts where the reference names no structure.
        mask: the model's own mask or sentinel string.
        masks: how many (BERT has one per subword token of X, T5 a single sentinel).
    """
    words, span = reference.words, reference.span
    blank = [mask] * masks
    there = [words[span.start : span.end], *(each.words for each in reference.placed)]
    structure = reference.structure or Structure(coordinator)
    append, prepend = (
        join_words(
            [*words[: span.start], *laid_out(structure, each).words, *words[span.end :]]
        ).text
        for each in ([*there, blank], [blank, *there])
    )
    return Twins(append, prepend)


def fill_tokens(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[list[int]]:
    """Tokens of each text where it follows a blank; none where it holds a special token, or one unknown."""
    if not texts:
        return []
    blank, reserved = blank_before(tokenizer), reserved_tokens(tokenizer)
    special = frozenset(tokenizer.all_special_ids)
    batch = tokenizer([blank + text for text in texts], add_special_tokens=False, verbose=False)
    found = zip(texts, batch["input_ids"], strict=True)
    return [
        [] if reserved.search(text) or not special.isdisjoint(ids) else list(ids)
        for text, ids in found
    ]


def reserved_tokens(tokenizer: PreTrainedTokenizerBase) -> re.Pattern[str]:
    """Finds a special token of the model in a text."""
    # One search for all of them: T5 has a hundred. mT5's begin with the mark of a blank.
    return re.compile("|".join(re.escape(t.strip("▁")) for t in tokenizer.all_special_tokens))


def span_text(text: NaturalText, reference: Reference, blank: str) -> str:
    """The reference span as it stands in a model's input.

    Args:
        text: of the reference's words.
        reference: says where the span is.
        blank: ``blank_before`` of the model's tokenizer.
    """
    start = text.offsets[reference.span.start][0]
    before = blank if text.text[start - 1 : start] == " " else ""
    return before + text.slice(reference.span.start, reference.span.end)


def blank_before(tokenizer: PreTrainedTokenizerBase) -> str:
    """What to put before a text that follows a blank: a blank, where words then have other tokens.

    So it is in byte-level BPE.
    """
    alone, after, both = (
        tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("a", " a", "a a")
    )
    return " " if alone != after and both == [*alone, *after] else ""


def loosens_punctuation(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the decoder puts blanks around punctuation inside words, ``E2F - 1``.

    So do word pieces where a hyphen is cut off before they are looked up: all pieces that begin
    something then get a blank. Byte-level BPE and sentencepiece keep the blanks that were there.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or not isinstance(backend.decoder, decoders.WordPiece):
        return False
    cut = backend.pre_tokenizer and backend.pre_tokenizer.pre_tokenize_str("a-b")
    return bool(cut) and len(cut) > 1
