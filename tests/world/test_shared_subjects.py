"""The world's predicates: arguments that stand where they should, zeros by construction."""

from pathlib import Path

from pipeline.core.predicates import ROLES
from pipeline.text.coarse_tags import COARSE
from pipeline.world import generate_clauses

RAW = Path(__file__).resolve().parents[2] / "data/raw/world"


def test_a_shared_subject_is_a_zero() -> None:
    """Of the second verb, and of no other: it stands before the first, and nothing ties the two."""
    made = list(generate_clauses(RAW, 300, 0))
    zeros = 0
    tags = {tag for group in COARSE.values() for tag in group}
    for sentence, predicates in made:
        first, second = predicates
        assert sentence.tags is not None
        assert set(sentence.tags) <= tags
        subjects = sentence.words[first.predicate + 1 : second.predicate].index("and")
        own = {argument.role: argument for argument in second.arguments}
        shared = sentence.tags[first.predicate + 2 + subjects] == "VBD"
        zeros += shared
        assert own["NOM"].kind == ("ZAR" if shared else "DEP")
        if shared:
            assert own["NOM"].fillers == first.arguments[0].fillers
        for predicate in predicates:
            assert sentence.tags[predicate.predicate] == "VBD"
            assert [a.role for a in predicate.arguments] == [
                role for role in ROLES if role in {a.role for a in predicate.arguments}
            ]
            for argument in predicate.arguments:
                (word,) = argument.fillers
                assert sentence.tags[word] == "NN"
                assert predicate.kind_of(word) == argument.kind
                assert (argument.role == "NOM") == (word < predicate.predicate)
    assert 0.5 < zeros / len(made) < 0.7


def test_sentences_depend_on_their_number_alone() -> None:
    """So that further ones can be made later."""
    every = list(generate_clauses(RAW, 20, 7))
    assert list(generate_clauses(RAW, 8, 7, first=12)) == every[12:]
    assert every != list(generate_clauses(RAW, 20, 8))
    assert {sentence.split for sentence, _ in every} == {"train", "dev", "test"}
