"""`ingest conllu`: documents, splits and names of a treebank of dependencies, and what is refused."""

import lzma
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from treebank import conllu

from pipeline.core.corpus_folder import (
    annotation_of_trees,
    coordinators_of,
    find_trees,
    ingest_card,
    parser_of_trees,
    require_ingested,
)
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.parquet import read_rows, read_schema
from pipeline.core.schema import DEPENDENCIES, TREES, read_sentences
from pipeline.core.types import COORDINATORS, Sentence, bracketed, is_undecided, is_unlabelled_seed
from pipeline.corpus.dependency_rows import TEXT_PARSER
from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.stage import run
from pipeline.preparse.settings import PreparseSettings
from pipeline.preparse.stage import run as preparse
from pipeline.text.dependency_phrases import SPLIT, UNJOINED

TEA = ("tea tea NOUN 0 root", "and and CCONJ 3 cc", "milk milk NOUN 1 conj", ". . PUNCT 1 punct")
LONE = ("tea tea NOUN 0 root", "cools cool VERB 1 acl", ". . PUNCT 1 punct")


def ingest(source: Path, out: Path, **given: Any) -> list[Sentence]:
    run(IngestSettings(reader="conllu", source=source, name="toy", out=out, **given))
    return list(read_sentences(out / "sentences.parquet"))


def write(path: Path, *sentences: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(sentences).encode()
    path.write_bytes(lzma.compress(text) if path.suffix == ".xz" else text)
    return path


def test_documents_and_splits_are_those_of_universal_dependencies(tmp_path: Path) -> None:
    """Splits by the names of files, packed or not; a document from one ``# newdoc`` to the next."""
    source = tmp_path / "ud"
    write(
        source / "toy-ud-train.conllu.xz",
        "# newdoc id = first\n", conllu("a", *TEA), conllu("b", *LONE),
        "# newdoc id = second/half\n", conllu("a", *LONE),
    )  # fmt: skip
    write(source / "toy-ud-dev.conllu", conllu("d", *TEA))
    write(source / "sub/toy-ud-test.conllu", conllu("e", *LONE).partition("\n")[2])
    found = ingest(source, tmp_path / "out", license="CC-BY-SA-4.0")
    assert {(s.sentence_id, s.split) for s in found} == {
        ("toy/first/a", "train"), ("toy/first/b", "train"), ("toy/second_half/a", "train"),
        ("toy/toy-ud-dev/d", "dev"), ("toy/toy-ud-test/1", "test"),
    }  # fmt: skip
    first = next(s for s in found if s.sentence_id == "toy/first/a")
    assert [bracketed(first.words, c.conjuncts) for c in first.coordinations] == [
        "[tea] and [milk] ."
    ]
    assert first.tree == "(ROOT (NP (NP (NOUN tea)) (CC and) (NP (NOUN milk))) (. .))"
    assert first.tags == ("NOUN", "CC", "NOUN", ".")
    assert {s.license for s in found} == {"CC-BY-SA-4.0"}


@pytest.mark.parametrize("name", ["{}", "de_hdt-ud-{}-a-1", "{}.of_mine"])
def test_a_split_stands_anywhere_in_the_name(tmp_path: Path, name: str) -> None:
    """Between marks; a file that says nothing among others that do is no guess."""
    (tmp_path / "ud").mkdir()
    for split in ("train", "dev", "test"):
        (tmp_path / "ud" / f"{name.format(split)}.conllu").write_text(conllu(split, *TEA))
    found = ingest(tmp_path / "ud", tmp_path / "out")
    assert {(s.doc_id, s.split) for s in found} == {
        (name.format(split), split) for split in ("train", "dev", "test")
    }
    (tmp_path / "ud" / "contest.conllu").write_text(conllu("d", *TEA))
    with pytest.raises(InputError, match=r"contest.*: its name has none of train, dev, test"):
        ingest(tmp_path / "ud", tmp_path / "out")


def test_files_of_other_names_are_split_by_share(tmp_path: Path) -> None:
    """Or as one says."""
    for number in range(10):
        write(tmp_path / f"ud/{number}.conllu", conllu("a", *TEA))
    found = ingest(tmp_path / "ud", tmp_path / "out")
    assert {s.split for s in found} == {"train", "dev", "test"}
    chosen = ingest(tmp_path / "ud", tmp_path / "own", split=["test=3", "train=*[0-24-9]"])
    assert [s.doc_id for s in chosen if s.split == "test"] == ["3"]


def test_what_cannot_be_read_is_counted_and_leaves_its_sentence_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would pass for one without coordination; conjuncts without a coordinator have none."""
    list_of_two = ("tea tea NOUN 0 root", ", , PUNCT 3 punct", "milk milk NOUN 1 conj")
    split = (
        "old old ADJ 5 amod", "tea tea NOUN 0 root", "and and CCONJ 5 cc", "so so ADV 2 advmod",
        "milk milk NOUN 2 conj",
    )  # fmt: skip
    blank = "1\tNew York\tx\tNOUN\t_\t_\t0\troot\t_\t_"
    write(
        tmp_path / "a.conllu", conllu("a", *TEA), conllu("b", *list_of_two), conllu("c", *split),
        conllu("d", "___ _ X 0 root", "___ _ X 1 dep"), f"{blank}\n\n",
    )  # fmt: skip
    found = ingest(tmp_path / "a.conllu", tmp_path / "out")
    assert [s.sentence_id.rpartition("/")[2] for s in found] == ["a", "b"]
    said = " ".join(capsys.readouterr().out.split())
    for reason in (UNJOINED, SPLIT, "underscores for its words", "blank in a word"):
        assert reason in said


def joined(name: str, word: str, *, glued: str = "_") -> str:
    """A sentence of two conjuncts and what joins them."""
    words = ("tee tee NOUN 0 root", f"{word} {word} CCONJ 3 cc", "melk melk NOUN 1 conj")
    return conllu(name, *(f"{each} _ {glued}" for each in words))


def test_sentences_without_a_name_are_numbered_among_all(tmp_path: Path) -> None:
    """So that ids stay where another version reads more of a document, or less."""
    one = conllu("", *TEA).partition("\n")[2]
    text = one + one.replace("tea\t", "10 000\t", 1) + one
    source = write(tmp_path / "toy-ud-train.conllu", text)
    assert [s.sentence_id for s in ingest(source, tmp_path / "out")] == [
        "toy/toy-ud-train/1", "toy/toy-ud-train/3",
    ]  # fmt: skip
    write(source, one, conllu("1", *TEA))
    with pytest.raises(InputError, match="this sent_id, or with none and this number"):
        ingest(source, tmp_path / "out")


def test_another_language_has_its_own_coordinators(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Words that join often enough, the most frequent first; in the file of sentences and in ingest.json."""
    said = ["En", *["of"] * 3, *["en"] * 4, "want", "maar", "maar"]
    alone = [conllu(f"x{n}", "maar maar ADV 2 advmod", "tee tee NOUN 0 root") for n in range(18)]
    source = write(
        tmp_path / "a.conllu", *(joined(str(n), word) for n, word in enumerate(said)), *alone,
        conllu("as", "tee tee NOUN 0 root", "as as CCONJ 3 cc", "melk melk NOUN 1 conj"),
        conllu("as2", "tee tee NOUN 0 root", "as as CCONJ 3 cc", "melk melk NOUN 1 conj"),
        *(conllu(f"y{n}", "as as ADV 2 advmod", "tee tee NOUN 0 root") for n in range(19)),
    )  # fmt: skip
    found = ingest(source, tmp_path / "out", split=["train=*"])
    # maar joins 2 of 20 times; as 2 of 21, and want once.
    assert coordinators_of(tmp_path / "out") == ("en", "of", "maar")
    assert {s.coordinators for s in found} == {frozenset({"en", "of", "maar"})}
    assert read_json(tmp_path / "out/ingest.json")["coordinators"] == ["en", "of", "maar"]
    assert sum(len(s.evaluable) for s in found) == 10
    told = "coordinators: en 5, of 3, maar 2; they join 10 of 13 structures; others, not evaluated: as 2"
    assert told in " ".join(capsys.readouterr().out.split())
    named = ingest(source, tmp_path / "named", split=["train=*"], coordinators=["of", "en"])
    assert coordinators_of(tmp_path / "named") == ("en", "of")
    assert sum(len(s.evaluable) for s in named) == 8


def test_the_training_split_says_them(tmp_path: Path) -> None:
    """What joins in held-out sentences alone is none of the corpus; of a corpus without training, it is."""
    write(tmp_path / "ud/af-train.conllu", *(joined(str(n), "en") for n in range(3)))
    write(tmp_path / "ud/af-test.conllu", *(joined(str(n), "of") for n in range(3)))
    ingest(tmp_path / "ud", tmp_path / "out")
    assert coordinators_of(tmp_path / "out") == ("en",)
    ingest(tmp_path / "ud/af-test.conllu", tmp_path / "test")
    assert coordinators_of(tmp_path / "test") == ("of",)


def test_english_keeps_the_usual_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the literature evaluates, whatever else joins, if half are joined by these; nothing is written."""
    source = write(
        tmp_path / "a.conllu",
        joined("a", "And"),
        joined("b", "nor"),
        joined("c", "&"),
        joined("d", "&"),
    )
    found = ingest(source, tmp_path / "out")
    assert {s.coordinators for s in found} == {COORDINATORS}
    assert read_schema(tmp_path / "out/sentences.parquet").metadata is None
    assert "coordinators" not in read_json(tmp_path / "out/ingest.json")
    assert "as usual of English: and, or, but, nor, and/or; they join 2 of 4" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.parametrize(
    ("sentences", "given", "message"),
    [
        ([conllu("a", *LONE)], {}, "a.conllu: no coordination in any sentence: no word joins conjuncts"),
        ([joined("a", "en")], {}, r"no word joins conjuncts often enough to be a coordinator: en \(1\)"),
        (
            [joined("a", "en"), joined("b", "en")], {"coordinators": ["en", "und", "oder"]},
            r"--coordinators: nothing is joined by und, oder here; conjuncts are by: en \(2\)",
        ),
        (
            [joined("a", "和", glued="SpaceAfter=No"), joined("b", "和", glued="SpaceAfter=No")], {},
            r"no space follows 100% of the words \(SpaceAfter=No\)",
        ),
    ],
)  # fmt: skip
def test_no_coordinators_are_one_line(
    tmp_path: Path, sentences: list[str], given: dict[str, Any], message: str
) -> None:
    """None in the data, unknown ones by the option, and a language without spaces between words."""
    source = write(tmp_path / "a.conllu", *sentences)
    with pytest.raises(InputError, match=message) as error:
        ingest(source, tmp_path / "out", **given)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("En,of", "'En' is not in lower case"),
        ("en,en", "named twice"),
        ("of [", "it has a space"),
        (",", "names nothing"),
    ],
)
def test_named_coordinators_are_words(words: str, message: str) -> None:
    """In lower case, each once; they may be separated by commas."""
    given = {"reader": "conllu", "source": "x", "out": "y"}
    assert IngestSettings.build({**given, "coordinators": ["en,of"]}, None).coordinators == [
        "en",
        "of",
    ]
    with pytest.raises(SettingsError, match=message):
        IngestSettings.build({**given, "coordinators": [words]}, None)


def test_a_strange_footer_is_one_line(tmp_path: Path) -> None:
    """A file of sentences may come from anywhere."""
    source = write(tmp_path / "a.conllu", joined("a", "en"), joined("b", "en"))
    ingest(source, tmp_path / "out")
    path = tmp_path / "out/sentences.parquet"
    for strange in ("[", "{}", "[]", "[1]", '["A"]', '["a", "a"]', '["a b"]', "[" * 100_000):
        table = pq.read_table(path).replace_schema_metadata({"conjoin.coordinators": strange})
        pq.write_table(table, path)
        with pytest.raises(
            InputError, match=r"its footer has no coordinators under conjoin\.coord"
        ):
            list(read_sentences(path))


def test_raw_text_of_another_language_may_name_its_own(tmp_path: Path) -> None:
    """So that it can be annotated; nobody says what they join."""
    write(tmp_path / "a.txt", "Jan en Piet loop .\n")
    given = {"reader": "text", "source": tmp_path / "a.txt", "name": "toy", "out": tmp_path / "out"}
    run(IngestSettings(**given, coordinators=["en", "of"]))
    assert coordinators_of(tmp_path / "out") == ("en", "of")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not CoNLL-U\n", "columns"),
        (conllu("a", "tea tea NOUN 2 dep", "pot pot NOUN 1 dep"), "circle"),
        (conllu("a", "tea tea NOUN 0 root", "pot pot NOUN 0 root"), "HEAD 0"),
        (conllu("a", "tea tea NOUN 7 dep"), "there are 1 words"),
        (conllu("a", *TEA) + conllu("a", *TEA), "two sentences of a document"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    """With its file and line."""
    write(tmp_path / "a.conllu", text)
    with pytest.raises(InputError, match=message) as error:
        ingest(tmp_path / "a.conllu", tmp_path / "out")
    assert "a.conllu" in str(error.value)


def test_a_folder_without_any(tmp_path: Path) -> None:
    (tmp_path / "ud").mkdir()
    with pytest.raises(InputError, match=r"no file \*\.conllu"):
        ingest(tmp_path / "ud", tmp_path / "out")


def rows_of_corpus(corpus: Path) -> dict[str, tuple[str, bool]]:
    """The dependency trees of a corpus, and whether each is a parser's, by the end of its sentence's id."""
    found = read_rows(corpus / "dependencies.parquet", DEPENDENCIES)
    return {row["sentence_id"].rpartition("/")[2]: (row["rows"], row["parsed"]) for row in found}


def test_dependency_trees_are_kept(tmp_path: Path) -> None:
    """As the file has them, without comments; a corpus of another format has none."""
    write(tmp_path / "ud/a.conllu", conllu("a", *TEA), conllu("b", *LONE))
    ingest(tmp_path / "ud", tmp_path / "out")
    kept = rows_of_corpus(tmp_path / "out")
    assert kept["a"] == (conllu("a", *TEA).partition("\n")[2].strip(), False)
    assert kept.keys() == {"a", "b"}
    require_ingested(tmp_path / "out", "dependencies.parquet")
    (tmp_path / "brackets.mrg").write_text("(S (NN tea) (VBZ cools))\n")
    run(IngestSettings(reader="treebank", source=tmp_path / "brackets.mrg", out=tmp_path / "out"))
    assert not (tmp_path / "out/dependencies.parquet").exists()


def test_changed_dependency_trees_are_found_out(tmp_path: Path) -> None:
    """They are one of the files that ingest recorded."""
    write(tmp_path / "ud/a.conllu", conllu("a", *TEA))
    ingest(tmp_path / "ud", tmp_path / "out")
    path = tmp_path / "out/dependencies.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    with pytest.raises(InputError, match="not as ingest wrote it"):
        require_ingested(tmp_path / "out", "dependencies.parquet")


COLD = ("green green ADJ 2 amod", "tea tea NOUN 0 root", "cools cool VERB 2 acl")


def with_text(tmp_path: Path, *files: str, **given: Any) -> list[Sentence]:
    """A corpus of one treebank with files of CoNLL-U or text as unlabelled."""
    write(tmp_path / "ud/toy-ud-train.conllu", conllu("a", *TEA), conllu("b", *LONE))
    sources = [tmp_path / name for name in files]
    return ingest(tmp_path / "ud", tmp_path / "out", unlabelled=sources, **given)


def test_parsed_text_is_unlabelled(tmp_path: Path) -> None:
    """Nobody annotated it, whatever the parser takes for a coordination; its trees are kept."""
    write(tmp_path / "parsed.conllu.xz", conllu("a", *TEA), conllu("u", *COLD))
    found = with_text(tmp_path, "parsed.conllu.xz", unlabelled_license="CC0-1.0")
    text = {s.sentence_id: s for s in found if s.doc_id == "parsed.conllu.xz"}
    assert text.keys() == {"toy/parsed.conllu.xz/a", "toy/parsed.conllu.xz/u"}
    for each in text.values():
        assert (each.split, each.license) == ("train", "CC0-1.0")
        assert (each.tags, each.tree, each.coordinations) == (None, None, ())
    coordinated, plain = sorted(text.values(), key=lambda s: s.sentence_id)
    assert (is_undecided(coordinated), is_undecided(plain)) == (True, False)
    assert (is_unlabelled_seed(coordinated, 1), is_unlabelled_seed(plain, 1)) == (False, True)
    rows = [*read_rows(tmp_path / "out/dependencies.parquet", DEPENDENCIES)]
    assert [row["parsed"] for row in rows] == [False, False, True, True]
    assert rows[3]["rows"] == conllu("u", *COLD).partition("\n")[2].strip()
    card = ingest_card(tmp_path / "out")
    assert card["unlabelled"]["kept"] == 2


def test_some_of_parsed_text(tmp_path: Path) -> None:
    """From a folder, by its documents, evenly spread."""
    sentences = (conllu(str(number), *COLD) for number in range(9))
    write(tmp_path / "parsed/x/1.conllu", "# newdoc id = first\n", *sentences)
    found = with_text(tmp_path, "parsed", most_unlabelled=3)
    text = [s for s in found if s.tree is None]
    assert [s.sentence_id.rpartition("/")[2] for s in text] == ["0", "3", "6"]
    assert {s.doc_id for s in text} == {"x/1.conllu/first.conllu"}


@pytest.mark.parametrize("both", [("parsed.conllu", "raw.txt"), ("mixed",)])
def test_raw_and_parsed_text_are_not_mixed(tmp_path: Path, both: tuple[str, ...]) -> None:
    """Nor are the sentences of a parse cut anew."""
    for folder in (tmp_path, tmp_path / "mixed"):
        write(folder / "parsed.conllu", conllu("u", *COLD))
        write(folder / "raw.txt", "Tea cools.\n")
    with pytest.raises(InputError, match="raw text beside CoNLL-U"):
        with_text(tmp_path, *both)
    with pytest.raises(SettingsError, match="sentences of a parse are given"):
        with_text(tmp_path, "parsed.conllu", segment="punkt")
    with pytest.raises(InputError, match="two unlabelled texts"):
        with_text(tmp_path, "parsed.conllu", "parsed.conllu")


def test_preparse_takes_parsed_text_for_what_it_is(tmp_path: Path) -> None:
    """Its trees are beside the treebank's, called a parser's; what that learned from is not known."""
    write(tmp_path / "parsed.conllu", conllu("a", *TEA), conllu("u", *COLD))
    with_text(tmp_path, "parsed.conllu")
    preparse(PreparseSettings(corpus=tmp_path / "out", parser="treebank", min_words=2))
    trees = [*read_rows(next((tmp_path / "out/trees").glob("trees-*")), TREES)]
    assert [(row["sentence_id"].rpartition("/")[2], row["parser"]) for row in trees] == [
        ("b", "treebank"), ("u", TEXT_PARSER),
    ]  # fmt: skip
    assert trees[1]["tree"] == "(ROOT (NP (ADJP (ADJ green)) (NOUN tea) (VERB cools)))"
    record = annotation_of_trees(tmp_path / "out/trees")
    assert [(part.corpus, part.part, part.trees) for part in record] == [
        (TEXT_PARSER, "unknown", 0), ("toy", "others", 1),
    ]  # fmt: skip
    assert parser_of_trees(tmp_path / "out/trees") == f"treebank and {TEXT_PARSER}"


def test_trees_of_another_parse_are_found_out(tmp_path: Path) -> None:
    """The sentences alone do not tell."""
    write(tmp_path / "parsed.conllu", conllu("u", *COLD))
    with_text(tmp_path, "parsed.conllu")
    preparse(PreparseSettings(corpus=tmp_path / "out", parser="treebank", min_words=2))
    folder, sentences = tmp_path / "out/trees", tmp_path / "out/sentences.parquet"
    assert len(find_trees(folder, sentences)) == 2
    write(tmp_path / "parsed.conllu", conllu("u", *COLD[:2], "cools cool NOUN 2 dep"))
    with_text(tmp_path, "parsed.conllu")
    with pytest.raises(InputError, match="other sentences than the corpus has"):
        find_trees(folder, sentences)
