"""Pairs of texts to encoder input: [CLS] a [SEP] b [SEP], whose first subword's state is the pair's."""

from collections.abc import Sequence

from transformers import PretrainedConfig, PreTrainedTokenizerBase

from pipeline.models.words import EncodedSentence

Sides = tuple[tuple[str, ...], tuple[str, ...]]
"""The words of either text."""

_KEPT = 1 << 14  # pairs remembered: training asks for the same ones again and again


class PairEncoding:
    """A tokenizer as a map from pairs of word lists to encoder input.

    Args:
        tokenizer: a fast tokenizer.
        longest: subwords of a pair at most, special tokens included: of a longer one the longer side is cut
            at its end.
        config: of the encoder, which may tell segments apart.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, longest: int, config: PretrainedConfig
    ) -> None:
        self.longest = longest
        self._tokenizer = tokenizer
        known = "token_type_ids" in tokenizer.model_input_names
        self._segments = known and getattr(config, "type_vocab_size", 0) > 1
        self._kept: dict[Sides, tuple[EncodedSentence, bool]] = {}

    def encode(self, pairs: Sequence[Sides]) -> list[EncodedSentence]:
        """Tokenize pairs; ``last`` is the place of their first subword alone."""
        return [encoded for encoded, _ in self._encoded(pairs)]

    def cut(self, pairs: Sequence[Sides]) -> int:
        """How many pairs are too long to be read whole."""
        return sum(was_cut for _, was_cut in self._encoded(pairs))

    def _encoded(self, pairs: Sequence[Sides]) -> list[tuple[EncodedSentence, bool]]:
        new = list(dict.fromkeys(pair for pair in pairs if pair not in self._kept))
        fresh = dict(zip(new, self._tokenize(new), strict=True))
        found = [fresh.get(pair) or self._kept[pair] for pair in pairs]
        if len(self._kept) + len(fresh) > _KEPT:
            self._kept.clear()
        self._kept |= fresh
        return found

    def _tokenize(self, pairs: Sequence[Sides]) -> list[tuple[EncodedSentence, bool]]:
        if not pairs:
            return []
        output = self._tokenizer(
            [list(first) for first, _ in pairs], [list(second) for _, second in pairs],
            is_split_into_words=True, truncation=False, verbose=False,
            return_token_type_ids=self._segments,
        )  # fmt: skip
        made = []
        for row in range(len(pairs)):
            side_of = output.sequence_ids(row)
            places = kept_places(side_of, self.longest)
            ids = tuple(output["input_ids"][row][place] for place in places)
            types: tuple[int, ...] = ()
            if self._segments:
                types = tuple(output["token_type_ids"][row][place] for place in places)
            made.append((EncodedSentence(ids, (0,), types), len(places) < len(side_of)))
        return made


def kept_places(side_of: Sequence[int | None], longest: int) -> list[int]:
    """Which subwords of a pair stay, of as many as ``longest``: the longer side is cut, then both alike.

    Args:
        side_of: the side, 0 or 1, that each subword is of; None of special tokens.
        longest: how many may stay, special tokens included.
    """
    sides = [[place for place, side in enumerate(side_of) if side == each] for each in (0, 1)]
    room = longest - (len(side_of) - len(sides[0]) - len(sides[1]))
    if len(sides[0]) + len(sides[1]) <= room:
        return list(range(len(side_of)))
    shorter = min(len(sides[0]), len(sides[1]), room // 2)
    sizes = (shorter, room - shorter)
    if len(sides[0]) >= len(sides[1]):
        sizes = (room - shorter, shorter)
    gone = {place for side, size in zip(sides, sizes, strict=True) for place in side[size:]}
    return [place for place in range(len(side_of)) if place not in gone]
