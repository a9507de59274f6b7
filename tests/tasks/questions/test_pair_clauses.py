"""The condition Reliable: just two clauses, and it is certain that the connective joins them."""

import random

import caused
import pytest
from caused import BAKER, BECAUSE, BROKE, IF, JAR_BROKE, SINCE, WHEN, before, behind, so
from nltk.tree import Tree

from pipeline.tasks.questions.pair import clauses
from pipeline.tasks.questions.pair.clauses import JoinedClauses, first_connective, joined_clauses
from pipeline.text.trees import parse_tree

JAR = ("the", "jar", "broke")
DROPPED = ("the", "baker", "dropped", "the", "jar")


def read(tree: str) -> JoinedClauses | str:
    return joined_clauses(parse_tree(tree))


@pytest.mark.parametrize(
    ("connective", "tree"),
    [
        ("so", so(BAKER, JAR_BROKE)),
        ("therefore", f"(S1 (S {BAKER} (: ;) (ADVP (RB therefore)) (, ,) {JAR_BROKE} (. .)))"),
        ("so", f"(S1 (S {BAKER} (, ,) (CC and) (S (ADVP (RB so)) {JAR_BROKE[3:]} (. .)))"),
        ("so", f"(S1 (S {BAKER} (, ,) (SBAR (IN so) {JAR_BROKE}) (. .)))"),
        ("so", behind("(RB so)", JAR_BROKE, BAKER)),
        ("because", before(BECAUSE, BAKER, JAR_BROKE)),
        ("because", behind(BECAUSE, BAKER, JAR_BROKE)),
        ("because", f"(S1 (S {JAR_BROKE} (SBAR {BECAUSE} {BAKER}) (. .)))"),
        ("since", before(SINCE, BAKER, JAR_BROKE)),
        ("if", before(IF, BAKER, JAR_BROKE)),
        ("when", before(WHEN, BAKER, JAR_BROKE)),
        ("when", behind(WHEN, BAKER, JAR_BROKE)),
        ("if", f"(S1 (S (SBAR {IF} {BAKER}) (, ,) (ADVP (RB then)) {JAR_BROKE[3:-1]} (. .)))"),
        ("if", f"(S1 (S (CC But) (, ,) (PP (IN for) (NP (NN example))) (, ,) (SBAR {IF} {BAKER}) (, ,) "
               f"{JAR_BROKE[3:-1]} (. .)))"),
    ],
)  # fmt: skip
def test_the_cause_is_the_former_whatever_the_order(connective: str, tree: str) -> None:
    """Without the connective, linking words and marks; the words are as they stand."""
    found = read(tree)
    assert isinstance(found, JoinedClauses)
    assert (found.connective, found.former, found.latter) == (connective, DROPPED, JAR)
    assert (found.former_event.predicate, found.latter_event.predicate) == ("drop", "broke")


SHORT = " ".join(["(JJ old)"] * clauses.LONGEST)
THIRD = f"(SBAR (IN while) {caused.RAN})"


@pytest.mark.parametrize(
    ("reason", "tree"),
    [
        (clauses.NO_TAGS, so(BAKER, BROKE).replace("PRP", "XX")),
        (clauses.NO_STATEMENT, so(BAKER, BROKE).replace("(. .)", "(. ?)")),
        (clauses.NO_STATEMENT, f"(S1 (FRAG (SBAR {BECAUSE} {BAKER}) (. .)))"),
        (clauses.NOT_JOINED, f"(S1 (S (RB So) {BROKE[3:-1]} (. .)))"),
        (clauses.NOT_JOINED, behind(SINCE, BAKER, JAR_BROKE)),
        (clauses.NOT_JOINED, f"(S1 (S (NP (DT the) (NN jar)) (, ,) (SBAR {BECAUSE} {BAKER}) (, ,) "
                             "(VP (VBD broke)) (. .)))"),
        (clauses.NOT_JOINED, f"(S1 (S {BAKER} (, ,) (CC and) {JAR_BROKE} (. .)))"),
        (clauses.MODIFIED, before(f"(RB even) {IF}", BAKER, JAR_BROKE)),
        (clauses.MODIFIED, behind("(IN so) (IN that)", JAR_BROKE, BAKER)),
        (clauses.MODIFIED, behind("(IN so)", "(S (NP (PRP he)) (VP (MD could) (VP (VB see))))", BAKER)),
        (clauses.OBJECT_CLAUSE, behind(IF, BAKER, "(S (NP (PRP we)) (VP (VBP wonder)))")),
        (clauses.OBJECT_CLAUSE, behind(BECAUSE, BAKER, f"(S {BROKE[3:16]} (VP (VBZ is)))")),
        (clauses.TEMPORAL, before(SINCE, BAKER, "(S (NP (NN life)) (VP (VBZ has) (VP (VBN changed))))")),
        (clauses.MORE, so(f"{BAKER[:-2]} {THIRD}))", BROKE)),
        (clauses.MORE, f"(S1 (S {BAKER} (, ,) (IN so) {BROKE} (, ,) (CC and) {JAR_BROKE} (. .)))"),
        (clauses.MORE, f"(S1 (S (SBAR {IF} {BAKER}) {JAR_BROKE[3:-2]} (SBAR {BECAUSE} {BROKE})) (. .)))"),
        (clauses.MORE, so(BAKER, "(S (NP (PRP it)) (VP (VP (VBD fell)) (CC and) (VP (VBD broke))))")),
        (clauses.TOO_LONG, so(BAKER.replace("(NN baker)", f"{SHORT} (NN baker)"), BROKE)),
        (clauses.DEMONSTRATIVE, so(BAKER, BROKE.replace("PRP it", "DT this"))),
        (clauses.NO_WORDS, so(BAKER.replace("(DT the) (NN jar)", "(CD 12) (NNS jars)"), BROKE)),
        (clauses.NO_EVENT, before(IF, BAKER, "(S (VP (VB stay)))")),
        (clauses.NO_EVENT, before(IF, "(JJ possible)", JAR_BROKE)),
    ],
)  # fmt: skip
def test_all_else_is_refused_with_its_reason(reason: str, tree: str) -> None:
    """Of a since behind the other clause, and an if after wonder, nobody knows that they are meant so."""
    assert read(tree) == reason


def test_no_tree_is_a_reason() -> None:
    """As of a sentence that a parser cannot read."""
    assert joined_clauses(None) == clauses.NO_TREE


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("It broke because it fell", "because"),
        ("Since it fell , it broke", "since"),
        ("But since it fell , it broke", "since"),
        ("It has lain there since then", None),
        ("It fell , therefore it broke", "therefore"),
        ("It fell", None),
    ],
)
def test_the_first_connective_is_found(words: str, wanted: str | None) -> None:
    """In any case of letters; a since at the beginning alone."""
    assert first_connective(words.split()) == wanted


def test_no_tree_whatever_stops_the_run() -> None:
    """Of trees with wrong labels and words, and without some, each has its reason; none is changed."""
    rng = random.Random(0)
    labels = [
        "S",
        "SBAR",
        "VP",
        "NP",
        "PP",
        "ADJP",
        "WHADVP",
        "IN",
        "VBD",
        "JJ",
        "CC",
        ",",
        "PRT",
        "TO",
    ]
    words = ["so", "if", "because", "when", "be", "is", ",", "and", "going", "to"]
    for _ in range(1500):
        tree = parse_tree(rng.choice(caused.TREES))
        for _ in range(rng.randint(1, 5)):
            node = rng.choice(list(tree.subtrees()))
            leaf = isinstance(node[0], str)
            match rng.randrange(4):
                case 0:
                    node.set_label(rng.choice(labels))
                case 1 if len(node) > 1:
                    del node[rng.randrange(len(node))]
                case 2 if leaf:
                    node[0] = rng.choice(words)
                case 3 if not leaf:
                    node.insert(0, Tree(rng.choice(labels), [rng.choice(words)]))
        before = str(tree)
        joined_clauses(tree)
        assert str(tree) == before
