"""The world's causal graph: its oracle, text that errs in a third of its sentences, and questions."""

from collections import Counter, defaultdict
from pathlib import Path

import pytest
from nltk.stem.snowball import SnowballStemmer

from pipeline.text.trees import leaves, parse_tree
from pipeline.world import contingency, generate_questions, generate_text
from pipeline.world.contingency import brings_about
from pipeline.world.lexicon import load_lexicon

SOURCE = Path(__file__).resolve().parents[2] / "data" / "raw" / "world"


def clauses(tree: str) -> tuple[list[str], list[str]] | None:
    """The words of cause and effect of a sentence of two clauses, told from its tree; None of others."""
    whole = parse_tree(tree)[0]
    inner = list(whole.subtrees(lambda node: node.label() == "SBAR"))
    if len(inner) > 1:
        return None
    if inner:
        former = list(inner[0][1].leaves())
        rest = [word for word in whole.leaves() if word not in {",", "."}]
        subordinate = inner[0].leaves()
        start = 0 if rest[: len(subordinate)] == subordinate else len(rest) - len(subordinate)
        return former, rest[:start] + rest[start + len(subordinate) :]
    return list(whole[0].leaves()), list(whole[3].leaves())


def test_gold_trees_are_those_of_the_words() -> None:
    """Words, tags and trees agree; all connectives stand in both orders, one only between."""
    found = set()
    for sentence in generate_text(SOURCE, 400, 0):
        tree = parse_tree(sentence.tree or "")
        assert tuple(leaves(tree)) == sentence.words
        assert tuple(tag for _, tag in tree.pos()) == sentence.tags
        assert sentence.split == "train"
        assert sentence.words[0][0].isupper()
        lower = [word.lower() for word in sentence.words]
        found |= {
            (word, lower.index(word) == 0) for word in contingency._CONNECTIVES if word in lower
        }
    both = {(word, first) for word in ("because", "since", "if", "when") for first in (True, False)}
    assert found == both | {("so", False)}


def test_a_third_of_the_text_errs_and_what_is_frequent_is_truer() -> None:
    """By the oracle; pronouns and rare things are signs of error; some sentences are of no use."""
    sentences = list(generate_text(SOURCE, 4000, 1))
    verdicts: dict[str, list[bool]] = defaultdict(list)
    for sentence in sentences:
        assert sentence.tree is not None
        pair = clauses(sentence.tree)
        demonstrative = {"this", "these", "This", "These"} & set(sentence.words)
        verdicts["demonstrative" if demonstrative else "plain"].append(True)
        if pair is None:
            verdicts["three clauses"].append(False)
            continue
        true = brings_about(*pair)
        verdicts["all"].append(true)
        nouns = contingency._THINGS[contingency._KIND_OF[pair[0][-1]]]
        verdicts["frequent" if pair[0][-1] in nouns[:3] else "rare"].append(true)
        verdicts["pronoun" if {"it", "they"} & set(pair[1]) else "named"].append(true)
    share = {name: sum(own) / len(own) for name, own in verdicts.items()}
    assert share["all"] == pytest.approx(2 / 3, abs=0.03)
    assert share["rare"] < 0.3
    assert share["frequent"] > 0.9
    assert share["pronoun"] < share["named"] - 0.2
    for some in ("three clauses", "demonstrative", "pronoun", "rare"):
        assert 0.02 < len(verdicts[some]) / len(sentences) < 0.5


def test_the_oracle_and_the_questions_agree() -> None:
    """One choice of four is right, at any place; another at least is about the same thing."""
    questions = list(generate_questions(SOURCE, 3000, 0))
    for question in questions:
        context = question.context.split()
        right = [brings_about(context, choice.split()) for choice in question.choices]
        assert right.count(True) == 1
        assert right[question.answer]
        assert len(set(question.choices)) == 4
        told = [choice for choice in question.choices if choice.split()[1] == context[-1]]
        assert len(told) in (2, 4)
    places = Counter(question.answer for question in questions)
    assert min(places.values()) > 650
    # A few hundred do not show what each action brings about with each thing, thousands do.
    few, many = (
        len({question.events for question in part}) for part in (questions[:300], questions)
    )
    assert few < 250
    assert many > 500


def test_no_event_pair_of_a_question_is_in_two_splits() -> None:
    """Eight parts, one and one; questions of one pair are drawn together."""
    questions = list(generate_questions(SOURCE, 3000, 0))
    splits: dict[str | None, set[str]] = defaultdict(set)
    for question in questions:
        splits[question.events].add(question.split)
        splits[question.doc_id].add(question.split)
    assert all(len(own) == 1 for own in splits.values())
    counts = Counter(question.split for question in questions)
    assert counts["train"] > 2200
    assert min(counts["dev"], counts["test"]) > 200


def test_a_larger_world_begins_with_the_smaller_one() -> None:
    """Each sentence and question depends on seed and number alone."""
    some = list(generate_text(SOURCE, 9, 0))
    assert list(generate_text(SOURCE, 5, 0)) == some[:5]
    assert list(generate_text(SOURCE, 4, 0, first=5)) == some[5:]
    assert list(generate_text(SOURCE, 9, 1)) != some
    asked = list(generate_questions(SOURCE, 9, 0))
    assert list(generate_questions(SOURCE, 5, 0)) == asked[:5]


def test_the_words_are_the_lexicons_and_a_verb_has_one_stem() -> None:
    """Things are nouns of the class that the lexicon has, in a number that their endings show."""
    lexicon = load_lexicon(SOURCE / "lexicon.yaml")
    for kind, nouns in contingency._THINGS.items():
        own = lexicon.nouns[kind]
        assert set(nouns) <= {word.lemma for word in own} | {word.plural for word in own}
        assert {noun for noun in nouns if noun.endswith("s")} <= {word.plural for word in own}
    stem = SnowballStemmer("english").stem
    verbs = [verb for action, own in contingency._EFFECTS_OF.items() for verb in (action, *own)]
    assert all(len({stem(form) for form in verb.forms}) == 1 for verb in verbs)
    assert len({stem(verb.base) for verb in verbs}) == len(verbs)
    assert all(len(own) == 8 for own in contingency._THINGS.values())


def test_what_the_oracle_says() -> None:
    """Of the same thing, by a noun or its pronoun, in any tense, with the connective or without."""
    effect = contingency._GRAPH[contingency._ACTION_OF["drop"], "container"]
    other = contingency._GRAPH[contingency._ACTION_OF["wash"], "container"]
    for former in ("the baker dropped the jar", "because the tired baker drops the jar"):
        for latter, right in (
            (f"the jar {effect.past}", True), (f"The jar {effect.singular}", True),
            (f"it {effect.past}", True), (f"this jar {effect.past}", True), (f"they {effect.past}", False),
            (f"the box {effect.past}", False), (f"the jar {other.past}", False), ("the jar sang", False),
            (effect.past, False), ("", False), (f"the baker said it {effect.past}", False),
        ):  # fmt: skip
            assert brings_about(former.split(), latter.split()) == right, (former, latter)
    assert (
        brings_about(["the", "baker", "dropped", "the", "barrel"], f"they {effect.past}".split())
        is False
    )
    for none in (
        "",
        "because",
        "the sun rose",
        "the baker saw the jar",
        "the baker dropped the moon",
    ):
        assert not brings_about(none.split(), f"the jar {effect.past}".split())
