"""Dependency trees from CoNLL-U: what they say, how they are written back, and what is no tree."""

from pathlib import Path

import pytest
from treebank import WON, conllu, row, tree

from pipeline.core.errors import InputError
from pipeline.text.dependencies import DEEPEST, deps_of, edges, read_trees
from pipeline.text.lines import open_lines

MANY = conllu(
    "many",
    "1-2\tHe's" + "\t_" * 8,
    "He he PRON 3 nsubj",
    "'s be AUX 3 aux",
    'gone go VERB 0 root _ SpaceAfter=No',
    "3.1\t" + "\t".join(["gone", "go", "VERB", "_", "_", "_", "_", "3:conj", "CopyOf=3"]),
    ". . PUNCT 3 punct",
)  # fmt: skip


def test_trees_are_written_back_as_they_were_read() -> None:
    """With comments, multiword tokens and empty nodes in their places."""
    for text in (WON, MANY):
        assert "\n".join(tree(text).rows) + "\n\n" == text


def test_a_tree_says_what_hangs_on_what() -> None:
    """Children, subtrees, the text with its spaces, and how many relations there are."""
    won = tree(WON)
    assert [word.form for word in won.children(6)] == ["and", "Peter", "bronze"]
    assert won.subtree(6) == {4, 5, 6, 7}
    assert won.text == "Mary won gold and Peter won bronze."
    assert won.relations == 6
    assert tree(MANY).text == "He's gone."
    assert tree(MANY).empty[0].node == (3, 1)


def test_relations_of_the_enhanced_layer_are_read_and_sorted() -> None:
    """Heads may be empty nodes; what cannot be read is None."""
    assert edges("10.1:obl:on|2:nsubj") == [((10, 1), "obl:on"), ((2, 0), "nsubj")]
    assert deps_of(edges("10.1:obl:on|2:nsubj|2:nsubj") or []) == "2:nsubj|10.1:obl:on"
    assert edges("_") == []
    assert [edges(bad) for bad in ("x:obj", "2", "2:", ":obj", "2.x:obj")] == [None] * 5


GOOD = ("I I PRON 2 nsubj", "ran run VERB 0 root", "home home ADV 2 advmod")


def with_head(word: int, head: str) -> str:
    """The three words, one of which has another head."""
    words = [each.split() for each in GOOD]
    words[word - 1][3] = head
    return conllu("bad", *map(" ".join, words), enhanced=False)


CHAIN = conllu(
    "bad", *(f"w w X {number} dep" for number in range(DEEPEST + 1)), enhanced=False
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (with_head(2, "3"), 3, "HEADs go in a circle: 2 → 3 → 2; attach one of them elsewhere"),
        (with_head(3, "3"), 4, "HEADs go in a circle: 3 → 3; attach"),
        (with_head(3, "0"), 4, "2 words have HEAD 0, of which one may: 2, 3; attach the others to it"),
        (with_head(1, "4"), 2, "HEAD of word 1 is 4, and there are 3 words; HEAD is the number"),
        (with_head(1, "_"), 2, "HEAD of word 1 is '_', no number; this file has no trees: parse it"),
        (with_head(1, "two"), 2, "HEAD of word 1 is 'two', no number; HEAD is the number of another"),
        (with_head(1, "-1"), 2, "HEAD of word 1 is '-1', no number"),
        (with_head(1, "9" * 5_000), 2, f"HEAD of word 1 is '{'9' * 20}', no number"),
        (conllu("bad", "I I PRON 2 nsubj", "ran run VERB 0 _"), 3, "word 2 has no DEPREL; name its"),
        (conllu("bad", "1-2\tI" + "\t_" * 8, "I I PRON 0 root"), 2,
         "multiword token 1-2 of a sentence of 1 words; a multiword token has two words"),
        (conllu("bad", "1-2\tI" + "\t_" * 8, "I I PRON 0 root", "2-3\tI" + "\t_" * 8, *GOOD[1:]), 4,
         "multiword token 2-3 after one to 2; a multiword token has two words"),
        (conllu("bad", "1-1\tI" + "\t_" * 8, "I I PRON 0 root"), 2, "multiword token 1-1 of one word"),
        (conllu("bad", "1-2\t " + "\t_" * 8, "I I PRON 2 nsubj", "ran run VERB 0 root"), 2,
         "multiword token 1-2 without FORM; write it"),
        (conllu("bad", "I I PRON 0 root", "1.2\tx" + "\t_" * 8), 3,
         "empty node 1.2 where 1.1 is due; number empty nodes n.1, n.2, ..."),
        (conllu("bad", "I I PRON 0 root", "3" + "\tx" * 9), 3, "ID 3 out of order, after 1 words; number"),
        (conllu("bad", "1\tI\tI\tPRON"), 2, "not CoNLL-U: 4 columns where 10 are due; part ten columns"),
        (conllu("bad", "I I PRON 0 root", "two" + "\tx" * 9), 3, "not a CoNLL-U ID: 'two'; mend it"),
        (CHAIN, 2, f"a tree of {DEEPEST + 1} levels, where {DEEPEST} are the most; is this a sentence?"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) and "\n" not in value else "",
)  # fmt: skip
def test_what_is_no_tree_is_said_in_one_line(
    text: str, line: int, said: str, tmp_path: Path
) -> None:
    """With file, line, sentence and what to do; whatever stands before it."""
    path = tmp_path / "f.conllu"
    path.write_text(WON + text, encoding="utf-8")
    with pytest.raises(InputError) as raised, open_lines(path) as lines:
        list(read_trees(lines))
    what, _, remedy = said.partition("; ")
    message = str(raised.value)
    assert message.startswith(f"{path}:{line + WON.count(chr(10))}: {what}")
    assert f"(sentence bad); {remedy}" in message
    assert "\n" not in message
    assert len(message) < 400


def test_the_deepest_tree_that_is_allowed_is_read() -> None:
    """A chain of as many words, without Python's limit on calls."""
    words = [
        row(str(n), f"w w X {n - 1} {'dep' if n > 1 else 'root'}") for n in range(1, DEEPEST + 1)
    ]
    assert len(tree("\n".join(["# sent_id = deep", *words])).subtree(1)) == DEEPEST


def test_a_name_without_end_is_cut_in_messages(tmp_path: Path) -> None:
    """A sent_id may be as long as a sentence."""
    path = tmp_path / "f.conllu"
    path.write_text(conllu("x" * 10_000, "I I PRON 5 nsubj"), encoding="utf-8")
    with pytest.raises(InputError) as raised, open_lines(path) as lines:
        list(read_trees(lines))
    assert len(str(raised.value)) < 400
