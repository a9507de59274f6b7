"""`ingest conllu`: documents, splits and names of a treebank of dependencies, and what is refused."""

import lzma
from pathlib import Path
from typing import Any

import pytest
from treebank import conllu

from pipeline.core.errors import InputError
from pipeline.core.schema import read_sentences
from pipeline.core.types import Sentence, bracketed
from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.stage import run
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


def test_another_language_is_refused(tmp_path: Path) -> None:
    """Its sentences would all pass for some without coordination."""
    words = ("tee tee NOUN 0 root", "en en CCONJ 3 cc", "melk melk NOUN 1 conj")
    write(tmp_path / "a.conllu", conllu("a", *words), conllu("b", *words), conllu("c", *TEA))
    with pytest.raises(InputError, match=r"en \(2\).* none of and"):
        ingest(tmp_path / "a.conllu", tmp_path / "out")


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
