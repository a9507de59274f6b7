"""Treebank words to the text language models were trained on, and fills back to treebank words.

Language models were not trained on text like ``-LRB- see Fig. 1 -RRB- , but``; so brackets, quotes
and spacing are restored, and the character offsets of every word are kept.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nltk.tokenize import NLTKWordTokenizer

NO_SPACE_BEFORE = frozenset(
    {",", ".", ";", ":", "?", "!", "%", ")", "]", "}", "''", "'", "...", "n't", "'s", "'re"}
    | {"'ve", "'ll", "'d", "'m", "N'T", "'S", "'RE", "'VE", "'LL", "'D", "'M"}
)
NO_SPACE_AFTER = frozenset({"(", "[", "{", "``", "`", "$", "#"})
SHOWN = {"``": '"', "''": '"', "`": "'"}
"""Words that stand in natural text as another sign."""
_POSSESSED = re.compile(r"[sS0-9]")
"""What a possessive's apostrophe follows, or a sign of minutes."""
_INITIALS = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]")
_APOSTROPHE = re.compile(r"(?<=\w)\u2019(?=\w)")
_WORD = re.compile(r"\w+(?:[-'\u2019./]\w+)*|[^\w\s]")
_LOOSE = tuple(
    (re.compile(pattern, re.IGNORECASE), whole)
    for pattern, whole in (
        (r"- -", "--"),
        (r"\+ / -", "+/-"),
        # "alpha- and beta-dependent", "5- to 10-fold": such a hyphen belongs to one side only.
        (r"(?<=\w) - (?=(?:and|or|but|nor|to(?! -))\b)", "- "),
        (r"\b(and|or|but|nor) - (?=\w)", r"\1 -"),
        (r"(?<=\w) ([-/]) (?=\w)", r"\1"),
        (r"(?<=\d) ?\. (?=\d)", "."),
        # Of a list of numbers the words stay apart: "types 1, 2", "in 1990, 200".
        (r"(?<!\d)(\d{1,3}) ?, (?=\d{3}(?!\d))", r"\1,"),
        (r"(?:^|(?<=\w) )' (?=(?:s|t|d|m|re|ve|ll)\b)", "'"),
    )
)
"""Where a decoder of word pieces leaves blanks inside words, and what stands there without them."""

WIDE = re.compile("[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
"""Characters that no blank stands beside: kana, kanji, and signs and letters of their width."""

_tokenizer = NLTKWordTokenizer()


@dataclass(frozen=True, slots=True)
class NaturalText:
    """Text, and for each word its character span ``[start, end)`` in the text."""

    text: str
    offsets: tuple[tuple[int, int], ...]

    def slice(self, start: int, end: int) -> str:
        """The text of words ``[start, end)``, inner spacing included."""
        return self.text[self.offsets[start][0] : self.offsets[end - 1][1]]


def join_words(words: Sequence[str]) -> NaturalText:
    """Natural text of treebank words.

    No blank stands beside a Japanese or Chinese character. Treebank quotes become ``"``, brackets and clitics
    lose their outer spaces; a bare ``"`` opens and closes in turn.
    """
    text = ""
    offsets: list[tuple[int, int]] = []
    glue_next, quote_open = True, False
    for word in words:
        before, after = word in NO_SPACE_BEFORE, word in NO_SPACE_AFTER
        if word == '"':
            before, after = quote_open, not quote_open
            quote_open = not quote_open
        if not (glue_next or before or WIDE.search(text[-1:] + word[:1])):
            text += " "
        start = len(text)
        text += SHOWN.get(word, word)
        offsets.append((start, len(text)))
        glue_next = after
    return NaturalText(text, tuple(offsets))


def readable(words: Sequence[str]) -> NaturalText:
    """As ``join_words``, with ``' the '`` in single quotes: for people, where nothing is made of the text.

    A bare ``'`` after an s or a digit is none that opens; any other does if a later one closes it. Where that
    leaves one over, all stay as models read them, and as the column ``text`` has them.
    """
    directed, is_open = list(words), False
    for index, word in enumerate(words):
        if word != "'":
            continue
        if is_open:
            is_open = False
        elif not index or not _POSSESSED.fullmatch(words[index - 1][-1:]):
            directed[index], is_open = "`", True
    return join_words(words if is_open else directed)


def find_words(text: str) -> NaturalText:
    """Raw text with the offsets of what looks like its words and punctuation marks."""
    return NaturalText(text, tuple(match.span() for match in _WORD.finditer(text)))


def rejoin(text: str) -> str:
    """Text without the blanks that a decoder of word pieces puts around punctuation inside words.

    ``E2F - 1``, ``and / or``, ``3. 5``, ``1, 000`` and ``dog ' s`` become ``E2F-1``, ``and/or``, ``3.5``,
    ``1,000`` and ``dog's``. A coordinator stays a word: ``alpha - and beta - bound`` becomes ``alpha- and
    beta-bound``. A dash between words, ``- -``, becomes ``--`` again and keeps its blanks.
    """
    for pattern, whole in _LOOSE:
        text = pattern.sub(whole, text)
    return text


def split_words(text: str) -> list[str]:
    """Treebank words of natural text (a fill, or a sentence).

    The tokenizer takes a period at the very end for a full stop; after initials (``U.S.``) it is
    put back, because a fill rarely ends a sentence. It knows only the straight apostrophe of
    "isn't" and "dog's", so the curved one is straightened.
    """
    words: list[str] = _tokenizer.tokenize(_APOSTROPHE.sub("'", text))
    if len(words) > 1 and words[-1] == "." and _INITIALS.fullmatch(words[-2]):
        words[-2:] = [words[-2] + "."]
    return words
