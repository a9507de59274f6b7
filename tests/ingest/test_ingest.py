"""The ingest stage: what it writes, the labelled draw, and nothing half-written."""

import shutil
from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pipeline.cli import main
from pipeline.core.corpora import CORPORA
from pipeline.core.corpus_folder import require_ingested
from pipeline.core.documents import read_json
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.files import FileFacts, sha256_of, write_json
from pipeline.core.schema import read_sentences
from pipeline.core.types import Coordination, Sentence, Span
from pipeline.ingest import stage
from pipeline.ingest.draws import draw, drawable
from pipeline.ingest.readers import READERS
from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.stage import run
from pipeline.sharing.corpora import command as corpora
from pipeline.sharing.corpora.settings import CorporaSettings
from pipeline.text.coordinations import ONE_SIDED
from pipeline.text.natural import join_words

IDS = [f"s{i}" for i in range(100)]
COORDINATED = "( (NP (NN oil) (CC and) (NN gas)) )\n"
PLAIN = "( (S (NP (DT the) (NN dog)) (VP (VBD ran) (PP (IN to) (NP (NN Rome)))) (. .)) )\n"


def treebank(folder: Path) -> Path:
    """Train: 12 coordinated trees, one by plus, two without; test: one coordinated."""
    folder.mkdir()
    plus = COORDINATED.replace("and", "plus")
    long = f"( (NP {'(NN word)' * 9} (CC But)) )\n"
    (folder / "wsj_0201.mrg").write_text(COORDINATED * 12 + plus + PLAIN + long)
    (folder / "wsj_2301.mrg").write_text(COORDINATED)
    (folder / "wsj_2401.mrg").write_text(PLAIN)
    return folder


def ingest(source: Path, out: Path, **given: Any) -> None:
    run(
        IngestSettings.build(
            {
                "reader": "ptb", "name": given.get("reader", "ptb"), "source": source, "out": out,
                "labelled": [5], **given,
            },
            None,
        )
    )  # fmt: skip


def test_everything_is_written(tmp_path: Path) -> None:
    """Sentences in corpus order, draws per size and seed, and the counts."""
    out = tmp_path / "out"
    ingest(treebank(tmp_path / "ptb"), out, labelled=[5, 10], seeds=[0, 3])
    sentences = list(read_sentences(out / "sentences.parquet"))
    assert [s.sentence_id for s in sentences[:2]] == ["ptb/wsj_0201/1", "ptb/wsj_0201/2"]
    assert len(sentences) == 16
    assert {s.license for s in sentences} == {"LDC-User-Agreement"}
    counts = read_json(out / "ingest.json")
    record = {key: counts.pop(key) for key in ("about", "code", "digest", "files", "fingerprint")}
    assert record["files"] == {
        name: asdict(FileFacts.of(out / name, rows))
        for name, rows in {
            "sentences.parquet": 16, "text.txt": 15,
            **{f"draws/seed-{seed}/{n}.json": None for seed in (0, 3) for n in (5, 10)},
        }.items()
    }  # fmt: skip
    assert counts == {
        "reader": "ptb",
        "name": "ptb",
        "splits": {
            "train": {"sentences": 15, "with_coordination": 12, "instances": 12,
                      "evaluable_instances": 12},
            "dev": {"sentences": 0, "with_coordination": 0, "instances": 0,
                    "evaluable_instances": 0},
            "test": {"sentences": 1, "with_coordination": 1, "instances": 1,
                     "evaluable_instances": 1},
        },
        "labels": {"train": {"NP": 12}, "dev": {}, "test": {"NP": 1}},
        "unlabelled_seeds": {"without_coordination": 3, "of_10_words_or_more": 1},
        "raw_text": 15,
        "held_out_in_training": 1,
        "refused": {"tree of a file outside sections 02-23": 1, ONE_SIDED: 1},
        "draws": {
            f"seed-{seed}/{n}": {"labelled": n, "validation": n // 5}
            for seed in (0, 3) for n in (5, 10)
        },
    }  # fmt: skip
    lines = (out / "text.txt").read_text().splitlines()
    assert lines == [join_words(s.words).text for s in sentences if s.split == "train"]
    stored = read_json(out / "draws/seed-3/10.json")
    expected = draw(drawable(sentences), 10, 3)
    assert stored == {
        "labelled": list(expected.labelled),
        "validation": list(expected.validation),
    }
    assert {p.name for p in out.iterdir() if not p.name.startswith(".")} == {
        "sentences.parquet", "text.txt", "ingest.json", "draws",
    }  # fmt: skip


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    """Two runs write equal files."""
    source = treebank(tmp_path / "ptb")
    for name in ("a", "b"):
        ingest(source, tmp_path / name, seeds=[1])
    for file in ("sentences.parquet", "ingest.json", "draws/seed-1/5.json"):
        assert sha256_of(tmp_path / "a" / file) == sha256_of(tmp_path / "b" / file)


def test_draws_of_an_earlier_ingest_are_removed(tmp_path: Path) -> None:
    """After a second ingest only its own draws are there."""
    source = treebank(tmp_path / "ptb")
    ingest(source, tmp_path / "out", labelled=[5, 10])
    ingest(source, tmp_path / "out", labelled=[10])
    assert [p.name for p in (tmp_path / "out/draws").rglob("*.json")] == ["10.json"]


def test_text_has_no_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A corpus without coordination is no error: the draws folder stays empty, and that is said."""
    (tmp_path / "a.txt").write_text("The dog ran.\n")
    ingest(tmp_path / "a.txt", tmp_path / "out", reader="text", license="CC0-1.0")
    assert list((tmp_path / "out/draws").iterdir()) == []
    assert (
        "no coordination in the training split: no labelled sets drawn" in capsys.readouterr().out
    )
    (sentence,) = read_sentences(tmp_path / "out/sentences.parquet")
    assert (sentence.license, sentence.tags, sentence.tree) == ("CC0-1.0", None, None)


def test_text_with_a_coordinator_is_counted_out_of_u(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of long sentences only; the counts say why, in the file and on the screen."""
    lines = [
        "She saw a dog near the big old river bank .",
        "He saw a dog And a cat near the river bank .",
    ]
    (tmp_path / "a.txt").write_text("\n".join([*lines, "You or me .", "Come here ."]) + "\n")
    ingest(tmp_path / "a.txt", tmp_path / "out", reader="text", license="CC0-1.0")
    assert read_json(tmp_path / "out/ingest.json")["unlabelled_seeds"] == {
        "without_coordination": 2,
        "of_10_words_or_more": 1,
        "and_without_coordinator_word": 1,
        "refused: coordinator in raw text": 1,
    }
    assert "refused: coordinator in raw text" in capsys.readouterr().out


def test_the_embedded_world_is_ingested(tmp_path: Path) -> None:
    """The world's reader gives as many sentences as asked for, with coordination in train."""
    world = Path(__file__).resolve().parents[2] / "data/raw/world"
    ingest(world, tmp_path / "out", reader="world", sentences=90)
    counts = read_json(tmp_path / "out/ingest.json")
    assert sum(row["sentences"] for row in counts["splits"].values()) == 90
    assert counts["splits"]["train"]["with_coordination"] > 6


def test_the_world_has_more_raw_text_than_sentences(tmp_path: Path) -> None:
    """`raw` lines follow those of the training split, and repeat none of the sentences."""
    world = Path(__file__).resolve().parents[2] / "data/raw/world"
    ingest(world, tmp_path / "out", reader="world", sentences=90, raw=40)
    sentences = list(read_sentences(tmp_path / "out/sentences.parquet"))
    lines = (tmp_path / "out/text.txt").read_text().splitlines()
    training = [join_words(s.words).text for s in sentences if s.split == "train"]
    assert lines[: len(training)] == training
    assert len(lines) == len(training) + 40
    assert not {join_words(s.words).text for s in sentences} & set(lines[len(training) :])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"labelled": [5, 500]},
            "a draw of 500 needs 600 training .* the corpus has 12.* --labelled full",
        ),
        ({"source": "empty", "reader": "treebank"}, "empty: no file in this folder"),
        ({"source": "nothing"}, "no such file or folder"),
        ({"reader": "genia"}, "found 0 archives"),
        ({"reader": "ptb-ext"}, "no such file"),
    ],
)
def test_errors_leave_no_trace(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    """On any error the corpus folder is not even made."""
    source = treebank(tmp_path / "ptb")
    (tmp_path / "empty").mkdir()
    if "source" in given:
        given = {**given, "source": tmp_path / given["source"]}
    with pytest.raises(InputError, match=message):
        ingest(**{"source": source, "out": tmp_path / "out", **given})
    assert not (tmp_path / "out").exists()


def test_an_error_keeps_what_an_earlier_ingest_wrote(tmp_path: Path) -> None:
    """A failing second run leaves the files of the first as they were."""
    source, out = treebank(tmp_path / "ptb"), tmp_path / "out"
    ingest(source, out)
    before = {p: sha256_of(p) for p in out.rglob("*") if p.is_file()}
    (source / "wsj_2302.mrg").write_text("( (NP (NN dog))")
    with pytest.raises(InputError, match=r"wsj_2302\.mrg:1: "):
        ingest(source, out)
    assert {p: sha256_of(p) for p in out.rglob("*") if p.is_file()} == before


class Killed(BaseException):
    """What ends a command in the middle."""


WRITERS = ("write_rows", "_write_text", "_write_draws", "write_json")


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("after", [False, True])
def test_an_interrupted_ingest_does_not_pass_for_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: str, after: bool
) -> None:
    """Killed before or after any of its files, over an older corpus or the first time; then run again."""
    source, out, new = treebank(tmp_path / "ptb"), tmp_path / "out", tmp_path / "new"
    ingest(source, out, labelled=[5, 10])
    require_ingested(out, *FILES)
    real = getattr(stage, writer)

    def killed(*given: Any) -> Any:
        if after:
            real(*given)
        raise Killed

    monkeypatch.setattr(stage, writer, killed)
    (source / "wsj_0202.mrg").write_text(COORDINATED * 3)
    for corpus in (out, new):
        with pytest.raises(Killed):
            ingest(source, corpus)
        if (corpus / "draws").exists():  # else nothing was written at all
            for name in FILES:
                with pytest.raises(
                    InputError, match=r"did not finish here; run `conjoin ingest` again"
                ):
                    require_ingested(corpus, name)
    monkeypatch.undo()
    for corpus in (out, new):
        ingest(source, corpus)
        require_ingested(corpus, *FILES)
    assert sha256_of(out / "ingest.json") == sha256_of(new / "ingest.json")


FILES = ("sentences.parquet", "text.txt", "draws/seed-0/5.json")


def _bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("change", [_bit, Path.unlink, lambda path: path.write_bytes(b"")])
def test_another_file_than_ingest_wrote_is_reported(
    tmp_path: Path, name: str, change: Callable[[Path], object]
) -> None:
    """One bit of what is read; of other files at least that they are there, and as long."""
    out = tmp_path / "out"
    ingest(treebank(tmp_path / "ptb"), out)
    change(out / name)
    with pytest.raises(
        InputError, match=rf"{name}: not as ingest wrote it: .*run `conjoin ingest`"
    ):
        require_ingested(out, name)
    if change is not _bit and name != "sentences.parquet":
        with pytest.raises(InputError, match=f"{name}: not as ingest wrote it"):
            require_ingested(out)


def test_a_draw_that_ingest_did_not_write_is_reported(tmp_path: Path) -> None:
    """One that was left, or put there; one that is missing is its reader's to tell."""
    out = tmp_path / "out"
    ingest(treebank(tmp_path / "ptb"), out)
    require_ingested(out, "draws/seed-0/10.json")
    (out / "draws/seed-0/10.json").write_text("{}")
    with pytest.raises(InputError, match=r"10\.json: ingest did not write this file"):
        require_ingested(out, "draws/seed-0/10.json")


def test_a_corpus_of_an_earlier_version_is_reported(tmp_path: Path) -> None:
    """Its counts have no record; a record that was changed is another thing."""
    out = tmp_path / "out"
    ingest(treebank(tmp_path / "ptb"), out)
    card = read_json(out / "ingest.json")
    write_json(out / "ingest.json", card | {"raw_text": 3})
    with pytest.raises(InputError, match=r"ingest\.json: not as ingest wrote it"):
        require_ingested(out)
    write_json(out / "ingest.json", {"reader": "ptb", "splits": {}})
    with pytest.raises(InputError, match=r"an earlier version ingested this corpus.*; run"):
        require_ingested(out)


def test_sentences_from_elsewhere_need_no_record(tmp_path: Path) -> None:
    """A folder with sentences and text alone is not one that ingest left unfinished."""
    out, other = tmp_path / "out", tmp_path / "other"
    ingest(treebank(tmp_path / "ptb"), out)
    other.mkdir()
    for name in ("sentences.parquet", "text.txt"):
        shutil.copy(out / name, other)
    require_ingested(other)
    require_ingested(other, "text.txt")


def test_no_corpus_is_reported_as_that(tmp_path: Path) -> None:
    """A folder that is not there, is empty, or has a name that another is like; text alone may do."""
    ingest(treebank(tmp_path / "ptb"), tmp_path / "mine")
    for name in ("elsewhere", "mien"):
        for _ in range(2):
            with pytest.raises(InputError, match=f"{name}: no corpus here.* run `conjoin ingest`"):
                require_ingested(tmp_path / name)
            (tmp_path / name).mkdir(exist_ok=True)
    with pytest.raises(InputError, match="did you mean 'mine'"):
        require_ingested(tmp_path / "mien", "text.txt")
    (tmp_path / "mien/text.txt").write_text("a\n")
    require_ingested(tmp_path / "mien", "text.txt")


def test_repeated_ids_are_reported(tmp_path: Path) -> None:
    """The same file twice in a folder would give two sentences one id."""
    source = treebank(tmp_path / "ptb")
    (source / "copy").mkdir()
    (source / "copy/wsj_2301.mrg").write_text(COORDINATED)
    with pytest.raises(
        InputError, match=r"2 sentences have the same id \(sentence ptb/wsj_2301/1\)"
    ):
        ingest(source, tmp_path / "out")


def test_nothing_to_keep_is_reported(tmp_path: Path) -> None:
    """A source that yields no sentence is an error."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source/wsj_2401.mrg").write_text(PLAIN)
    with pytest.raises(InputError, match="no sentence to keep"):
        ingest(tmp_path / "source", tmp_path / "out")


def test_command_line_prints_one_line_and_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing split list ends the command with exit code 2 and one line."""
    arguments = ["ingest", "genia", "x", "--out", "y", "--split-lists", "no-lists"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["conjoin", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "conjoin: no-lists/train.pmids: missing split list; "
        "the folder must hold train.pmids, dev.pmids and test.pmids"
    ]


@pytest.mark.long
def test_genia_prints_table_1(genia: tuple[Path, str]) -> None:
    """The command shows the paper's counts and its two draws."""
    out, said = genia
    rows = [line.replace("│", " ").split() for line in said.splitlines()]
    for row in (
        "sentences 14,326 1,361 1,360",
        "with coordination 8,101 777 773",
        "instances 11,596 1,146 1,166",
        "evaluable instances 11,530 1,136 1,157",
        "UCP 169 8 9",
        "without coordination 6,225",
        "of 10 words or more 5,927",
        "and without coordinator word 5,571",
        "sentence of an article in no split list 1,494",
    ):
        assert row.split() in rows
    small, large = (read_json(out / f"draws/seed-0/{n}.json") for n in (250, 500))
    assert (len(large["labelled"]), len(large["validation"])) == (500, 100)
    assert set(small["labelled"]) < set(large["labelled"])


def test_draw_has_its_sizes_and_no_overlap() -> None:
    """Size n for training, n/5 for validation, disjoint and all from the ids given."""
    drawn = draw(IDS, 50, 0)
    assert (len(drawn.labelled), len(drawn.validation)) == (50, 10)
    assert len({*drawn.labelled, *drawn.validation}) == 60
    assert {*drawn.labelled, *drawn.validation} <= set(IDS)


def test_draw_does_not_depend_on_order() -> None:
    """It is a function of (seed, set of ids)."""
    assert draw(reversed(IDS), 20, 7) == draw(IDS, 20, 7)
    assert draw(IDS, 20, 7) != draw(IDS, 20, 8)


def test_draw_is_fixed_for_ever() -> None:
    """The very ids of one draw: another generator would silently be another experiment."""
    drawn = draw(IDS[:12], 5, 0)
    assert drawn.labelled == ("s11", "s10", "s3", "s6", "s7")
    assert drawn.validation == ("s4",)
    assert draw(IDS[:12], 5, 0, 3).validation[-1:] == drawn.validation
    assert len(draw(IDS[:12], 5, 0, 3).validation) == 3


def test_smaller_draws_are_parts_of_larger_ones() -> None:
    """No validation sentence of one size is a training sentence of another."""
    draws = [draw(IDS, n, 3) for n in (10, 40, 80)]
    for small, large in pairwise(draws):
        assert set(small.labelled) < set(large.labelled)
        assert set(small.validation) < set(large.validation)
    held_out = {i for d in draws for i in d.validation}
    assert not held_out & {i for d in draws for i in d.labelled}


def test_draw_refuses_what_it_cannot_do() -> None:
    """Too few sentences, or a size without validation sentences."""
    assert len(draw(IDS[:60], 50, 0).validation) == 10
    with pytest.raises(InputError, match=r"needs 60 .* the corpus has 59; .* --labelled full"):
        draw(IDS[:59], 50, 0)
    with pytest.raises(InputError, match=r"a draw of full needs 6 .* has 5; ingest more of it"):
        draw(IDS[:5], "full", 0)
    with pytest.raises(SettingsError, match="at least 5, was 4"):
        draw(IDS, 4, 0)


def test_drawn_from_training_sentences_with_evaluable_coordination() -> None:
    """Other splits, other coordinators and sentences without coordination are not drawn from."""

    def sentence(name: str, split: str, *words: str) -> Sentence:
        found = tuple(Coordination(1, w, "NP", (Span(0, 1), Span(2, 3))) for w in words)
        return Sentence(name, "d", split, ("a", "b", "c"), None, None, found, "L")

    sentences = [
        sentence("and", "train", "and"), sentence("BUT", "train", "BUT"),
        sentence("plus", "train", "plus"), sentence("both", "train", "plus", "and/or"),
        sentence("none", "train"), sentence("test", "test", "and"),
    ]  # fmt: skip
    assert drawable(sentences) == ["and", "BUT", "both"]


def test_corpora_tells_origin_and_licence(capsys: pytest.CaptureFixture[str]) -> None:
    """Every reader is described, with licence and the command that reads it."""
    corpora.run(CorporaSettings.build({}, None))
    out = capsys.readouterr().out
    assert "corrected CORPUS/annotated.jsonl --of CORPUS --out data/corrected\n" in out
    for reader in READERS.keys() - {"corrected"}:
        place = "NAME" if "NAME" in CORPORA[reader].place else reader
        assert f"conjoin ingest {reader} data/raw/{place}" in out
        assert f"--out data/{place}\n" in out
    for fact in ("LDC99T42", "CC BY 3.0", "PubMed", "Apache-2.0", "no: neither the text"):
        assert fact in out


@pytest.mark.parametrize(("license_", "said"), [
    ("unknown", "of 1 sentence (nobody has named a licence): elsewhere than in this folder it is written "
                "with --own-use alone, and is in no release; where one is known, name it with"),
    ("CC-BY-ND-4.0", "licence 'CC-BY-ND-4.0' forbids handing on the text of 1 sentence ("),
    ("CC-BY-4.0", None),
])  # fmt: skip
def test_text_that_may_not_be_handed_on_is_named_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], license_: str, said: str | None
) -> None:
    """Not only when candidates have been made of it for hours."""
    text = tmp_path / "text.txt"
    text.write_text("The nurse was angry .\n")
    run(IngestSettings(reader="text", source=text, out=tmp_path / "out", license=license_))
    out = capsys.readouterr().out
    assert said in out if said else "handing on" not in out


@pytest.mark.parametrize("license_", ["", " ", "CC-BY-4.0\n"])
def test_a_licence_has_a_name_on_one_line(tmp_path: Path, license_: str) -> None:
    """It would stand in every row."""
    with pytest.raises(ValidationError, match="names no licence"):
        IngestSettings(reader="text", source=tmp_path, out=tmp_path, license=license_)


def test_full_takes_all_but_the_validation_sentences(tmp_path: Path) -> None:
    """A sixth is held out, a fifth of what is left; smaller draws of the seed are parts of it."""
    drawn = draw(IDS, "full", 3)
    assert (len(drawn.labelled), len(drawn.validation)) == (84, 16)
    assert {*drawn.labelled, *drawn.validation} == set(IDS)
    small = draw(IDS, 80, 3)
    assert drawn.labelled[:80] == small.labelled
    assert set(small.validation) <= set(drawn.validation)
    assert len(draw(IDS, "full", 3, validation=30).labelled) == 70
    with pytest.raises(InputError, match=r"a draw of full needs 6 .* the corpus has 5"):
        draw(IDS[:5], "full", 0)
    out = tmp_path / "out"
    ingest(treebank(tmp_path / "ptb"), out, labelled=[5, "full"], seeds=[2])
    stored = read_json(out / "draws/seed-2/full.json")
    assert (len(stored["labelled"]), len(stored["validation"])) == (10, 2)
    assert read_json(out / "ingest.json")["draws"]["seed-2/full"] == {
        "labelled": 10,
        "validation": 2,
    }


def test_sizes_of_l_are_numbers_or_full() -> None:
    """From the command line and from params.yaml alike; anything else is named."""
    given = {"reader": "ptb", "source": "x", "out": "y"}
    assert IngestSettings.build({**given, "labelled": [250, "full"]}, None).sizes == [250, "full"]
    assert IngestSettings.build({**given, "labelled": ["250"]}, None).sizes == [250]
    with pytest.raises(SettingsError, match="numbers of sentences above 0 or 'full', was 'ful'"):
        IngestSettings.build({**given, "labelled": ["ful"]}, None)
