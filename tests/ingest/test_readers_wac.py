"""The Wikipedia Annotated Corpus: words, predicates and their arguments, as its README counts them."""

import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.predicates import Argument, Predicate, read_predicates
from pipeline.core.schema import read_sentences
from pipeline.core.types import Span
from pipeline.ingest.readers.wac import NO_TREE
from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.splitting import fold_of
from pipeline.ingest.stage import run

ARCHIVE = Path(__file__).resolve().parents[3] / "shared/data/wac/wac-knp.tar.xz"
needs_shared = pytest.mark.skipif(
    not ARCHIVE.exists(), reason="needs ../shared, which is not part of the repository"
)


def unit(name: str, *bunsetsu: tuple[int, list[tuple[str, str]]]) -> str:
    """A unit whose base phrases are given as words ``surface/class …`` and tags; each depends on the last."""
    lines = [f"# S-ID:{name}"]
    for head, phrases in bunsetsu:
        lines.append(f"* {head}D")
        for words, tags in phrases:
            lines.append(f"+ -1D {tags}".rstrip())
            for each in words.split():
                surface, _, kind = each.replace("_", "\u3000").partition("/")
                lines.append(" ".join([surface, surface, surface, kind, *["0"] * 7]))
    return "\n".join([*lines, "EOS", ""])


def tag(case: str, phrase: int, sentence: str = "a-1") -> str:
    return f'<rel type="{case}" target="x" sid="{sentence}" id="{phrase}"/>'


SENTENCE = unit(
    "a-1",
    (2, [("太郎/名詞 は/助詞", ""), ("_/特殊 彼/名詞", tag("=", 0))]),
    (2, [("本/名詞 を/助詞", "")]),
    (3, [("読み/動詞 、/特殊", tag("ガ", 0) + tag("ヲ", 2) + tag("ニ", 0, "a-0"))]),
    (-1, [("寝/名詞 た/判定詞", tag("ガ", 0) + tag("ヲ", 4)), ("話/名詞", tag("ガ", 0))]),
)  # fmt: skip


def ingested(folder: Path, text: str = SENTENCE, **given: Any) -> Path:
    source = folder / "source"
    source.mkdir(parents=True, exist_ok=True)
    (source / "a.knp").write_text(text, encoding="utf-8", newline="")
    wanted = {"reader": "wac", "source": source, "out": folder / "wac"}
    run(IngestSettings.build(wanted | {"split": ["train=*"]} | given, None))
    return folder / "wac"


def test_only_its_own_documents_have_a_licence_that_is_known(tmp_path: Path) -> None:
    """Others in the format may be anybody's; their owner names it, and cannot free its own."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source/wiki00010002.knp").write_text(SENTENCE.replace("a-1", "wiki00010002-1"))
    corpus = ingested(tmp_path, license="MIT")
    found = {
        each.sentence_id: each.license for each in read_sentences(corpus / "sentences.parquet")
    }
    assert found == {"wac/a/1": "MIT", "wac/wiki00010002/1": "CC-BY-SA-4.0"}
    (tmp_path / "free").write_text("wiki* MIT\n")
    with pytest.raises(InputError, match="permits more"):
        ingested(tmp_path, licenses=tmp_path / "free")


def test_arguments_are_typed_by_their_bunsetsu(tmp_path: Path) -> None:
    """DEP where one depends on the other, else ZAR; none in its own bunsetsu or in other sentences."""
    corpus = ingested(tmp_path)
    (sentence,) = read_sentences(corpus / "sentences.parquet")
    assert sentence.words == ("太郎", "は", "彼", "本", "を", "読み", "、", "寝", "た", "話")
    assert sentence.tags is not None
    assert sentence.tags[:3] == ("名詞", "助詞", "名詞")
    assert (sentence.sentence_id, sentence.license) == ("wac/a/1", "unknown")
    reads = Predicate(
        "wac/a/1", 5, Span(5, 7), True,
        (Argument("NOM", "DEP", (0,), (2,)), Argument("ACC", "DEP", (3,))),
        (Span(0, 3), Span(3, 5), Span(7, 10)),
    )  # fmt: skip
    sleeps = Predicate(
        "wac/a/1",
        7,
        Span(7, 10),
        True,
        (Argument("NOM", "ZAR", (0,), (2,)),),
        (Span(5, 7),),
    )
    assert list(read_predicates(corpus)) == [reads, sleeps]
    every = list(read_predicates(ingested(tmp_path / "all", predicates="all")))
    assert every[:2] == [reads, sleeps]
    assert (every[2].predicate, every[2].verbal) == (9, False)
    assert (corpus / "text.txt").read_text(encoding="utf-8").startswith("太郎 は 彼 本")
    card = read_json(corpus / "ingest.json")
    assert card["task"] == "arguments"
    assert card["splits"]["train"]["DEP_NOM"] == card["splits"]["train"]["ZAR_NOM"] == 1
    assert card["refused"] == {
        "morpheme that is a blank (counts morphemes)": 1,
        "argument in a sentence that the document lacks (counts tags)": 1,
    }


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (SENTENCE.replace("EOS\n", ""), r"a\.knp:\d+: the unit of line 1 has no EOS"),
        ("", "no sentence to keep"),
        (unit("a-1", (-1, [("_/特殊", "")])), "no sentence to keep.*sentence of blanks alone"),
        (unit("a-1", (-1, [("a\x1b/名詞", "")])), "no sentence to keep.*with a control character"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, text: str, what: str) -> None:
    """With the file and the line, and nothing is written."""
    with pytest.raises(InputError, match=what):
        ingested(tmp_path, text)
    assert not (tmp_path / "wac").exists()


def test_marks_of_windows_are_no_text(tmp_path: Path) -> None:
    """A byte-order mark and carriage returns."""
    plain = list(read_predicates(ingested(tmp_path / "plain")))
    marked = ingested(tmp_path / "marked", "\ufeff" + SENTENCE.replace("\n", "\r\n"))
    assert list(read_predicates(marked)) == plain


def test_what_arguments_are_not_in_the_sentence_is_counted(tmp_path: Path) -> None:
    """In another sentence, in none of the text, or in one that is not there."""
    nobody = '<rel type="ガ" target="不特定:人"/>'
    tags = [tag("ガ", 0), tag("ヲ", 0, "z-9"), nobody]
    other = unit("a-2", (-1, [("行く/動詞", "".join(tags))]))
    refused = read_json(ingested(tmp_path, SENTENCE + other) / "ingest.json")["refused"]
    assert refused["argument in another sentence (counts tags)"] == 1
    assert refused["argument in a sentence that the document lacks (counts tags)"] == 2
    assert refused["argument that the text does not name (counts tags)"] == 1


def test_heads_in_a_circle_end_a_strict_run(tmp_path: Path) -> None:
    """Else they are counted."""
    circle = unit("a-2", (1, [("本/名詞", "")]), (0, [("話/名詞", "")]))
    assert read_json(ingested(tmp_path, SENTENCE + circle) / "ingest.json")["refused"][NO_TREE] == 1
    with pytest.raises(InputError, match=r"a\.knp:\d+: heads of bunsetsu that are no tree"):
        ingested(tmp_path / "strict", SENTENCE + circle, strict=True)


def test_options_of_folds(tmp_path: Path) -> None:
    """A fold is test and the next one dev; a fold that is not there is refused."""
    wanted = {"reader": "wac", "source": tmp_path, "out": tmp_path / "x", "folds": 5}
    with pytest.raises(SettingsError, match="fold must be below folds, 5"):
        IngestSettings.build(wanted | {"fold": 5}, None)
    with pytest.raises(SettingsError, match="give one of"):
        IngestSettings.build(wanted | {"split": ["train=*"]}, None)
    with pytest.raises(SettingsError, match="takes no --folds"):
        IngestSettings.build(wanted | {"reader": "genia"}, None)


@pytest.fixture(scope="module")
def wac(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of the corpus, nouns too, by its own split."""
    out = tmp_path_factory.mktemp("made") / "wac"
    wanted = {"reader": "wac", "source": ARCHIVE, "out": out, "labelled": ["500"]}
    run(IngestSettings.build(wanted | {"predicates": "all"}, None))
    return out


@pytest.mark.long
@needs_shared
def test_every_count_of_its_readme(wac: Path) -> None:
    """Sentences, words and blanks, predicates and arguments, of each split."""
    splits = {s.sentence_id: s.split for s in read_sentences(wac / "sentences.parquet")}
    assert Counter(splits.values()) == {"train": 14_684, "dev": 443, "test": 775}
    card = read_json(wac / "ingest.json")
    assert card["refused"]["morpheme that is a blank (counts morphemes)"] == 2_919
    words = {name: counts["words"] for name, counts in card["splits"].items()}
    assert sum(words.values()) == 211_262 + 6_353 + 11_123 - 2_919
    predicates: Counter[tuple[str, bool]] = Counter()
    found: Counter[tuple[str, bool, str, str]] = Counter()
    for each in read_predicates(wac):
        split = splits[each.sentence_id]
        predicates[split, each.verbal] += 1
        found.update((split, each.verbal, a.kind, a.role) for a in each.arguments)
    assert predicates == {
        ("train", True): 19_063, ("dev", True): 529, ("test", True): 958,
        ("train", False): 10_828, ("dev", False): 336, ("test", False): 535,
    }  # fmt: skip
    for (split, verbal, kind), wanted in {
        ("train", True, "DEP"): (10_410, 5_679, 3_430), ("train", True, "ZAR"): (2_117, 417, 320),
        ("dev", True, "DEP"): (278, 164, 93), ("dev", True, "ZAR"): (78, 9, 9),
        ("test", True, "DEP"): (514, 324, 165), ("test", True, "ZAR"): (94, 27, 16),
        ("train", False, "ZAR"): (1_102, 540, 160), ("dev", False, "ZAR"): (59, 20, 4),
        ("test", False, "ZAR"): (61, 23, 14),
    }.items():  # fmt: skip
        counted = tuple(found[split, verbal, kind, role] for role in ("NOM", "ACC", "DAT"))
        assert counted == wanted, (split, verbal, kind)


@needs_shared
@pytest.mark.long
def test_its_folds(wac: Path) -> None:
    """Zeros of verbal predicates in each of five folds by a hash of the document's name."""
    zeros: Counter[int] = Counter()
    for each in read_predicates(wac):
        fold = fold_of(each.sentence_id.split("/")[1], 5)
        zeros[fold] += sum(a.kind == "ZAR" for a in each.arguments) if each.verbal else 0
    assert [zeros[fold] for fold in range(5)] == [566, 642, 607, 637, 635]


@needs_shared
def test_the_first_sentence_of_a_document(wac: Path) -> None:
    """What exceeds a standard are the companies that the clause modifies."""
    (sentence,) = (
        s
        for s in read_sentences(wac / "sentences.parquet")
        if s.sentence_id == "wac/wiki00285240/00-01"
    )
    (exceeds,) = (
        each
        for each in read_predicates(wac, {sentence.sentence_id})
        if sentence.words[each.predicate] == "超える"
    )
    company, standard = exceeds.arguments
    assert (company.role, company.kind, company.fillers) == ("NOM", "DEP", (10,))
    assert standard == Argument("ACC", "DEP", (7,))


@needs_shared
def test_another_reader_finds_the_same(wac: Path) -> None:
    """By rhoknp, words, classes and tags of twenty documents say which base phrases fill which roles."""
    rhoknp = pytest.importorskip("rhoknp", reason="needs rhoknp (pip install rhoknp)")
    with tarfile.open(ARCHIVE) as archive:
        names = sorted(name for name in archive.getnames() if name.endswith(".knp"))[::199]
        files = [archive.extractfile(name) for name in names]
        documents = [
            rhoknp.Document.from_knp(file.read().decode("utf-8")) for file in files if file
        ]
    assert len(documents) == 20
    sentences = {s.sentence_id: s for s in read_sentences(wac / "sentences.parquet")}
    predicates: dict[str, list[Predicate]] = {}
    for each in read_predicates(wac):
        predicates.setdefault(each.sentence_id, []).append(each)
    compared = 0
    for document in documents:
        for other in document.sentences:
            name, _, number = other.sid.partition("-")
            own = sentences[f"wac/{name}/{number or 0}"]
            words = [m for m in other.morphemes if m.text.strip()]
            assert (own.words, own.tags) == (
                tuple(m.text for m in words), tuple(m.pos for m in words),
            )  # fmt: skip
            phrase_of = [m.base_phrase.index for m in words]
            found = {
                (phrase_of[p.predicate], a.role, a.kind, frozenset(phrase_of[w] for w in a.fillers))
                for p in predicates.get(own.sentence_id, ())
                for a in p.arguments
            }
            assert found == set(_arguments_of_rhoknp(other)), own.sentence_id
            compared += len(found)
    assert compared > 100


def _arguments_of_rhoknp(sentence: Any) -> Iterator[tuple[int, str, str, frozenset[int]]]:
    """Each base phrase's roles, the kind and the base phrases that fill them in other bunsetsu."""
    for phrase in sentence.base_phrases:
        for case, role in ("ガ", "NOM"), ("ヲ", "ACC"), ("ニ", "DAT"):
            fillers = [
                sentence.base_phrases[tag.base_phrase_index]
                for tag in phrase.rel_tags
                if tag.type == case and tag.sid == sentence.sid
            ]
            outside = [each for each in fillers if each.phrase != phrase.phrase]
            tied = any(
                each.phrase.parent == phrase.phrase or phrase.phrase.parent == each.phrase
                for each in outside
            )
            if outside and (tied or len(outside) == len(fillers)):
                kind = "DEP" if tied else "ZAR"
                yield phrase.index, role, kind, frozenset(each.index for each in outside)


@needs_shared
def test_archive_and_folder_are_the_same(tmp_path: Path) -> None:
    """With the lists of the split beside the files."""
    with tarfile.open(ARCHIVE) as archive:
        wanted = [m for m in archive if m.name.startswith(("knp/wiki0028", "id/"))]
        for member in wanted:
            data = archive.extractfile(member)
            if data is not None:
                place = tmp_path / "raw" / member.name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data.read())
    out = tmp_path / "wac"
    given = {"reader": "wac", "source": tmp_path / "raw", "out": out, "labelled": ["full"]}
    run(IngestSettings.build(given, None))
    assert {s.split for s in read_sentences(out / "sentences.parquet")} >= {"train"}


README_EXAMPLE = """\
# S-ID:wiki000010000-1
* 2D
+ 3D
太郎 たろう 太郎 名詞 6 人名 5 * 0 * 0
は は は 助詞 9 副助詞 2 * 0 * 0
* 2D
+ 2D
京都 きょうと 京都 名詞 6 地名 4 * 0 * 0
+ 3D <NE:ORGANIZATION:京都大学>
大学 だいがく 大学 名詞 6 普通名詞 1 * 0 * 0
に に に 助詞 9 格助詞 1 * 0 * 0
* -1D
+ -1D <rel type="ガ" target="太郎" sid="WHERE" id="0"/><rel type="ニ" target="大学" sid="WHERE" id="2"/>
行った いった 行く 動詞 2 * 0 子音動詞カ行促音便形 3 タ形 10
EOS
"""


@pytest.mark.parametrize("own", [True, False])
def test_the_example_of_the_corpus_page(tmp_path: Path, own: bool) -> None:
    """Who went where, both DEP; as printed its tags name another sentence, and nobody of this one went."""
    sid = "wiki000010000-1" if own else "w201106-0000010001-1"
    (went,) = read_predicates(ingested(tmp_path, README_EXAMPLE.replace("WHERE", sid)))
    found = (Argument("NOM", "DEP", (0,)), Argument("DAT", "DEP", (3,))) if own else ()
    assert (went.predicate, went.phrase, went.verbal) == (5, Span(5, 6), True)
    assert went.tied == (Span(0, 2), Span(2, 5))
    assert went.arguments == found


@pytest.mark.parametrize("name", ["1", "-1", "a--1"])
def test_two_sentences_have_two_ids(tmp_path: Path, name: str) -> None:
    """S-IDs may differ and mean one sentence, by which predicates would be of either."""
    with pytest.raises(
        InputError, match=rf"a\.knp:24: S-ID {name} and one before it are both wac/a/1"
    ):
        ingested(tmp_path, SENTENCE + unit(name, (-1, [("本/名詞", "")])))


def test_a_document_has_a_name_that_can_be_written(tmp_path: Path) -> None:
    """It is in the ids of its sentences, which tables and exports write."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source/b\n.knp").write_text(SENTENCE, encoding="utf-8")
    with pytest.raises(InputError, match="a control character in the name"):
        ingested(tmp_path)
