"""Coordinations and constituents of dependency trees: by hand, and against the rule for brackets."""

import pytest
from treebank import PAST, conllu, tree

from pipeline.core.types import Coordination, bracketed
from pipeline.text.coordinations import ptb_coordinations
from pipeline.text.dependency_phrases import APART, SEVERAL, SPLIT, UNJOINED, phrases_of
from pipeline.text.trees import leaves, parse_tree


def read(*words: str) -> tuple[str, str]:
    """The one coordination in brackets, and its label; the tree has it as well."""
    given = tree(conllu("s", *words))
    phrases = phrases_of(given)
    (only,) = phrases.coordinations
    assert not phrases.refused
    parsed = parse_tree(phrases.bracketing)
    assert tuple(leaves(parsed)) == given.forms
    assert ptb_coordinations(parsed) == [only]
    return bracketed(given.forms, only.conjuncts), only.label


def test_a_shared_subject_leaves_verb_phrases() -> None:
    """And one of its own makes clauses, whose auxiliary is not shared either."""
    assert read(
        "He he PRON 2 nsubj", f"ran run VERB 0 root {PAST}", "and and CCONJ 4 cc",
        f"jumped jump VERB 2 conj {PAST}",
    ) == ("He [ran] and [jumped]", "VP")  # fmt: skip
    assert read(
        "He he PRON 3 nsubj", "was be AUX 3 aux", f"taken take VERB 0 root {PAST}",
        "and and CCONJ 6 cc", "they they PRON 6 nsubj", f"left leave VERB 3 conj {PAST}",
    ) == ("[He was taken] and [they left]", "S")  # fmt: skip


FINITE = "VerbForm=Fin"


def test_a_finite_verb_shares_no_auxiliary() -> None:
    """Was tasty and came late; was built and remains; but an imperative beside one that has *do*."""
    assert read(
        "It it PRON 3 nsubj", "was be AUX 3 cop", "tasty tasty ADJ 0 root", "and and CCONJ 5 cc",
        f"came come VERB 3 conj {FINITE}", "late late ADV 5 advmod",
    ) == ("It [was tasty] and [came late]", "VP")  # fmt: skip
    assert read(
        "It it PRON 3 nsubj", "was be AUX 3 aux:pass", "built build VERB 0 root VerbForm=Part",
        "and and CCONJ 5 cc", f"stands stand VERB 3 conj {FINITE}",
    ) == ("It [was built] and [stands]", "VP")  # fmt: skip
    assert read(
        "Do do AUX 3 aux", "not not PART 3 advmod", f"sit sit VERB 0 root {FINITE}", "and and CCONJ 5 cc",
        f"argue argue VERB 3 conj {FINITE}",
    ) == ("Do [not sit] and [argue]", "VP")  # fmt: skip


def test_a_clause_beside_a_noun_that_is_said_of_something() -> None:
    """Determiner, copula and subject are the first's; a case is, where the noun is a clause's."""
    assert read(
        "You you PRON 4 nsubj", "are be AUX 4 cop", "a a DET 4 det", "person person NOUN 0 root",
        "and and CCONJ 7 cc", "you you PRON 7 nsubj", f"leave leave VERB 4 conj {FINITE}",
    ) == ("[You are a person] and [you leave]", "S")  # fmt: skip
    assert read(
        "They they PRON 4 nsubj", "are be AUX 4 cop", "at at ADP 4 case", "home home NOUN 0 root",
        "and and CCONJ 7 cc", "we we PRON 7 nsubj", f"left leave VERB 4 conj {FINITE}",
    ) == ("[They are at home] and [we left]", "S")  # fmt: skip
    assert read(
        "Hear hear VERB 0 root", "of of ADP 4 case", "the the DET 4 det", "fact fact NOUN 1 obl",
        "and and CCONJ 8 cc", "that that SCONJ 8 mark", "we we PRON 8 nsubj",
        f"left leave VERB 4 conj {FINITE}",
    ) == ("Hear of [the fact] and [that we left]", "NP")  # fmt: skip


def test_clauses_share_a_marker() -> None:
    """Else the second would hang on the verb above."""
    rain = (
        "Left leave VERB 0 root", "because because SCONJ 4 mark", "it it PRON 4 nsubj",
        f"rained rain VERB 1 advcl {FINITE}", "and and CCONJ {0} cc",
    )  # fmt: skip
    slept = ("she she PRON {0} nsubj", f"slept sleep VERB 4 conj {FINITE}")
    assert read(*(each.format(7) for each in (*rain, *slept))) == (
        "Left because [it rained] and [she slept]", "S",
    )  # fmt: skip
    second = (*rain, "since since SCONJ {0} mark", *slept)
    assert read(*(each.format(8) for each in second)) == (
        "Left [because it rained] and [since she slept]", "SBAR",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("deps", "said"),
    [
        ("_", ("[Mary won gold] and [Peter bronze]", "S")),
        ("2.1:nsubj", ("[Mary won gold] and [Peter bronze]", "S")),
        ("2.1:obj", ("Mary [won gold] and [Peter bronze]", "VP")),
    ],
)
def test_a_clause_without_its_verb_has_its_subject(deps: str, said: tuple[str, str]) -> None:
    """What stands for the verb is its subject, unless the enhanced layer calls it something else."""
    assert said == read(
        "Mary Mary PROPN 2 nsubj", f"won win VERB 0 root {PAST}", "gold gold NOUN 2 obj",
        "and and CCONJ 5 cc", f"Peter Peter PROPN 2 conj _ _ {deps}", "bronze bronze NOUN 5 orphan",
    )  # fmt: skip


def test_a_bracket_whose_partner_is_inside_stays() -> None:
    """One around a whole conjunct does not."""
    sides = ("novels novel NOUN {0} appos", ") ) PUNCT {1} punct", "and and CCONJ {2} cc")
    inside = ("books book NOUN 0 root", "( ( PUNCT 3 punct", *sides, "films film NOUN 1 conj")
    assert read(*(each.format(1, 3, 6) for each in inside))[0] == "[books ( novels )] and [films]"
    around = (
        "( ( PUNCT 2 punct",
        "books book NOUN 0 root",
        ") ) PUNCT 2 punct",
        "and and CCONJ 5 cc",
    )
    assert read(*around, "films film NOUN 2 conj")[0] == "( [books] ) and [films]"


def test_a_shared_auxiliary_stays_outside() -> None:
    """With an object behind the other, which is the other's."""
    assert read(
        "She she PRON 3 nsubj", "has have AUX 3 aux", f"eaten eat VERB 0 root {PAST}",
        "or or CCONJ 5 cc", f"drunk drink VERB 3 conj {PAST}", "it it PRON 5 obj",
    ) == ("She has [eaten] or [drunk it]", "VP")  # fmt: skip


def test_a_case_is_shared_unless_there_are_two() -> None:
    """In France and Spain; in France and in Spain."""
    assert read(
        "Live live VERB 0 root", "in in ADP 3 case", "France France PROPN 1 obl",
        "and and CCONJ 5 cc", "Spain Spain PROPN 3 conj",
    ) == ("Live in [France] and [Spain]", "NP")  # fmt: skip
    assert read(
        "Live live VERB 0 root", "in in ADP 3 case", "France France PROPN 1 obl",
        "and and CCONJ 6 cc", "in in ADP 6 case", "Spain Spain PROPN 3 conj",
    ) == ("Live [in France] and [in Spain]", "PP")  # fmt: skip


def test_what_nouns_have_before_them() -> None:
    """Shared where the second has nothing; lists of three; a coordinator on the first conjunct."""
    men = ("The the DET 3 det", "old old ADJ 3 amod", "men man NOUN 0 root")
    assert read(*men, "and and CCONJ 5 cc", "women woman NOUN 3 conj") == (
        "The old [men] and [women]", "NP",
    )  # fmt: skip
    assert read(*men, "and and CCONJ 6 cc", "their their PRON 6 nmod:poss", "wives wife NOUN 3 conj") == (
        "[The old men] and [their wives]", "NP",
    )  # fmt: skip
    assert read(
        *men, ", , PUNCT 5 punct", "women woman NOUN 3 conj", ", , PUNCT 8 punct", "and and CCONJ 3 cc",
        "dogs dog NOUN 3 conj",
    ) == ("The old [men] , [women] , and [dogs]", "NP")  # fmt: skip


def test_the_enhanced_layer_says_what_is_shared() -> None:
    """An adverb, which else is the first verb's own."""
    verbs = (
        "He he PRON 3 nsubj", "often often ADV 3 advmod _ _ {}", "ran run VERB 0 root",
        "and and CCONJ 5 cc", "jumped jump VERB 3 conj",
    )  # fmt: skip
    for deps, said in (("3:advmod", "[often ran]"), ("3:advmod|5:advmod", "often [ran]")):
        assert read(*(word.format(deps) for word in verbs))[0] == f"He {said} and [jumped]"


def test_a_structure_inside_a_conjunct() -> None:
    """Each has its own coordinator; both are in the tree."""
    given = tree(
        conllu(
            "s", "tea tea NOUN 0 root", "and and CCONJ 3 cc", "milk milk NOUN 1 conj",
            "or or CCONJ 5 cc", "honey honey NOUN 3 conj",
        )
    )  # fmt: skip
    outer, inner = phrases_of(given).coordinations
    assert bracketed(given.forms, outer.conjuncts) == "[tea] and [milk or honey]"
    assert bracketed(given.forms, inner.conjuncts) == "tea and [milk] or [honey]"
    assert ptb_coordinations(parse_tree(phrases_of(given).bracketing)) == [outer, inner]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("tea tea NOUN 0 root", ", , PUNCT 3 punct", "milk milk NOUN 1 conj"), UNJOINED),
        (
            ("tea tea NOUN 0 root", "as as ADV 5 cc", "well well ADV 2 fixed", "as as ADP 2 fixed",
             "milk milk NOUN 1 conj"),
            SEVERAL,
        ),
        (
            # The second conjunct's dependent stands within the first.
            ("old old ADJ 5 amod", "tea tea NOUN 0 root", "and and CCONJ 5 cc", "so so ADV 2 advmod",
             "milk milk NOUN 2 conj"),
            SPLIT,
        ),
        (("and and CCONJ 3 cc", "tea tea NOUN 0 root", "milk milk NOUN 2 conj"), APART),
    ],
)  # fmt: skip
def test_what_is_no_coordination_has_a_reason(words: tuple[str, ...], reason: str) -> None:
    """And the words have a tree all the same."""
    given = tree(conllu("s", *words))
    phrases = phrases_of(given)
    assert dict(phrases.refused) == {reason: 1}
    assert phrases.coordinations == ()
    assert tuple(leaves(parse_tree(phrases.bracketing))) == given.forms


def test_brackets_and_labels_of_a_sentence() -> None:
    """A subject, a prepositional phrase with its noun phrase, a subordinate clause."""
    given = tree(
        conllu(
            "s", "She she PRON 2 nsubj", f"sang sing VERB 0 root {PAST}", "in in ADP 5 case",
            "the the DET 5 det", "rain rain NOUN 2 obl", "because because SCONJ 8 mark",
            "it it PRON 8 nsubj", f"fell fall VERB 2 advcl {PAST}", ". . PUNCT 2 punct",
        )
    )  # fmt: skip
    assert phrases_of(given).bracketing == (
        "(ROOT (S (NP (PRON She)) (VP (VERB sang) (PP (ADP in) (NP (DET the) (NOUN rain))) "
        "(SBAR (SCONJ because) (S (NP (PRON it)) (VP (VERB fell)))))) (. .))"
    )


def test_words_that_cross_leave_the_rest() -> None:
    """Of a sentence that no brackets can have whole, phrases that are one piece stay."""
    given = tree(
        conllu(
            "s", "A a DET 2 det", "hearing hearing NOUN 3 nsubj", f"came come VERB 0 root {PAST}",
            "on on ADP 6 case", "the the DET 6 det", "issue issue NOUN 2 nmod", "today today ADV 3 advmod",
        )
    )  # fmt: skip
    bracketing = phrases_of(given).bracketing
    assert "(PP (ADP on) (NP (DET the) (NOUN issue)))" in bracketing
    assert "hearing)))" not in bracketing
    assert tuple(leaves(parse_tree(bracketing))) == given.forms


def test_brackets_in_the_text_are_escaped() -> None:
    """And the tag of a coordinator is CC, whatever the treebank calls it."""
    given = tree(
        conllu(
            "s", "( ( PUNCT 2 punct", "tea tea NOUN 0 root", "& & SYM 4 cc", "milk milk NOUN 2 conj"
        )
    )
    phrases = phrases_of(given)
    assert "(-LRB- -LRB-)" in phrases.bracketing
    assert "(CC &)" in phrases.bracketing
    (only,) = phrases.coordinations
    assert isinstance(only, Coordination)
    assert only.word == "&"
