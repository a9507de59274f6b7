"""Coordinations put into dependency trees: heads, tokens, spaces, the enhanced layer, what is refused."""

from collections.abc import Sequence
from random import Random

import pytest
from treebank import conllu, tree

from pipeline.core.structures import laid_out
from pipeline.core.types import Coordination, Span, Structure
from pipeline.text.dependencies import DependencyTree, TreebankWord, edges, rows_of, tree_in
from pipeline.text.dependency_phrases import SPLIT
from pipeline.text.dependency_splicing import (
    CUT,
    EMPTY_NODE,
    ENHANCED,
    HEADS,
    NO_NOUN,
    Graft,
    LinkingWords,
    learned_linking,
    require_read_back,
    spliced_dependencies,
)
from pipeline.text.splicing import (
    OTHER_CONJUNCTS,
    OTHER_FILLS,
    OTHER_WORDS,
    STRANGE_WORDS,
    NoTree,
)

CATS = tree(conllu(
    "cats",
    "The the DET 2 det", "cat cat NOUN 3 nsubj", "saw see VERB 0 root", "dogs dog NOUN 3 obj",
    "in in ADP 6 case", "France France PROPN 3 obl _ SpaceAfter=No 3:obl:in", ". . PUNCT 3 punct",
))  # fmt: skip
BIRDS = tree(conllu(
    "birds",
    "We we PRON 2 nsubj", "fed feed VERB 0 root", "small small ADJ 4 amod", "birds bird NOUN 2 obj",
    "on on ADP 6 case", "Mondays Monday PROPN 2 obl _ SpaceAfter=No 2:obl:on", "! ! PUNCT 2 punct",
))  # fmt: skip
FROGS = tree(
    conllu("frogs", "Big big ADJ 2 amod", "frogs frog NOUN 3 nsubj", "ran run VERB 0 root")
)
LINKING = learned_linking(
    [
        "3\tand\tand\tCCONJ\tCC\t_\t4\tcc\t_\t_",
        "1\tit\tit\tPRON\tPRP\t_\t4\tobl\t4:obl:on\t_",
        "3\tAnd\t&\tSYM\tX\t_\t4\tcc\t_\t_\n4\tand\tand\tCCONJ\tCC\t_\t5\tcc\t_\t_",
        "2\t,\t,\tPUNCT\t,\t_\t4\tpunct\t_\t_\n1\tboth\tboth\tCCONJ\tPRE\t_\t2\tcc:preconj\t_\t_",
    ]
)


def put(
    source: tuple[DependencyTree, int, int],
    *fills: tuple[DependencyTree, int, int],
    structure: Structure | None = None,
    label: str = "NP",
    linking: LinkingWords = LINKING,
) -> tuple[DependencyTree, Coordination]:
    """The tree of what ``generate`` would make of spans, and its coordination; ends are word indices."""
    tree_, start, end = source
    pieces = [each.forms[a:b] for each, a, b in (source, *fills)]
    laid = laid_out(structure or Structure("and"), pieces, start)
    words = (*tree_.forms[:start], *laid.words, *tree_.forms[end:])
    made = Coordination(laid.coordinator, words[laid.coordinator], label, laid.conjuncts)
    grafts = [Graft(each, Span(a, b)) for each, a, b in fills]
    found = spliced_dependencies(Graft(tree_, Span(start, end)), grafts, words, made, linking)
    require_read_back(found, words, made)
    return found, made


def shown(tree_: DependencyTree) -> list[str]:
    """Form, head and relation of each word."""
    return [f"{w.form} {w.head} {w.deprel}" for w in tree_.words]


def test_a_fill_hangs_on_the_reference_and_the_coordinator_on_the_fill() -> None:
    """Words are numbered anew, spaces are those of the text, and what stood there is as it was."""
    found, _ = put((CATS, 3, 4), (BIRDS, 2, 4))
    assert shown(found) == [
        "The 2 det", "cat 3 nsubj", "saw 0 root", "dogs 3 obj", "and 7 cc", "small 7 amod",
        "birds 4 conj", "in 9 case", "France 3 obl", ". 3 punct",
    ]  # fmt: skip
    assert found.text == "The cat saw dogs and small birds in France."
    assert found.word(5).line == "5\tand\tand\tCCONJ\tCC\t_\t7\tcc\t7:cc\t_"
    assert [w.deps for w in found.words] == [
        "2:det", "3:nsubj", "0:root", "3:obj", "7:cc", "7:amod", "3:obj|4:conj:and", "9:case",
        "3:obl:in", "3:punct",
    ]  # fmt: skip


def test_a_coordinator_hangs_where_the_treebanks_do() -> None:
    """Where most stand behind their head it is the first conjunct, for two and for more; commas stay."""
    behind, ahead = "2\tand\tand\tCCONJ\t_\t_\t1\tcc\t_\t_", "1\tor\tor\tCCONJ\t_\t_\t2\tcc\t_\t_"
    older = learned_linking([behind, ahead, behind])
    found, _ = put((CATS, 3, 4), (BIRDS, 2, 4), linking=older)
    assert shown(found)[3:7] == ["dogs 3 obj", "and 4 cc", "small 7 amod", "birds 4 conj"]
    assert found.word(5).deps == "4:cc"
    three = Structure("and", conjuncts=3, comma=True)
    found, _ = put((CATS, 3, 4), (BIRDS, 2, 4), (FROGS, 0, 2), structure=three, linking=older)
    assert shown(found)[3:11] == [
        "dogs 3 obj", ", 7 punct", "small 7 amod", "birds 4 conj", ", 11 punct", "and 4 cc",
        "Big 11 amod", "frogs 4 conj",
    ]  # fmt: skip
    as_many, _ = put((CATS, 3, 4), (BIRDS, 2, 4), linking=learned_linking([behind, ahead]))
    assert as_many.word(5).head == 7


def test_of_several_fills_each_has_its_comma() -> None:
    """The coordinator and the comma before it are the last one's; *both* is the reference's."""
    three = Structure("and", preconjunction="both", conjuncts=3, comma=True)
    found, _ = put((CATS, 3, 4), (BIRDS, 2, 4), (FROGS, 0, 2), structure=three)
    assert shown(found)[3:12] == [
        "both 5 cc:preconj", "dogs 3 obj", ", 8 punct", "small 8 amod", "birds 5 conj", ", 12 punct",
        "and 12 cc", "Big 12 amod", "frogs 5 conj",
    ]  # fmt: skip
    assert found.text == "The cat saw both dogs, small birds, and Big frogs in France."
    assert found.word(4).xpos == "PRE"
    assert {found.word(n).deps for n in (8, 12)} == {"3:obj|5:conj:and"}


def test_a_fill_at_the_end_has_the_references_space() -> None:
    """What is written together with what follows stays so."""
    found, _ = put((CATS, 5, 6), (BIRDS, 5, 6))
    assert found.text == "The cat saw dogs in France and Mondays."
    # Without a case of its own it has the reference's, which is shared.
    assert found.word(8).deps == "3:obl:in|6:conj:and"


def test_a_case_of_its_own_names_the_enhanced_relation() -> None:
    """Though the reference is *in* something, the fill is *on* something, as the treebank has it."""
    found, _ = put((CATS, 4, 6), (BIRDS, 4, 6), label="PP")
    assert found.word(9).deps == "3:obl:on|6:conj:and"
    found, _ = put((BIRDS, 4, 6), (CATS, 4, 6), label="PP")
    assert found.word(9).deps == "2:obl:on|6:conj:and"


def test_a_subject_on_the_left_is_the_fills_too() -> None:
    """In the enhanced layer, as the passive's if the fill is one; not if that has one of its own."""
    found, _ = put((CATS, 2, 6), (BIRDS, 1, 4), label="VP")
    assert found.text == "The cat saw dogs in France and fed small birds."
    assert found.word(2).deps == "3:nsubj|8:nsubj"
    assert found.word(8).deps == "3:conj:and"  # the root's relation to nothing is not shared
    eaten = tree(conllu(
        "eaten", "They they PRON 3 nsubj:pass", "were be AUX 3 aux:pass", "eaten eat VERB 0 root",
    ))  # fmt: skip
    passive, _ = put((CATS, 2, 6), (eaten, 1, 3), label="VP")
    assert passive.word(2).deps == "3:nsubj|9:nsubj:pass"
    whole, _ = put((CATS, 0, 6), (eaten, 0, 3), label="S")
    assert whole.word(2).deps == "3:nsubj"
    shared, _ = put((eaten, 2, 3), (BIRDS, 1, 2), label="VP")
    assert shared.word(1).deps == "3:nsubj:pass|5:nsubj:pass"


def test_the_subject_of_a_controlled_verb_is_the_fills_too() -> None:
    """Though it does not hang on that verb in the basic tree."""
    wants = tree(conllu(
        "wants", "She she PRON 2 nsubj _ _ 2:nsubj|4:nsubj:xsubj", "wants want VERB 0 root",
        "to to PART 4 mark", "sleep sleep VERB 2 xcomp",
    ))  # fmt: skip
    found, _ = put((wants, 3, 4), (BIRDS, 1, 4), label="VP")
    assert found.word(1).deps == "2:nsubj|4:nsubj:xsubj|6:nsubj:xsubj"
    assert found.word(6).deps == "2:xcomp|4:conj:and"


def test_a_mark_behind_the_reference_stays_projective() -> None:
    """A closing quote that hangs on a word in the reference hangs on its head then."""
    quoted = tree(conllu(
        "quoted", "see see VERB 0 root", "' ' PUNCT 3 punct", "red red ADJ 4 amod", "birds bird NOUN 1 obj",
        "of of ADP 6 case", "Ireland Ireland PROPN 4 nmod _ SpaceAfter=No 4:nmod:of", "' ' PUNCT 6 punct",
    ))  # fmt: skip
    found, _ = put((quoted, 3, 6), (FROGS, 1, 2))
    assert shown(found)[-1] == "' 4 punct"
    assert found.word(9).deps == "4:punct"


def relative(name: str, *clause: str, noun: str) -> DependencyTree:
    """Men with a relative clause; what they are to it is named, for the enhanced layer."""
    return tree(conllu(name, f"men man NOUN 0 root _ _ 0:root|{noun}", *clause))


def test_a_relative_clause_has_the_references_noun() -> None:
    """Its pronoun refers to that; beside anything else it would refer to nothing."""
    run = relative(
        "run", "who who PRON 3 nsubj _ _ 1:ref", "run run VERB 1 acl:relcl", noun="3:nsubj"
    )
    met = relative(
        "met", "whom who PRON 4 obj _ _ 1:ref", "we we PRON 4 nsubj", "met meet VERB 1 acl:relcl",
        noun="4:obj",
    )  # fmt: skip
    found, _ = put((run, 1, 3), (met, 1, 4), label="S")
    assert [w.deps for w in found.words] == [
        "0:root|3:nsubj|7:obj", "1:ref", "1:acl:relcl", "7:cc", "1:ref", "7:nsubj",
        "1:acl:relcl|3:conj:and",
    ]  # fmt: skip
    shared, _ = put((run, 2, 3), (BIRDS, 1, 4), label="VP")
    assert shared.word(1).deps == "0:root|3:nsubj|5:nsubj"
    with pytest.raises(NoTree, match=NO_NOUN):
        put((CATS, 0, 6), (met, 1, 4), label="S")


MANY = tree(conllu(
    "many", "He he PRON 2 nsubj", "saw see VERB 0 root", "3-4\tit's" + "\t_" * 8,
    "it it PRON 2 obj", "'s 's PART 3 case", "old old ADJ 6 amod", "dogs dog NOUN 2 obj",
))  # fmt: skip


def test_multiword_tokens_are_kept_and_none_is_cut() -> None:
    """In the source, in the donor, around the reference and in it."""
    found, _ = put((MANY, 4, 6), (BIRDS, 2, 4))
    assert [(t.first, t.last, t.form) for t in found.tokens] == [(3, 4, "it's")]
    inside, _ = put((CATS, 3, 4), (MANY, 2, 4))
    assert [(t.first, t.last, t.form) for t in inside.tokens] == [(6, 7, "it's")]
    assert inside.text == "The cat saw dogs and it's in France."
    last, _ = put((tree(conllu("x", *TOKEN)), 1, 3), (BIRDS, 2, 4))
    assert last.text == "See it's and small birds!"
    for start, end in ((1, 3), (2, 3), (3, 4)):
        with pytest.raises(NoTree, match=CUT):
            put((MANY, start, end), (BIRDS, 2, 4))
    with pytest.raises(NoTree, match=CUT):
        put((CATS, 3, 4), (MANY, 2, 3))


TOKEN = (
    "See see VERB 0 root", "2-3\tit's" + "\t_" * 7 + "\tSpaceAfter=No", "it it PRON 1 obj",
    "'s 's PART 2 case", "! ! PUNCT 1 punct",
)  # fmt: skip

GONE = tree(conllu(
    "gone", "Mary Mary PROPN 2 nsubj", "won win VERB 0 root", "old old ADJ 4 amod", "gold gold NOUN 2 obj",
    "and and CCONJ 6 cc", "Peter Peter PROPN 2 conj _ _ 6.1:nsubj",
    "6.1\twon\twin\tVERB\t_\t_\t_\t_\t2:conj:and\tCopyOf=2", "bronze bronze NOUN 6 orphan _ _ 6.1:obj",
))  # fmt: skip


def test_empty_nodes_of_the_source_are_kept_and_renumbered() -> None:
    """With what refers to them; a donor that has one inside is refused."""
    found, _ = put((GONE, 2, 4), (BIRDS, 2, 4))
    assert [(e.node, e.columns[-2:]) for e in found.empty] == [((9, 1), ("2:conj:and", "CopyOf=2"))]
    assert [w.deps for w in found.words[8:]] == ["9.1:nsubj", "9.1:obj"]
    with pytest.raises(NoTree, match=EMPTY_NODE):
        put((CATS, 3, 4), (GONE, 1, 7))
    # What stands behind the donor's last word is none of its own; nor is what only such a node has.
    odd = tree(conllu(
        "odd", "old old ADJ 2 amod _ _ 2.1:amod", "dogs dog NOUN 0 root",
        "2.1\tran\trun\tVERB\t_\t_\t_\t_\t2:conj\t_",
    ))  # fmt: skip
    with pytest.raises(NoTree, match=ENHANCED):
        put((CATS, 3, 4), (odd, 0, 2))


def test_an_orphan_has_the_relation_of_what_is_left_out() -> None:
    """Its fill is no other thing to the empty node."""
    found, _ = put((GONE, 6, 7), (BIRDS, 2, 4))
    assert found.word(10).deps == "6.1:obj|7:conj:and"


def test_without_an_enhanced_layer_there_is_none() -> None:
    """Of a source or a donor; and then no empty nodes."""
    plain = tree(
        conllu("plain", "small small ADJ 2 amod", "birds bird NOUN 0 root", enhanced=False)
    )
    found, _ = put((GONE, 2, 4), (plain, 0, 2))
    assert {w.deps for w in found.words} == {"_"}
    assert found.empty == ()


def test_the_coordinator_names_the_conjunct() -> None:
    """By its letters; one of none has no name."""
    for word, name in (("or", "conj:or"), ("and/or", "conj:and_or"), ("&", "conj")):
        found, _ = put((CATS, 3, 4), (BIRDS, 2, 4), structure=Structure(word))
        assert found.word(7).deps == f"3:obj|4:{name}"
        assert found.word(5).lemma == word


def test_words_are_as_the_candidate_has_them() -> None:
    """Case may differ, nothing else; inside a multiword token not even that."""
    words = ("The", "cat", "saw", "dogs", "and", "Small", "birds", "in", "France", ".")
    made = Coordination(4, "and", "NP", (Span(3, 4), Span(5, 7)))
    source, fill = Graft(CATS, Span(3, 4)), Graft(BIRDS, Span(2, 4))
    found = spliced_dependencies(source, [fill], words, made, LINKING)
    assert (found.word(6).form, found.word(6).lemma) == ("Small", "small")

    def refused(other: Sequence[str], coordination: Coordination = made, *fills: Graft) -> str:
        with pytest.raises(NoTree) as error:
            spliced_dependencies(source, fills or [fill], other, coordination, LINKING)
        return str(error.value)

    assert refused([*words[:5], "tall", *words[6:]]) == OTHER_WORDS
    assert refused(words[:-1]) == OTHER_WORDS
    assert refused(words, made, fill, fill) == OTHER_FILLS
    moved = Coordination(4, "and", "NP", (Span(3, 4), Span(6, 8)))
    assert refused([*words[:5], "x", *words[5:]], moved) == STRANGE_WORDS
    token = Coordination(4, "and", "NP", (Span(3, 4), Span(5, 7)))
    other = [*words[:5], "It", "'s", *words[7:]]
    assert refused(other, token, Graft(MANY, Span(2, 4))) == OTHER_WORDS


def test_what_is_no_phrase_is_refused() -> None:
    """Neither as reference nor as fill; nor what the reader takes for other conjuncts."""
    with pytest.raises(NoTree, match=HEADS):
        put((CATS, 3, 6), (BIRDS, 2, 4))
    # The article is taken for that of both.
    with pytest.raises(NoTree, match=OTHER_CONJUNCTS):
        put((CATS, 0, 2), (FROGS, 1, 2))
    split = tree(conllu(
        "split", "old old ADJ 5 amod", "tea tea NOUN 0 root", "and and CCONJ 5 cc", "so so ADV 2 advmod",
        "milk milk NOUN 2 conj", "here here ADV 2 advmod", "now now ADV 6 advmod",
    ))  # fmt: skip
    with pytest.raises(NoTree, match=SPLIT):
        put((split, 6, 7), (BIRDS, 5, 6))


def test_the_usual_columns_of_a_word_do_not_depend_on_the_order() -> None:
    """Of two as frequent ones the first by name; of a word that is not there its form."""
    one, two = (f"1\tand\t{lemma}\tCCONJ\tCC\t_\t2\tcc\t_\t_" for lemma in "ab")
    assert learned_linking([one, two]).word("And", "cc") == learned_linking([two, one]).word(
        "And", "cc"
    )
    assert learned_linking([one, two]).word("and", "cc").lemma == "a"
    unknown = LinkingWords().word("Nor", "cc")
    assert (unknown.form, unknown.lemma, unknown.upos, unknown.xpos) == ("Nor", "nor", "CCONJ", "_")


def random_tree(random: Random, name: str) -> DependencyTree:
    """A projective tree: each span has a head, and what is on either side of it is divided likewise."""
    count = random.randint(2, 9)
    heads = [0] * count

    def hang(start: int, end: int, above: int) -> None:
        while start < end:
            cut = random.randint(start + 1, end)
            head = random.randrange(start, cut)
            heads[head] = above
            hang(start, head, head + 1)
            hang(head + 1, cut, head + 1)
            start = cut

    top = random.randrange(count)
    hang(0, top, top + 1)
    hang(top + 1, count, top + 1)
    kinds = ("obj", "advmod", "amod", "nmod", "nsubj")
    words = tuple(
        TreebankWord(n, f"{name}{n}", f"{name}{n}", "NOUN", "NN", "_", head, "root", f"{head}:root", "_")
        if not head
        else TreebankWord(
            n, f"{name}{n}", f"{name}{n}", "NOUN", "NN", "_", head, kind, f"{head}:{kind}",
            random.choice(("_", "SpaceAfter=No")),
        )
        for n, head in enumerate(heads, 1)
        for kind in [random.choice(kinds)]
    )  # fmt: skip
    return DependencyTree(words)


def subtree(tree_: DependencyTree, random: Random) -> tuple[DependencyTree, int, int]:
    """A word with all below it, which is one piece."""
    own = tree_.subtree(random.randint(1, len(tree_.words)))
    return tree_, min(own) - 1, max(own)


def test_random_trees_stay_trees() -> None:
    """One root, no circle, everything below its head as before; and the lines can be read again."""
    random = Random(0)
    made = read = 0
    for _ in range(300):
        source = subtree(random_tree(random, "s"), random)
        fills = [subtree(random_tree(random, f"f{n}"), random) for n in range(random.randint(1, 3))]
        structure = Structure("and", conjuncts=len(fills) + 1, comma=len(fills) > 1)
        pieces = [each.forms[a:b] for each, a, b in (source, *fills)]
        laid = laid_out(structure, pieces, source[1])
        words = (*source[0].forms[: source[1]], *laid.words, *source[0].forms[source[2] :])
        coordination = Coordination(laid.coordinator, "and", "NP", laid.conjuncts)
        grafts = [Graft(each, Span(a, b)) for each, a, b in fills]
        graft = Graft(source[0], Span(*source[1:]))
        found = spliced_dependencies(graft, grafts, words, coordination, LINKING)
        assert tree_in(rows_of(found), "again").words == found.words  # one root, no circle
        made += 1
        tops = []
        for span, (own, a, b) in zip(coordination.conjuncts, (source, *fills), strict=True):
            inside = found.words[span.start : span.end]
            assert [w.lemma for w in inside] == [w.lemma for w in own.words[a:b]]
            top = [w for w in inside if not span.start < w.head <= span.end]
            assert len(top) == 1
            tops.append(top[0])
            for new, old in zip(inside, own.words[a:b], strict=True):
                if new is not top[0]:
                    assert (new.head - span.start, new.deprel) == (old.head - a, old.deprel)
        first, *others = tops
        assert {(w.head, w.deprel) for w in others} == {(first.number, "conj")}
        and_ = found.word(coordination.coordinator + 1)
        assert (and_.head, and_.deprel) == (others[-1].number, "cc")
        commas = [w for w in found.words if w.form == ","]
        assert {w.head for w in commas} <= {w.number for w in others}
        for word in found.words:
            assert all(head[0] <= len(words) for head, _ in edges(word.deps) or [((999, 0), "")])
        try:
            require_read_back(found, words, coordination)
            read += 1
        except NoTree:
            continue
    assert (made, read > 150) == (300, True)
