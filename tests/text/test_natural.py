"""Natural text for language models, with offsets back to words."""

import pytest

from pipeline.text.natural import join_words, readable, split_words


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
        ("企業 が 基準 を 超える 。", "企業が基準を超える。"),
        ("彼 は [MASK] を 「 読む 」", "彼は[MASK]を「読む」"),
        ("１９９０ 年 NHK World の カメラ", "１９９０年NHK Worldのカメラ"),
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
    words = ["大学", "に", "行った", "man", "。"]
    natural = join_words(words)
    assert [natural.text[a:b] for a, b in natural.offsets] == words


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("a lamp of ' the ' nurse .", "a lamp of 'the' nurse."),
        ("' No , ' he said", "'No,' he said"),
        ("( ' HMG box ' ) related", "('HMG box') related"),
        (
            "the patients ' cells and a ' default ' state",
            "the patients' cells and a 'default' state",
        ),
        ("of ' lysis genes ' by", "of 'lysis genes' by"),
        ("Toys ' R ' Us", "Toys' R' Us"),
        ("( Ph ' ) , of", "(Ph'), of"),
        ("from 5 ' to 3 '", "from 5' to 3'"),
        ("she said ` no ' and `` yes ''", "she said 'no' and \"yes\""),
        ("as ' master regulators ' .", "as' master regulators'."),  # after an s nobody can tell
    ],
)
def test_single_quotes_are_shown_where_they_are_read(words: str, text: str) -> None:
    """An apostrophe that another closes opens; a possessive's stays, and none is left over."""
    found = readable(words.split())
    assert found.text == text
    shown = [found.text[a:b] for a, b in found.offsets]
    assert shown == [join_words([word]).text for word in words.split()]


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
