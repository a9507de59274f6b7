"""`conjoin agree`: which sentences two parsers read alike, and which of them are drawn."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from treebank import conllu

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.ellipsis.agree.command import run
from pipeline.ellipsis.agree.drawing import Shape, draw
from pipeline.ellipsis.agree.settings import AgreeSettings
from pipeline.text.coordinations import WITHHELD
from pipeline.text.dependencies import CONTROL, DependencyTree, read_trees
from pipeline.text.lines import open_lines

RELATIONS = ("nsubj", "obj", "obl", "advmod", "det", "case")


def sentence(name: str, length: int, kinds: int = 3, tag: str = "X", orphan: bool = False) -> str:
    """A sentence of so many words, whose relations are of so many kinds and the root."""
    words = [f"{name} {name} {tag} 0 root"]
    for number in range(1, length):
        relation = "orphan" if orphan and number == 1 else RELATIONS[number % kinds]
        words.append(f"w{number} w{number} {tag} 1 {relation}")
    return conllu(name, *words)


def agree(folder: Path, one: str, other: str, **given: Any) -> dict[str, Any]:
    """Run the command on two texts; returns the manifest."""
    (folder / "one.conllu").write_text(one)
    (folder / "other.conllu").write_text(other)
    settings = {
        "one": folder / "one.conllu",
        "other": folder / "other.conllu",
        "out": folder / "out",
    }
    run(AgreeSettings.build(settings | given, None))
    return dict(read_json(folder / "out/manifest.json"))


def kept(folder: Path) -> list[DependencyTree]:
    with open_lines(folder / "out/agreed.conllu") as lines:
        return list(read_trees(lines))


def test_sentences_with_equal_trees_are_kept(tmp_path: Path) -> None:
    """Each once, as the first parser has it; heads, relations with subtypes and tags are compared."""
    same, said = sentence("a", 4), sentence("d", 3, orphan=True)
    head, tag, relation = (sentence(name, 4) for name in ("e", "t", "r"))
    one = same + head + tag + relation + said + said
    other = (
        same
        + head.replace("\t1\tobl\t1:obl", "\t2\tobl\t2:obl")
        + tag.replace("\tX\t", "\tY\t", 1)
        + relation.replace("\tobl\t", "\tobl:tmod\t")
        + said
        + said
    )
    manifest = agree(tmp_path, one, other)
    assert manifest["tally"]["refused"] == {
        "other heads or relations": 2,
        "other tags": 1,
        "words said already": 1,
    }
    assert (tmp_path / "out/agreed.conllu").read_text() == same + said
    assert manifest["files"]["agreed.conllu"]["rows"] == 2


def test_words_that_are_withheld_are_counted(tmp_path: Path) -> None:
    """Underscores for words, as GUM has its sentences from Reddit: nobody learns from them."""
    hidden = conllu("h", "___ _ X 0 root", "_ _ X 1 punct")
    both = hidden + sentence("a", 3)
    tally = agree(tmp_path, both, both)["tally"]
    assert (tally["kept"], tally["refused"]) == (1, {WITHHELD: 1})


@pytest.mark.parametrize("where", ["# sent_id = a", "\tw1\tw1"])
@pytest.mark.parametrize("character", ["\x1b", "\u202e"])
def test_control_characters_are_counted(tmp_path: Path, where: str, character: str) -> None:
    """They would steer the terminal of whoever reads what was kept."""
    wrong = sentence("a", 3).replace(where, where + character)
    both = wrong + sentence("b", 3)
    tally = agree(tmp_path, both, both)["tally"]
    assert (tally["kept"], tally["refused"]) == (1, {CONTROL: 1})


def test_tags_may_be_left_out_of_it(tmp_path: Path) -> None:
    """Where parsers have no tags of their own."""
    one, other = sentence("a", 4), sentence("a", 4, tag="Y")
    assert agree(tmp_path, one, other, tags="none")["tally"]["kept"] == 1


def test_only_sentences_with_orphans_and_none_that_is_held_out(tmp_path: Path) -> None:
    """By their words, in whatever file they are."""
    both = sentence("a", 4) + sentence("b", 4, orphan=True) + sentence("c", 4, orphan=True)
    (tmp_path / "test.conllu").write_text(sentence("c", 4))
    manifest = agree(tmp_path, both, both, orphans=True, apart=[tmp_path / "test.conllu"])
    assert [made.name for made in kept(tmp_path)] == ["b"]
    assert manifest["tally"]["refused"] == {"no orphan": 1, "words of a held-out sentence": 1}


def test_a_held_out_sentence_may_be_cut_into_other_words(tmp_path: Path) -> None:
    """And be written with spaces, or with a multiword token: its characters are compared."""
    both = conllu("a", "don't do X 0 root", "go go X 1 xcomp") + sentence("b", 2)
    (tmp_path / "test.conllu").write_text(
        conllu("t", "do do X 0 root", "n't not X 1 advmod", "go go X 1 x")
    )
    manifest = agree(tmp_path, both, both, apart=[tmp_path / "test.conllu"])
    assert [made.name for made in kept(tmp_path)] == ["b"]
    assert manifest["tally"]["refused"] == {"words of a held-out sentence": 1}


def test_files_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    """One file twice, by whatever path, and sentences to keep apart from of which there are none."""
    (tmp_path / "none.conllu").write_text("")
    with pytest.raises(InputError, match=r"none\.conllu: no sentence here"):
        agree(tmp_path, sentence("a", 3), sentence("a", 3), apart=[tmp_path / "none.conllu"])
    (tmp_path / "link.conllu").symlink_to(tmp_path / "one.conllu")
    twice = {
        "one": tmp_path / "one.conllu",
        "other": tmp_path / "link.conllu",
        "out": tmp_path / "out",
    }
    with pytest.raises(InputError, match=r"link\.conllu: one file is named twice"):
        run(AgreeSettings.build(twice, None))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (
            sentence("a", 4),
            r"one.conllu:7: other.conllu ends before this sentence \(sentence b\); parse",
        ),
        (
            sentence("a", 4) + sentence("x", 4),
            r"other.conllu:7: another sentence than at one.conllu:7: 'x' where it has 'b' \(sentence x",
        ),
        (
            sentence("a", 4) + sentence("b", 5),
            r"other.conllu:7: another sentence .*'w4' where it has ''",
        ),
    ],
)
def test_files_of_other_sentences_are_refused(other: str, said: str, tmp_path: Path) -> None:
    """One line, with what to do; nothing is written."""
    with pytest.raises(InputError, match=said) as raised:
        agree(tmp_path, sentence("a", 4) + sentence("b", 4), other)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def shapes() -> tuple[list[Shape], list[str], list[Shape]]:
    """Agreed sentences that are mostly short, their names, and a treebank of all lengths."""
    random = Random(0)
    short = [
        Shape(3 + int(27 * random.random() ** 4), random.randrange(200, 900, 100))
        for _ in range(3_000)
    ]
    treebank = [Shape(3 + n % 28, 200 + 100 * (n % 7)) for n in range(400)]
    return short, [str(n) for n in range(len(short))], treebank


def test_what_is_drawn_is_like_the_treebank(
    shapes: tuple[list[Shape], list[str], list[Shape]],
) -> None:
    """Nearer to it than all that is there and than both controls, which have as many sentences or words."""
    agreed, names, treebank = shapes
    summaries = {
        sample: draw(agreed, names, treebank, wanted=400, sample=sample, seed=0).summary
        for sample in ("identical", "random-sentences", "random-tokens")
    }
    same, sentences, tokens = summaries.values()
    assert same["sentences"] == sentences["sentences"] == 400
    assert sentences["words"] < same["words"]
    assert 0 <= tokens["words"] - same["words"] < 30
    assert tokens["sentences"] > 400
    assert same["distance"]["after"] < 0.15
    for control in (sentences, tokens):
        assert control["distance"]["before"] == same["distance"]["before"]
        assert control["distance"]["after"] > 2 * same["distance"]["after"]


def test_a_draw_is_the_same_in_any_order_and_another_by_another_seed(
    shapes: tuple[list[Shape], list[str], list[Shape]],
) -> None:
    """Chance goes by the sentences' words alone."""
    agreed, names, treebank = shapes

    def drawn(seed: int, step: int) -> set[str]:
        found = draw(
            agreed[::step], names[::step], treebank, wanted=300, sample="identical", seed=seed
        )
        return {
            name for name, taken in zip(names[::step], found.taken.tolist(), strict=True) if taken
        }

    assert drawn(0, 1) == drawn(0, -1)
    assert drawn(0, 1) != drawn(1, 1)


def test_complexity_is_relations_per_word(tmp_path: Path) -> None:
    """A list of one relation is simple; the manifest has strata, distance and what was drawn."""
    lists = "".join(sentence(f"l{n}", 12, kinds=1) for n in range(30))
    rich = "".join(sentence(f"r{n}", 12, kinds=6) for n in range(30))
    like = tmp_path / "like.conllu"
    like.write_text("".join(sentence(f"t{n}", 12, kinds=6 if n % 10 else 1) for n in range(20)))
    manifest = agree(tmp_path, lists + rich, lists + rich, like=like)
    names = Counter(made.name[0] for made in kept(tmp_path) if made.name)
    assert names == {"l": 2, "r": 18}
    assert manifest["draw"]["distance"] == {"before": 0.4, "after": 0.0}
    assert manifest["tally"]["refused"] == {"not drawn": 40}


@pytest.mark.parametrize(("size", "sentences"), [("20%", 4), ("200%", 40), ("7", 7)])
def test_sizes_are_shares_of_the_treebank(size: str, sentences: int, tmp_path: Path) -> None:
    """Or numbers; its own sentences are not drawn."""
    both = "".join(sentence(f"s{n}", 5) for n in range(60))
    like = tmp_path / "like.conllu"
    like.write_text("".join(sentence(f"s{n}", 5) for n in range(20)))
    manifest = agree(tmp_path, both, both, like=like, size=size)
    assert manifest["draw"]["sentences"] == sentences
    assert manifest["tally"]["refused"]["words of a held-out sentence"] == 20


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"size": "20%"}, "size and sample need the treebank"),
        ({"sample": "random-tokens"}, "size and sample need the treebank"),
        ({"size": "many", "like": "t"}, "must be a number such as 5000, or a share"),
        ({"size": "0%", "like": "t"}, "must be a number such as 5000, or a share"),
    ],
)
def test_settings_that_do_not_go_together(given: dict[str, str], said: str) -> None:
    """One line says what is missing."""
    with pytest.raises(SettingsError, match=said):
        AgreeSettings.build({"one": "a", "other": "b", "out": "c", **given}, None)
