"""Natural text for language models, with offsets back to words."""

import pytest

from pipeline.text.natural import join_words, split_words


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("She sold the lamp .", "She sold the lamp."),
        ("a protein ( NF-kappaB ) , however , binds", "a protein (NF-kappaB), however, binds"),
        ("`` I would n't say it 's a veto , '' he said", "\"I wouldn't say it's a veto,\" he said"),
        ("it cost $ 5 , or 10 % more", "it cost $5, or 10% more"),
        ('he said " no " and " yes "', 'he said "no" and "yes"'),
        ("the dogs ' owner", "the dogs' owner"),
        ("one : two ; three", "one: two; three"),
    ],
)
def test_join_words_restores_ordinary_spelling(words: str, text: str) -> None:
    """Brackets, quotes, clitics and punctuation get the spacing of running text."""
    assert join_words(words.split()).text == text


def test_offsets_lead_back_to_every_word() -> None:
    """Each word's character span holds exactly the word, quotes as they are shown."""
    words = ["``", "He", "(", "she", ")", "did", "n't", ",", "''", "they", "said", "."]
    natural = join_words(words)
    shown = [natural.text[a:b] for a, b in natural.offsets]
    assert shown == ['"', "He", "(", "she", ")", "did", "n't", ",", '"', "they", "said", "."]
    assert natural.slice(2, 5) == "(she)"
    assert natural.slice(5, 7) == "didn't"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the boys' old car", ["the", "boys", "'", "old", "car"]),
        ("of the U.S.", ["of", "the", "U.S."]),
        ("it rained.", ["it", "rained", "."]),
        ('said "no" (twice)', ["said", "``", "no", "''", "(", "twice", ")"]),
        ("", []),
    ],
)
def test_split_words_gives_treebank_tokens(text: str, words: list[str]) -> None:
    """Fills come back as the tokens a treebank would have."""
    assert split_words(text) == words


def test_split_inverts_join_on_ordinary_sentences() -> None:
    """What is joined for the model splits into the same treebank words again."""
    words = [
        "The",
        "company",
        ",",
        "which",
        "did",
        "n't",
        "reply",
        ",",
        "sold",
        "10",
        "%",
        "of",
        "it",
        "(",
        "and",
        "more",
        ")",
        "yesterday",
        ".",
    ]
    assert split_words(join_words(words).text) == words
