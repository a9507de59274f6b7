"""Stems of English words, by which forms of one verb are told to be one."""

from functools import cache

from nltk.stem.snowball import SnowballStemmer

_STEMS = {"does": "do", "did": "do", "done": "do", "has": "have", "had": "have", "'ve": "have"}


@cache
def stem(word: str) -> str:
    """Snowball's English stem of a word; that of *do* and *have* for all their forms."""
    lower = word.lower()
    return _STEMS.get(lower) or str(_stemmer().stem(lower))


@cache
def _stemmer() -> SnowballStemmer:
    return SnowballStemmer("english")
