"""The pool of constituents: what it holds and offers, against all constituents counted by hand."""

import math
import os
import shutil
import signal
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.cache import cache_folder
from pipeline.core.corpus_folder import TREES_FOLDER, find_trees
from pipeline.core.errors import InputError
from pipeline.core.types import Attested, Reference, Sentence, Span
from pipeline.generate.infilling import inputs_of
from pipeline.infill import pool_building
from pipeline.infill.pool import _PATIENCE, Pool, _shuffled, open_pool
from pipeline.infill.pool_building import (
    CAPITAL,
    COORDINATED,
    NO_TAGS,
    NO_TOKENS,
    NO_TREE,
    PoolPlan,
    build_pool,
)
from pipeline.text.trees import constituents, leaves, parse_tree

SHAPES = [
    "(S1 (S (NP (DT the) (NN {a})) (VP (VBD saw) (NP (NP (DT a) (NN {b})) (PP (IN near) (NP (NNS {c})))))))",
    "(S1 (S (NP (NNS {a})) (VP (MD may) (VP (VB see) (NP (DT The) (NN {b})) (ADVP (RB today))))))",
    "(S1 (S (NP (NP (DT a) (NN {a})) (PP (IN of) (NP (NN {c})))) "
    "(VP (VBD -LRB-ran-RRB-) (PP (IN in) (NP (NN {b}))))))",
    "(S1 (S (NP (DT the) (NN {a}) (CC and) (NN {b})) (VP (VBD ran) (ADVP (RB today)))))",
    "(S1 (S (NP (NN blank)) (VP (VBD sold) (NP (DT the) (NN {c})))))",
]
NOUNS = ["dog", "man", "lamp", "harbor", "girl", "cat", "King", "[x]", "s\u00e9ance"]
LICENSES = ["CC0-1.0", "MIT", "CC-BY-4.0"]


def sentences(count: int = 60, *, tags: bool = True) -> list[Sentence]:
    """Sentences with trees, under three licences; without tags their trees say XX."""
    made = []
    for i in range(count):
        a, b, c = (NOUNS[(i * step + i // 9) % len(NOUNS)] for step in (1, 2, 5))
        tree = SHAPES[i % len(SHAPES)].format(a=a, b=b, c=c)
        found = parse_tree(tree)
        pos = tuple(tag for _, tag in found.pos())
        words = tuple(leaves(found))
        if not tags:
            for subtree in found.subtrees(lambda t: t.height() == 2):
                subtree.set_label("XX")
            tree = found.pformat(margin=10**9)
        made.append(
            Sentence(f"c/{i:02d}", "d", "train", words, pos, tree, (), LICENSES[i % len(LICENSES)])
        )
    return made


def letters(texts: Sequence[str]) -> list[list[int]]:
    """A token for each three letters; none for a text with "blank" in it."""
    return [[] if "blank" in t else [ord(t[k]) for k in range(0, len(t), 3)] for t in texts]


def plan(corpus: Path, **more: Any) -> PoolPlan:
    """Of a corpus folder's parsed trees."""
    trees = find_trees(corpus / TREES_FOLDER, corpus / "sentences.parquet")
    return PoolPlan(corpus, trees, inputs_of(corpus, "parsed"), letters, "letters", 512, **more)


def built(given: PoolPlan, folder: Path) -> Pool:
    folder.mkdir()
    build_pool(given, folder)
    return Pool(folder, given.facts)


def near(count: int, offered: Sequence[int]) -> Iterator[range]:
    """Lengths as a masked LM asks for them."""
    for length in sorted(offered, key=lambda each: (abs(each - count), each)):
        yield range(length, length + 1)


def anything(offered: Sequence[int]) -> Iterator[range]:
    yield range(1, 10**6)


def references(every: Sequence[Sentence]) -> list[Reference]:
    return [
        Reference(s.sentence_id, s.words, node.span, node.label, s.license)
        for s in every
        for node in constituents(parse_tree(s.tree or ""))
        if len(node.span) < len(s.words)
    ]


def by_hand(every: Sequence[Sentence]) -> dict[tuple[str, int], set[tuple[str, int, int]]]:
    """All that may be offered, by label and length in tokens."""
    found = defaultdict(set)
    for s in every:
        top: dict[Span, str] = {}
        for node in constituents(parse_tree(s.tree or "")):
            if len(node.span) < len(s.words):
                top.setdefault(node.span, node.label)
        for span, label in top.items():
            words = s.words[span.start : span.end]
            if "and" not in words and "blank" not in words and not _begins(span, words):
                # None of these words is spelt otherwise in natural text.
                size = math.ceil(len(" ".join(words)) / 3)
                found[label, size].add((s.sentence_id, span.start, span.end))
    return found


def _begins(span: Span, words: Sequence[str]) -> bool:
    """Whether a constituent has the capital of its sentence's beginning: *King* is no name in these trees."""
    return not span.start and words[0] == "King"


@pytest.fixture
def place(tmp_path: Path, write_trees: Callable[..., None]) -> Path:
    """A corpus folder with 60 sentences of U, and a cache of its own."""
    folder = tmp_path / "place"
    write_trees(folder, sentences(), size=13)
    return folder


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))


def shown(options: Sequence[Attested]) -> list[tuple[str, int, int]]:
    return [(o.donor.sentence_id, o.donor.start, o.donor.end) for o in options]


def test_what_is_offered_is_all_that_a_list_of_all_constituents_has(
    place: Path, tmp_path: Path
) -> None:
    """By label and length; not of the same sentence, not equal but for case; all if all are asked for."""
    every = sentences()
    words = {s.sentence_id: s.words for s in every}
    expected, pool = by_hand(every), built(plan(place), tmp_path / "pool")
    assert len(pool) == sum(map(len, expected.values()))
    assert pool.left_out == dict(sorted(_left_out(every).items()))
    tried = 0
    for reference in references(every):
        span = slice(reference.span.start, reference.span.end)
        own = tuple(word.lower() for word in reference.words[span])
        for size in {size for label, size in expected if label == reference.label}:
            choice = pool.draw(reference, lambda _, n=size: [range(n, n + 1)], 999, 3)  # type: ignore[misc]
            places = {
                each for each in expected[reference.label, size] if each[0] != reference.sentence_id
            }
            texts = {tuple(w.lower() for w in words[i][b:e]) for i, b, e in places} - {own}
            if choice is None:
                assert not texts
                continue
            tried += 1
            assert set(shown(choice.options)) <= places
            for option, tokens in zip(choice.options, choice.tokens, strict=True):
                donor = option.donor
                assert option.words == words[donor.sentence_id][donor.start : donor.end]
                assert tokens == tuple(letters([" ".join(option.words)])[0])
            drawn = [tuple(w.lower() for w in option.words) for option in choice.options]
            assert len(drawn) == len(set(drawn))
            assert set(drawn) == texts
    assert tried > 300


def _left_out(every: Sequence[Sentence]) -> Counter[str]:
    found = Counter[str]()
    for s in every:
        spans = {
            n.span for n in constituents(parse_tree(s.tree or "")) if len(n.span) < len(s.words)
        }
        for span in spans:
            words = s.words[span.start : span.end]
            coordinated, capital = "and" in words, _begins(span, words)
            found[COORDINATED] += coordinated
            found[CAPITAL] += capital and not coordinated
            found[NO_TOKENS] += "blank" in words and not capital and not coordinated
    return +found


def test_more_draws_begin_with_the_fewer(place: Path, tmp_path: Path) -> None:
    """M = 1 is the first of M = 16, whatever the size of what they are drawn from."""
    pool = built(plan(place), tmp_path / "pool")
    several = 0
    for reference in references(sentences()):
        for lengths in (partial(near, 4), anything):
            drawn = [pool.draw(reference, lengths, count, 5) for count in (1, 2, 16, 200)]
            options = [shown(each.options) if each else [] for each in drawn]
            assert all(len(each) <= n for each, n in zip(options, (1, 2, 16, 200), strict=True))
            for fewer, more in pairwise(options):
                assert more[: len(fewer)] == fewer
            several += len(options[-1]) > 16
    assert several > 100


def test_a_draw_depends_on_seed_sentence_and_span(place: Path, tmp_path: Path) -> None:
    """Another seed, sentence or span draws others; the same ones again the same."""
    pool = built(plan(place), tmp_path / "pool")
    words = ("the", "queen", "slept", "in", "a", "queen")
    one = Reference("x", words, Span(0, 2), "NP", "CC0-1.0")
    others = [replace(one, sentence_id="y"), replace(one, span=Span(4, 6))]

    def drawn(reference: Reference, seed: int) -> list[tuple[str, int, int]]:
        choice = pool.draw(reference, anything, 16, seed)
        assert choice is not None
        return shown(choice.options)

    assert drawn(one, 0) == drawn(replace(one), 0)
    assert (
        len(
            {tuple(each) for each in (drawn(one, 0), drawn(one, 1), *(drawn(o, 0) for o in others))}
        )
        == 4
    )


def test_every_order_is_as_likely() -> None:
    """A shuffle is a permutation, and over many keys each of six orders comes up as often."""
    counts = Counter(tuple(_shuffled(range(7, 10), str(key), 1)) for key in range(6000))
    assert len(counts) == 6
    assert all(880 < count < 1120 for count in counts.values())
    assert sorted(_shuffled(range(5, 805), "k", 3)) == list(range(5, 805))
    assert list(_shuffled(range(5, 805), "k", 3)) == list(_shuffled(range(5, 805), "k", 100))


def test_what_gives_nothing_new_is_given_up(
    tmp_path: Path, write_trees: Callable[..., None]
) -> None:
    """Of thousands of equal constituents one is offered, and not all are looked at."""
    tree = "(S1 (S (NP (DT the) (NN dog)) (VP (VBD ran))))"
    every = [
        Sentence(f"c/{i}", "d", "train", ("the", "dog", "ran"), None, tree, (), "CC0-1.0")
        for i in range(10 * _PATIENCE)
    ]
    write_trees(tmp_path / "many", every)
    pool = built(plan(tmp_path / "many"), tmp_path / "pool")
    reference = Reference("x", ("a", "cat", "ran"), Span(0, 2), "NP", "CC0-1.0")
    choice = pool.draw(reference, anything, 16, 0)
    assert choice is not None
    assert [option.words for option in choice.options] == [("the", "dog")]
    assert pool.draw(replace(reference, words=("The", "dog", "ran")), anything, 16, 0) is None


def test_the_licence_covers_source_and_donor(place: Path, tmp_path: Path) -> None:
    """Equal ones are named once."""
    pool, licenses = (
        built(plan(place), tmp_path / "pool"),
        {s.sentence_id: s.license for s in sentences()},
    )
    seen = set()
    for reference in references(sentences()):
        choice = pool.draw(reference, anything, 16, 0)
        for option in choice.options if choice else ():
            both = {reference.license, licenses[option.donor.sentence_id]}
            assert option.license == " AND ".join(sorted(both))
            seen.add(option.license)
    assert len(seen) == 6


def test_sentences_without_a_tree_are_counted(place: Path, tmp_path: Path) -> None:
    """Gold rows may lack one; their words are no donors."""
    given = plan(place)

    class Gaps:
        def __len__(self) -> int:
            return len(given.trees)

        def read(self, rows: range) -> Iterator[Any]:
            for n, (source, tree) in enumerate(given.trees.read(rows)):
                yield source, tree if n % 2 else None

    pool = built(replace(given, trees=Gaps()), tmp_path / "pool")
    assert pool.left_out[NO_TREE] == 30
    for reference in references(sentences()):
        choice = pool.draw(reference, anything, 99, 0)
        assert all(int(o.donor.sentence_id[2:]) % 2 for o in (choice.options if choice else ()))


@pytest.mark.parametrize("tagged", [True, False])
def test_heads_agree_where_they_matter(
    tmp_path: Path, write_trees: Callable[..., None], tagged: bool
) -> None:
    """By the trees' tags, or by the sentences' where a parser wrote XX: either way the same pool."""
    every = sentences(tags=tagged)
    write_trees(tmp_path / "heads", every)

    def tags() -> Iterator[tuple[str, Sequence[str] | None]]:
        yield "z/unrelated", None
        for s in every:
            yield s.sentence_id, s.tags

    pool = built(plan(tmp_path / "heads", match="head", tags=tags), tmp_path / "pool")
    of = {s.sentence_id: s for s in every}

    def verb(sentence_id: str, start: int, end: int) -> str:
        return next(t for t in (of[sentence_id].tags or ())[start:end] if t[:2] in ("VB", "MD"))

    kinds = set()
    for reference in references(every):
        if reference.label != "VP":
            continue
        span = reference.span
        kind = verb(reference.sentence_id, span.start, span.end)
        choice = pool.draw(reference, anything, 99, 0)
        for each in shown(choice.options) if choice else ():
            assert verb(*each) == kind
            kinds.add(kind)
    assert kinds == {"VBD", "MD", "VB"}
    stranger = Reference("nowhere", ("the", "dog", "ran"), Span(0, 2), "NP", "CC0-1.0")
    assert pool.draw(stranger, anything, 9, 0) is None


def test_heads_without_any_tags_are_refused(
    tmp_path: Path, write_trees: Callable[..., None]
) -> None:
    """One line says that the corpus has no parts of speech; where only some have, the rest is counted."""
    every = sentences(tags=False)
    write_trees(tmp_path / "heads", every)
    nothing = partial(iter, [(s.sentence_id, None) for s in every])
    with pytest.raises(
        InputError, match="no sentence has parts of speech, which --match head needs"
    ) as caught:
        built(plan(tmp_path / "heads", match="head", tags=nothing), tmp_path / "none")
    assert "choose --match label" in str(caught.value)
    some = partial(iter, [(s.sentence_id, s.tags if n % 2 else None) for n, s in enumerate(every)])
    pool = built(plan(tmp_path / "heads", match="head", tags=some), tmp_path / "some")
    lacking = sum(map(len, by_hand(every[::2]).values()))
    blank = sum("blank" in s.words for s in every[::2])
    assert pool.left_out[NO_TAGS] == lacking + blank


def test_equal_trees_make_equal_pools(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_trees: Callable[..., None]
) -> None:
    """Wherever corpus and cache lie, however trees are sharded and pieces cut; other trees make others."""
    one = open_pool(plan(place)).digest
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "elsewhere"))
    monkeypatch.setattr(pool_building, "_PIECE", 7)
    again = open_pool(plan(place)).digest
    write_trees(tmp_path / "copy", sentences(), size=60)
    copy = open_pool(plan(tmp_path / "copy")).digest
    assert one == again == copy
    write_trees(tmp_path / "copy", sentences(59), size=60)
    assert open_pool(plan(tmp_path / "copy")).digest != one
    assert len(list((tmp_path / "elsewhere/conjoin").glob("pool-*"))) == 2
    # The former pool of the same place is gone.
    assert all(
        len(list(h.glob("[!.]*"))) == 1 for h in (tmp_path / "elsewhere/conjoin").glob("pool-*")
    )


def test_a_damaged_pool_is_built_again(place: Path) -> None:
    """A file that is missing or cut off, or a folder without a card."""
    whole = open_pool(plan(place)).digest
    (folder,) = cache_folder().glob("pool-*/[!.]*")
    for name in ("words", "tokens", "card.json"):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[:-1] if name != "card.json" else b"{}")
        assert open_pool(plan(place)).digest == whole
        assert (folder / name).read_bytes() == data
        (folder / name).unlink()
        assert open_pool(plan(place)).digest == whole


def test_a_pool_of_something_else_is_refused(place: Path) -> None:
    """A folder of the cache whose card tells of other trees is named, and not used."""
    open_pool(plan(place))
    (folder,) = cache_folder().glob("pool-*/[!.]*")
    facts = {**plan(place).facts, "inputs": {"trees": "0" * 64}}
    with pytest.raises(InputError, match="a pool of other trees") as line:
        Pool(folder, facts)
    assert "remove this folder of the cache" in str(line.value)


def test_a_cache_that_cannot_be_written_to(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names the variable that puts the cache elsewhere."""
    (place / "file").touch()
    monkeypatch.setenv("HF_DATASETS_CACHE", str(place / "file" / "cache"))
    with pytest.raises(
        InputError, match="cannot keep the pool of constituents in the cache"
    ) as caught:
        open_pool(plan(place))
    assert "set HF_DATASETS_CACHE to a folder" in str(caught.value)


def test_a_cache_that_is_complete_need_not_be_written_to(place: Path) -> None:
    """Opening what is there takes no lock and leaves no file."""
    open_pool(plan(place))
    before = {p: p.stat().st_mtime_ns for p in cache_folder().rglob("*")}
    (home,) = cache_folder().glob("pool-*")
    (home / ".lock").unlink()
    open_pool(plan(place))
    assert not (home / ".lock").exists()
    assert {p: t for p, t in before.items() if p.is_file()}.items() <= before.items()


def test_a_killed_build_leaves_nothing_that_counts(place: Path, tmp_path: Path, forks: Any) -> None:
    """The next run builds the pool anew and removes what the killed one left."""

    def die() -> None:
        pool_building.write_json = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
        open_pool(plan(place))

    assert forks.end(forks.start(die, tmp_path / "log")) == -signal.SIGKILL
    (home,) = cache_folder().glob("pool-*")
    assert all(p.name.endswith(".tmp") for p in home.iterdir() if p.is_dir())
    assert list(home.glob(".*.tmp"))
    pool = open_pool(plan(place))
    assert not list(home.glob(".*.tmp"))
    shutil.rmtree(home)
    assert open_pool(plan(place)).digest == pool.digest


def test_several_open_it_at_once(place: Path, tmp_path: Path, forks: Any) -> None:
    """Four processes build it once, and all read the same."""

    def work() -> None:
        print(open_pool(plan(place)).digest)

    logs = [tmp_path / f"log-{n}" for n in range(4)]
    children = [forks.start(work, log) for log in logs]
    assert [forks.end(child) for child in children] == [0] * 4
    assert len({log.read_text().splitlines()[-1] for log in logs}) == 1
    (_,) = cache_folder().glob("pool-*/[!.]*")


def test_a_corpus_without_constituents_is_refused(
    tmp_path: Path, write_trees: Callable[..., None]
) -> None:
    """One line that says where to look."""
    tree = "(S1 (FRAG (UH well) (, ,) (UH well)))"
    every = [Sentence("c/0", "d", "train", ("well", ",", "well"), None, tree, (), "CC0-1.0")]
    write_trees(tmp_path / "bare", every)
    with pytest.raises(InputError, match="no tree has a constituent to offer; check what preparse"):
        open_pool(plan(tmp_path / "bare"))
