"""The miniature world: trees, tags, words and coordinations agree, and the corpus has its shape."""

import hashlib
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from pipeline.core.errors import InputError
from pipeline.core.types import REFERENCE_LABELS, Sentence, Span
from pipeline.text.trees import Tree, constituents, leaves, one_line, parse_tree
from pipeline.world import generate_sentences

SOURCE = Path(__file__).resolve().parents[2] / "data" / "raw" / "world"
CONTENT = ("NN", "VB", "JJ", "RB")


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    """Sentences enough for stable shares."""
    return list(generate_sentences(SOURCE, 3600, 0))


@pytest.fixture(scope="module")
def trees(sentences: list[Sentence]) -> list[Tree]:
    """Their trees."""
    return [parse_tree(s.tree or "") for s in sentences]


def _content(sentence: Sentence, span: Span) -> list[str]:
    tags = sentence.tags or ()
    return [
        sentence.words[i].lower()
        for i in range(span.start, span.end)
        if tags[i].startswith(CONTENT) and sentence.words[i] not in {"was", "were", "many"}
    ]


def test_leaves_are_the_words_and_preterminals_the_tags(
    sentences: list[Sentence], trees: list[Tree]
) -> None:
    """Words, tags and tree are three views of one sentence."""
    for sentence, tree in zip(sentences, trees, strict=True):
        assert tuple(leaves(tree)) == sentence.words
        assert tuple(tag for _, tag in tree.pos()) == sentence.tags
        assert one_line(tree) == sentence.tree


def test_conjuncts_are_constituents_of_the_coordinated_label(
    sentences: list[Sentence], trees: list[Tree]
) -> None:
    """Each conjunct and the whole structure stand in the tree under the structure's label."""
    for sentence, tree in zip(sentences, trees, strict=True):
        found = {(c.label, c.span) for c in constituents(tree)}
        for coordination in sentence.coordinations:
            whole = Span(coordination.start, coordination.end)
            for span in (*coordination.conjuncts, whole):
                assert (coordination.label, span) in found


def test_between_conjuncts_stand_commas_and_the_coordinator(sentences: list[Sentence]) -> None:
    """Conjuncts are in order; the last gap holds the coordinator, the others a comma each."""
    for sentence in sentences:
        for coordination in sentence.coordinations:
            assert sentence.words[coordination.coordinator] == coordination.word
            assert all(len(span) > 0 for span in coordination.conjuncts)
            gaps = [sentence.words[a.end : b.start] for a, b in pairwise(coordination.conjuncts)]
            assert gaps[-1] in {(coordination.word,), (",", coordination.word)}
            assert all(gap == (",",) for gap in gaps[:-1])
            assert coordination.conjuncts[-1].start == coordination.coordinator + 1


def test_every_coordinating_conjunction_is_annotated(sentences: list[Sentence]) -> None:
    """No coordinator word is left without a coordination."""
    for sentence in sentences:
        marked = [c.coordinator for c in sentence.coordinations]
        assert marked == [i for i, tag in enumerate(sentence.tags or ()) if tag == "CC"]


def test_conjuncts_share_no_content_word(sentences: list[Sentence]) -> None:
    """The same open-class word never stands in two conjuncts."""
    for sentence in sentences:
        for coordination in sentence.coordinations:
            words = Counter(
                w for span in coordination.conjuncts for w in set(_content(sentence, span))
            )
            assert not [word for word, count in words.items() if count > 1], sentence.words


def test_all_labels_lengths_and_shares(sentences: list[Sentence]) -> None:
    """Half the sentences are coordinated, by every label and coordinator, at about 13 words."""
    coordinations = [c for s in sentences for c in s.coordinations]
    shares = Counter(c.label for c in coordinations)
    assert set(shares) == set(REFERENCE_LABELS) - {"NML"}
    assert min(shares.values()) > 0.02 * len(coordinations)
    assert {c.word for c in coordinations} == {"and", "or", "but"}
    assert {len(c.conjuncts) for c in coordinations} == {2, 3}
    assert 0.45 < sum(bool(s.coordinations) for s in sentences) / len(sentences) < 0.55
    assert 12 < sum(len(s.words) for s in sentences) / len(sentences) < 15


def test_the_period_stands_outside_a_sentence_that_can_be_a_reference(trees: list[Tree]) -> None:
    """The outermost S holds an S and the period."""
    for tree in trees:
        assert [tree.label(), tree[0].label()] == ["S1", "S"]
        assert [child.label() for child in tree[0]] == ["S", "."]


def test_attachment_is_ambiguous(sentences: list[Sentence], trees: list[Tree]) -> None:
    """The same preposition follows nouns and verbs, after a coordination and inside a conjunct."""
    parents = Counter(
        (node.label(), child[0][0])
        for tree in trees
        for node in tree.subtrees()
        for child in node
        if isinstance(child, Tree) and child.label() == "PP" and not isinstance(child[0][0], Tree)
    )
    assert parents["NP", "near"] > 50
    assert parents["VP", "near"] > 50
    after = Counter(
        (sentence.tags or ())[c.end]
        for sentence in sentences
        for c in sentence.coordinations
        if c.label == "NP"
    )
    assert after["IN"] > 50


def test_splits_are_interleaved_and_large_enough() -> None:
    """Nine thousand sentences give 7,000 to train on and more than a thousand to test on."""
    splits = Counter(s.split for s in generate_sentences(SOURCE, 9000, 1))
    assert splits == {"train": 7000, "dev": 500, "test": 1500}


def test_sentences_start_with_a_capital_and_identify_themselves(sentences: list[Sentence]) -> None:
    """Ids are unique and stable, the first letter is upper case, the licence is named."""
    assert sentences[123].sentence_id == "world/000123"
    assert len({s.sentence_id for s in sentences}) == len(sentences)
    assert all(s.words[0][0].isupper() and s.words[-1] == "." for s in sentences)
    assert {(s.doc_id, s.license) for s in sentences} == {("world", "Apache-2.0")}


def test_was_agrees_with_its_subject(trees: list[Tree]) -> None:
    """Plural nouns, "they" and subjects joined by "and" take "were", others "was"."""
    seen = Counter[str]()
    clauses = (c for tree in trees for c in tree.subtrees() if c.label() == "S" and len(c) == 2)
    for subject, phrase in clauses:
        verb = phrase[0][0]
        if subject.label() != "NP" or verb not in ("was", "were"):
            continue
        joined = any(child == Tree("CC", ["and"]) for child in subject)
        if joined or subject.height() == 3:
            plural = joined or any(t == "NNS" or w.lower() == "they" for w, t in subject.pos())
            assert verb == ("were" if plural else "was"), subject
            seen[verb] += 1
    assert min(seen["was"], seen["were"]) > 50


def test_a_larger_corpus_begins_with_the_smaller_and_seeds_differ() -> None:
    """Sentence i is a pure function of seed and i."""
    small = list(generate_sentences(SOURCE, 50, 3))
    assert small == list(generate_sentences(SOURCE, 80, 3))[:50]
    assert small[20:] == list(generate_sentences(SOURCE, 30, 3, first=20))
    assert small != list(generate_sentences(SOURCE, 50, 4))


@pytest.mark.long
def test_equal_in_another_process_with_another_hash_seed() -> None:
    """No iteration order of a hash table reaches the sentences."""
    code = (
        "import hashlib, pathlib; from pipeline.world import generate_sentences as g;"
        f"print(hashlib.sha256(repr(list(g(pathlib.Path({str(SOURCE)!r}), 200, 0))).encode())"
        ".hexdigest())"
    )
    digests = {
        subprocess.run(  # noqa: S603
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(SOURCE.parents[2])},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(digests) == 1


def test_the_world_is_fixed_for_ever() -> None:
    """The very bytes of seed 0, the same with every Python that conjoin runs on."""
    digest = hashlib.sha256(repr(list(generate_sentences(SOURCE, 500, 0))).encode()).hexdigest()
    assert digest == "e98cd366f8b50350d7865e44d51a23121b7c76944ea51c55366c14913ca2debe"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("groups:", "gruppen:", "groups"),
        ("  tool: hammer", "  tool: [hammer", "not YAML"),
        ("who: medic, what: animal person medic", "who: wizard, what: animal", "wizard"),
        ("verb: examine examined examined", "verb: examine examined", "verbs, entry 1"),
        ("  person: Alice Oscar", "  person: Al(ce Oscar", "Al(ce"),
        ("person: 14,", "person: many,", "subjects"),
        ("labels: {NP: 24", "labels: {NP: x", "labels"),
        ("\nnouns:", "\nnouns:\n  void: one two", "void"),
        ("\nnouns:", "\nnouns:\n  metal: iron gold tin lead", "metal"),
        ("  degree: very", "  grade: very", "degree"),
        ("license: Apache-2.0", "license: !!int x", "cannot be read"),
        ("license: Apache-2.0", "license: " + "[" * 3000, "levels deep"),
        ("person: 14,", "person: 999999999999,", "1 to 1000"),
        ("verb: examine examined examined", "verb: examine examined examined, pp: 3", "'pp'"),
        (
            "verb: examine examined examined",
            "verb: examine examined examined, frame: [1]",
            "'frame'",
        ),
    ],
)
def test_a_malformed_lexicon_is_refused(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    """The error names the file and what is wrong with it."""
    text = (SOURCE / "lexicon.yaml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "lexicon.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=r"lexicon\.yaml") as caught:
        list(generate_sentences(tmp_path, 1, 0))
    assert complaint in str(caught.value)


def test_a_missing_or_empty_lexicon_is_refused(tmp_path: Path) -> None:
    """A folder without the file, and an empty file, are input errors."""
    with pytest.raises(InputError, match="no such file"):
        list(generate_sentences(tmp_path, 1, 0))
    (tmp_path / "lexicon.yaml").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="not a mapping"):
        list(generate_sentences(tmp_path, 1, 0))
