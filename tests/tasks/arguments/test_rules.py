"""The rules that models of arguments are to beat: a Japanese example, and what they reach on all data."""

from pathlib import Path

import pytest

from pipeline.core.predicates import ROLES, Predicate
from pipeline.core.types import Sentence, Span
from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.stage import run
from pipeline.tasks.arguments.figures import counted, f1
from pipeline.tasks.arguments.predicates import Clause, clauses_of_split
from pipeline.tasks.arguments.rules import by_rules

ARCHIVE = Path(__file__).resolve().parents[4] / "shared/data/wac/wac-knp.tar.xz"
needs_shared = pytest.mark.skipif(
    not ARCHIVE.exists(), reason="needs ../shared, which is not part of the repository"
)


def clause(text: str, place: int, phrase: tuple[int, int], *tied: tuple[int, int]) -> Clause:
    """A predicate of a sentence that is given as ``surface/class …``."""
    words, tags = zip(*(each.split("/") for each in text.split()), strict=True)
    sentence = Sentence("s", "d", "train", words, tags, None, (), "CC0-1.0")
    spans = tuple(Span(*each) for each in tied)
    predicate = Predicate("s", place, Span(*phrase), True, (), spans)
    return Clause(sentence, predicate, (place,))


def test_particles_say_who_does_what() -> None:
    """Of dependents; a topic is a subject; the nearest of several."""
    text = "太郎/名詞 は/助詞 本/名詞 を/助詞 母/名詞 に/助詞 に/助詞 送る/動詞 。/特殊"
    found = by_rules(clause(text, 7, (7, 9), (0, 2), (2, 4), (4, 7)))
    assert found == {"NOM": 0, "ACC": 2, "DAT": 4}
    text = "父/名詞 が/助詞 母/名詞 が/助詞 家/名詞 で/助詞 は/助詞 寝る/動詞"
    assert by_rules(clause(text, 7, (7, 8), (0, 2), (2, 4), (4, 7))) == {"NOM": 2}


def test_what_a_clause_modifies_is_its_subject() -> None:
    """Unless it has one; a verb is modified by none."""
    text = "基準/名詞 を/助詞 超える/動詞 企業/名詞 が/助詞 潰れる/動詞"
    assert by_rules(clause(text, 2, (2, 3), (0, 2), (3, 5))) == {"ACC": 0, "NOM": 3}
    text = "彼/名詞 は/助詞 本/名詞 を/助詞 読み/動詞 寝る/動詞"
    assert by_rules(clause(text, 4, (4, 5), (2, 4), (5, 6))) == {"ACC": 2, "NOM": 0}


def test_where_nothing_is_said_nothing_is_chosen() -> None:
    """And without word classes the rules are not asked."""
    text = "そして/接続詞 寝る/動詞"
    assert by_rules(clause(text, 1, (1, 2), (0, 1))) == {}
    untagged = clause(text, 1, (1, 2))
    object.__setattr__(untagged.sentence, "tags", None)
    with pytest.raises(ValueError, match="s: the rules go by word classes"):
        by_rules(untagged)


@pytest.mark.long
@needs_shared
def test_their_figures_are_those_of_the_corpus_page(tmp_path: Path) -> None:
    """On all data ZAR 13.4, DEP 81.1, ALL 73.6; and any fold can be counted."""
    wanted = {"reader": "wac", "source": ARCHIVE, "out": tmp_path / "wac", "labelled": ["500"]}
    run(IngestSettings.build(wanted | {"folds": 5, "fold": 0}, None))
    splits = {each: clauses_of_split(tmp_path / "wac", each) for each in ("train", "dev", "test")}
    counts = {
        split: counted([each.predicate for each in own], [by_rules(each) for each in own])
        for split, own in splits.items()
    }
    every = sum(own.sum(0) for own in counts.values())
    zar, dep = (round(100 * (f1(every[kind]) or 0), 1) for kind in (0, 1))
    assert (zar, dep, round(100 * (f1(every) or 0), 1)) == (13.4, 81.1, 73.6)
    assert every[..., 2].sum(1).tolist() == [3_087, 21_057]
    fold = counts["test"].sum(0)
    assert fold[0, :, 2].sum() == 566
    assert every.shape == (2, len(ROLES), 3)
    print([round(100 * (f1(fold[kind]) or 0), 1) for kind in (0, 1)], f1(fold))
