"""Contextual augmentation (§4.1, Eqs. 8-12, App. A): words are what a masked LM puts in their place.

The LM reads a sentence as the predictor does, one mask a word. A fill is one token that is a whole word:
pieces that only continue or begin one, special tokens ([UNK] among them) and coordinators, which would add
a structure that nobody labelled, have no probability. The paper excludes [UNK] and says nothing of pieces;
as it replaces a word by one token of the vocabulary, a fill of ours has one token too.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, ClassVar

import torch
from torch import Tensor

from pipeline.core.corpus_folder import coordinators_of
from pipeline.core.errors import ModelError
from pipeline.core.files import digest_of
from pipeline.core.types import COORDINATORS
from pipeline.infill.families.known import load_language_model
from pipeline.models.language_models import logits_at, positionwise_end
from pipeline.models.loading import identity, length_limit
from pipeline.models.roles import words_fact
from pipeline.models.sampling import draw, uniform
from pipeline.models.tokenizers import cut_as_in_text, token_batch
from pipeline.models.words import BATCH_TOKENS, EncodedSentence, WordEncoding
from pipeline.tasks.augmentation import Material, needed_by
from pipeline.train.augmentation.masks import mask_word, masked
from pipeline.train.augmentation.words import WordDraw

_PIECE = 4096  # words tokenized together


@dataclass(frozen=True, slots=True)
class Blank:
    """A sentence with masks, and the places of those that are to be filled.

    ``key`` tells the sentence in draws.
    """

    words: tuple[str, ...]
    places: tuple[int, ...]
    key: str


class WordFiller:
    """A masked LM that fills masks with words.

    Args:
        where: what to hand to ``from_pretrained``.
        device: where it runs.
        reader: the predictor's tokenizer, which must know a word that is filled in.
        coordinators: words that are never filled in, in lower case.

    Raises:
        ModelError: it is no masked LM: the checkpoint has no LM head, say.
    """

    def __init__(
        self,
        where: str,
        device: torch.device,
        reader: WordEncoding,
        coordinators: AbstractSet[str] = COORDINATORS,
    ) -> None:
        with needed_by("fill", "a masked LM"):
            model, tokenizer = load_language_model("bert", where)
            cut_as_in_text(tokenizer)
            self._encoding = WordEncoding(tokenizer, length_limit(model.config, tokenizer))
            self.mask = mask_word(self._encoding)
        self._model = model.to(device).eval().requires_grad_(requires_grad=False)  # type: ignore[arg-type]
        self._end = positionwise_end(model.base_model)
        embeddings: Any = model.get_input_embeddings()
        self._banned = torch.ones(int(embeddings.weight.shape[0]), dtype=torch.bool, device=device)
        self._words = _whole_words(self._encoding, len(self._banned), reader, coordinators)
        if not self._words:
            raise ModelError(
                f"no token of {where!r} is a whole word", remedy="name another by --augment-lm"
            )
        self._banned[list(self._words)] = False

    def reads(self, words: tuple[str, ...]) -> bool:
        """Whether the model can read a sentence whole."""
        return self._encoding.fits(self._encoding.encode([words])[0])

    def fill(
        self, blanks: Sequence[Blank], sampled: tuple[int, int] | None = None
    ) -> list[tuple[str, ...]]:
        """The words at the places of each, in a few passes that depend on the blanks alone.

        Args:
            blanks: sentences that the model can read.
            sampled: seed and epoch of a draw from the probabilities; None: the most probable word.

        Raises:
            ModelError: a probability is not a number.
        """
        asked: dict[tuple[str, ...], list[int]] = {}
        for index, blank in enumerate(blanks):
            asked.setdefault(blank.words, []).append(index)
        found: list[tuple[str, ...]] = [()] * len(blanks)
        for batch in self._encoding.batches(asked, BATCH_TOKENS):
            # Equal words have their masks in equal places.
            places = [blanks[asked[words][0]].places for words, _ in batch]
            scores = self._scores([encoded for _, encoded in batch], places)
            ends = accumulate(map(len, places))
            for (words, _), own, end in zip(batch, places, ends, strict=True):
                for index in asked[words]:
                    part = scores[end - len(own) : end]
                    found[index] = self._chosen(part, blanks[index], sampled)
        self._encoding.forget()
        return found

    @torch.inference_mode()
    def _scores(self, batch: Sequence[EncodedSentence], places: Sequence[Sequence[int]]) -> Tensor:
        """Logits at some words of each sentence, ``[words, V]``; -inf for what is no whole word."""
        device = self._model.device
        pad = self._encoding.tokenizer.pad_token_id or 0
        ids, mask = token_batch([encoded.ids for encoded in batch], pad, device)
        pairs = [
            (row, encoded.last[i])
            for row, (encoded, own) in enumerate(zip(batch, places, strict=True))
            for i in own
        ]
        rows, columns = torch.tensor(pairs, device=device).unbind(1)
        inputs = {"input_ids": ids, "attention_mask": mask}
        base = self._model.base_model
        scores = logits_at(self._model, base, (rows, columns), inputs, self._end).float()
        # A sum is no number where one of them is none, and reads them once: there are millions.
        if not bool(scores.sum().isfinite()):
            raise ModelError("the language model of --augment fill gives no numbers")
        return scores.masked_fill_(self._banned, -torch.inf)

    def _chosen(
        self, scores: Tensor, blank: Blank, sampled: tuple[int, int] | None
    ) -> tuple[str, ...]:
        """A word for each place of a sentence, by its scores ``[places, V]``."""
        if sampled is None:
            tokens = scores.argmax(-1)
        else:
            seed, epoch = sampled
            numbers = [[uniform(seed, f"{blank.key}\0fill", epoch, i)] for i in blank.places]
            uniforms = torch.tensor(numbers, dtype=torch.float64, device=scores.device)
            tokens = draw(scores, uniforms, 1.0, 1.0)[:, 0]
        return tuple(self._words[token] for token in tokens.tolist())


def _whole_words(
    encoding: WordEncoding, rows: int, reader: WordEncoding, coordinators: AbstractSet[str]
) -> dict[int, str]:
    """The tokens that may be fills, with their words: read as a word, such a word is that token.

    Control characters, which a vocabulary of bytes has, are no words, nor is what ``reader`` takes for
    unknown.
    """
    tokenizer = encoding.tokenizer
    special = set(tokenizer.all_special_ids)
    ids = [i for i in sorted(tokenizer.get_vocab().values()) if i < rows and i not in special]
    found: dict[int, str] = {}
    for begin in range(0, len(ids), _PIECE):
        texts = {
            i: str(tokenizer.decode([i], clean_up_tokenization_spaces=False)).strip()
            for i in ids[begin : begin + _PIECE]
        }
        # Of blanks only the plain one counts as printable.
        usable = {i: t for i, t in texts.items() if t and t.isprintable() and " " not in t}
        pairs = [("a", text) for text in usable.values()]
        read = zip(encoding.encode(pairs), reader.encode(pairs), strict=True)
        for (i, text), (each, other) in zip(usable.items(), read, strict=True):
            own = each.ids[each.last[0] + 1 : each.last[1] + 1]
            known = reader.tokenizer.unk_token_id not in other.ids[other.last[0] + 1 :]
            if own == (i,) and known and text.lower() not in coordinators:
                found[i] = text
        encoding.forget()
        reader.forget()
    return found


class Fills:
    """Variants some of whose words a masked LM chose.

    Raises:
        InputError: L has no parts of speech, and S needs them.
        ModelError: the language model is no masked LM.
    """

    takes: ClassVar[frozenset[str]] = frozenset({"alpha", "mask_tags", "fill_mode", "augment_lm"})
    facts: Mapping[str, Any]

    def __init__(self, material: Material[Any]) -> None:
        self._material = material
        self._draw = WordDraw.of(
            material.labelled, material.seed, material.alpha, material.mask_tags
        )
        self._filler = WordFiller(
            material.lm, material.device, material.encoding,
            frozenset(coordinators_of(material.corpus)),
        )  # fmt: skip
        examples = [each.example for each in material.labelled]
        self._long = {n for n, each in enumerate(examples) if not self._filler.reads(each.words)}
        self.facts = {
            "words": digest_of(self._draw.facts()),
            "language model": identity(material.lm),
            **words_fact(material.lm),
        }
        self.note = (
            f"{len(self._long)} labelled sentences are longer than the language model reads: their variants "
            "are copies"
            if self._long
            else ""
        )

    def variants(self, epoch: int) -> list[Any]:
        """Each example with its fills."""
        examples = [each.example for each in self._material.labelled]
        places = [
            [] if n in self._long else each for n, each in enumerate(self._draw.places(epoch))
        ]
        filled = self._filled([each.words for each in examples], places, epoch)
        fits = self._material.readable(filled)
        return [
            replace(example, words=words if fit else example.words, variant=True)
            for example, words, fit in zip(examples, filled, fits, strict=True)
        ]

    def _filled(
        self, sentences: Sequence[tuple[str, ...]], places: Sequence[Sequence[int]], epoch: int
    ) -> list[tuple[str, ...]]:
        """The sentences with what the LM puts in their places.

        *multi*: all masks of a sentence at once; *single*: each alone, the other words as they were.
        """
        amount, choice = self._material.fill_mode.split("-")
        names = self._draw.names
        blanks: list[Blank] = []
        owners: list[int] = []
        for n, (words, hidden) in enumerate(zip(sentences, places, strict=True)):
            groups = [list(hidden)] if amount == "multi" else [[i] for i in hidden]
            for group in filter(None, groups):
                blanks.append(
                    Blank(masked(words, group, self._filler.mask), tuple(group), names[n])
                )
                owners.append(n)
        sampled = (self._material.seed, epoch) if choice == "sample" else None
        made = [list(words) for words in sentences]
        filled = self._filler.fill(blanks, sampled)
        for owner, blank, words in zip(owners, blanks, filled, strict=True):
            for place, word in zip(blank.places, words, strict=True):
                made[owner][place] = word
        return [tuple(words) for words in made]
