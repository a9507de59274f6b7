"""Questions as a dataset repository: with their text, and without it for who has the source."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from pipeline.cli import app
from pipeline.core.corpora import COORDINATION
from pipeline.core.corpus_folder import SENTENCES_FILE, TEXT_FILE, ingest_output
from pipeline.core.documents import read_json
from pipeline.core.errors import ConjoinError, InputError, SettingsError
from pipeline.core.files import FileFacts, sha256_of, write_json, write_text
from pipeline.core.parquet import MANIFEST, write_rows
from pipeline.core.questions import (
    CORE_PAIRS,
    CORE_PAIRS_FILE,
    EVENT_PAIRS,
    event_pair_id,
    question_candidate_id,
)
from pipeline.core.schema import SENTENCES, read_sentences, sentence_row
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence
from pipeline.ingest.readers.asked import read_asked
from pipeline.release.kinds.card import said
from pipeline.release.questions.places import (
    events_at,
    is_form_of_events,
    place_of_clause,
    places_of_events,
)
from pipeline.release.questions.rows import MadeQuestions
from pipeline.release.questions.stand_off import NOT_IN_A_ROW
from pipeline.release.settings import ReleaseSettings
from pipeline.release.stage import run as release
from pipeline.sharing.push.command import run as push
from pipeline.sharing.push.settings import PushSettings
from pipeline.sharing.rehydrate.command import run as rehydrate
from pipeline.sharing.rehydrate.settings import RehydrateSettings
from pipeline.sharing.validate import command as validate
from pipeline.sharing.validate.settings import ValidateSettings
from pipeline.tasks.questions import leakage
from pipeline.tasks.questions.ask import stage as ask
from pipeline.tasks.questions.ask.settings import AskSettings
from pipeline.tasks.questions.rows import QuestionRows
from pipeline.train.candidate_location import find_location

SECRET = "LicenseRef-textbook"  # noqa: S105 - no password
"""Of text that may not be handed on."""

THINGS = ("jar", "lamp", "boat", "clock", "letter", "window", "plate", "Vase")
EVENT = {"predicate": "be", "negated": False, "passive": False, "arguments": []}


def build(folder: Path, license_: str = SECRET) -> Path:
    """17 sentences of a book, half of which begin with their effect, their pairs, and questions of them."""
    sentences, pairs, cores = list[Sentence](), list[dict[str, Any]](), list[dict[str, Any]]()

    def add(text: str, former: str, latter: str, connective: str, events: tuple[str, str]) -> None:
        own, sides = f"book/{len(pairs)}", (former.split(), latter.split())
        sentences.append(Sentence(own, own, "train", tuple(text.split()), None, None, (), license_))
        pairs.append({
            "pair_id": event_pair_id(own, *sides, connective), "sentence_id": own, "former": sides[0],
            "latter": sides[1], "connective": connective, "former_event": EVENT, "latter_event": EVENT,
            "license": license_,
        })  # fmt: skip
        # The thing is the former event's, as a recovered argument is.
        cores.append({
            "pair_id": pairs[-1]["pair_id"], "former_core": events[0], "latter_core": events[1],
            "recovered": None,
        })  # fmt: skip

    for each in THINGS:
        thing = each.lower()
        former, latter = f"he dropped the {each}", f"The {each} broke"
        events = (f"drop(object {thing})", f"broke(subject {thing})")
        add(f"{latter} because {former} .", former, latter, "because", events)
        former, latter = f"Mary painted the {each}", "nobody saw it"
        events = (f"paint(subject Mary, object {thing})", f"not saw(object {thing})")
        add(f"{former} , so {latter} .", former, f"{latter}", "so", events)
    former, latter = (
        "he dropped the bag",
        "the old man and his two sons went all the way to the market",
    )
    add(
        f"When {former} , {latter} .",
        former,
        latter,
        "when",
        ("drop(object bag)", "went(to market)"),
    )
    folder.mkdir(parents=True)
    write_rows(folder / SENTENCES_FILE, SENTENCES, map(sentence_row, sentences))
    write_text(folder / TEXT_FILE, "".join(f"{' '.join(s.words)}\n" for s in sentences))
    facts = {name: FileFacts.of(folder / name) for name in (SENTENCES_FILE, TEXT_FILE)}
    ingest_output(folder).finish(facts, {"reader": "text", "name": "book", "task": COORDINATION})
    made = folder / "pairs/parsed"
    made.mkdir(parents=True)
    path = made / "pairs-00000-of-00001.parquet"
    write_rows(path, EVENT_PAIRS, pairs)
    facts_of = FileFacts.of(path, len(pairs))
    shard = {
        "file": path.name, "rows": facts_of.rows, "bytes": facts_of.bytes, "sha256": facts_of.sha256,
    }  # fmt: skip
    write_json(made / MANIFEST, {"command": "conjoin pair", "shards": [shard]})
    beside = {"conjoin.fingerprint": sha256_of(made / MANIFEST)}
    write_rows(made / CORE_PAIRS_FILE, CORE_PAIRS, cores, beside)
    ask.run(AskSettings(pairs=made, choice_band="-", context_band="-", unit=9))
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A corpus whose text may not be handed on, and its stand-off release."""
    folder = tmp_path_factory.mktemp("questions")
    corpus = build(folder / "book")
    release(settings(corpus, folder / "bare", stand_off=True))
    return corpus, folder / "bare"


@pytest.fixture
def bare(built: tuple[Path, Path], tmp_path: Path) -> Path:
    """A copy of the release."""
    shutil.copytree(built[1], tmp_path / "bare")
    return tmp_path / "bare"


def settings(corpus: Path, out: Path, **given: Any) -> ReleaseSettings:
    return ReleaseSettings(candidates=corpus / "candidates/asked/seed-0", out=out, **given)


def back(bare: Path, source: Path, out: Path) -> Path:
    rehydrate(RehydrateSettings(release=bare, source=source, out=out))
    return out


def rows(folder: Path, pattern: str) -> list[dict[str, Any]]:
    return [r for path in sorted(folder.glob(pattern)) for r in pq.read_table(path).to_pylist()]


def violations(place: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, int]:
    """Kinds of violations with their counts."""
    capsys.readouterr()
    with suppress(SystemExit):
        validate.run(ValidateSettings.model_validate({"place": place, "json_": True}))
    found = json.loads(capsys.readouterr().out)["violations"]
    return {kind: each["count"] for kind, each in found.items()}


def test_text_that_may_not_be_handed_on_is_released_without_it(
    built: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No word of it is in any file; with it no release is made, and the remedy names --stand-off."""
    corpus, bare = built
    with pytest.raises(InputError, match=r"textbook.*--stand-off"):
        release(settings(corpus, tmp_path / "full"))
    manifest = read_json(bare / MANIFEST)
    assert manifest["stand_off"] is True
    assert (manifest["task"], manifest["name"]) == ("questions", "conjoin-book-pseudo-questions")
    assert manifest["sources"][0]["sentences"] == {"train": 17}
    assert (
        manifest["annotation"]
        == read_json(corpus / "candidates/asked/seed-0" / MANIFEST)["annotation"]
    )
    for config, pattern in (("train", "data/*"), ("rejected", "rejected/*")):
        for path in bare.glob(pattern):
            assert pq.read_schema(path).equals(MadeQuestions.stand_off[config])
    kept = json.dumps(rows(bare, "*/*.parquet")) + "".join(
        (bare / name).read_text() for name in ("README.md", "LICENSE", "croissant.json", MANIFEST)
    )
    for word in (*THINGS, "dropped", "painted", "broke", "nobody", "Mary", "market"):
        assert f"{word} " not in kept
        assert f'{word}"' not in kept
    assert (
        len(rows(bare, "data/*")) == len(rows(corpus, "candidates/asked/seed-0/candidates-*")) > 9
    )
    assert violations(bare, capsys) == {}


def test_the_words_come_back_to_the_digit(built: tuple[Path, Path], tmp_path: Path) -> None:
    """The very rows that `ask` wrote; and the very files of a release with text."""
    corpus, bare = built
    rebuilt = back(bare, corpus, tmp_path / "rebuilt")
    key = "candidate_id"
    for pattern, kind in (("data/*", "candidates-*"), ("rejected/*", "rejects-*")):
        made = sorted(rows(corpus / "candidates/asked/seed-0", kind), key=lambda row: row[key])
        found = sorted(rows(rebuilt, pattern), key=lambda row: row[key])
        for row in found:
            del row["generation"]
        assert json.dumps(found) == json.dumps(made)
    free = build(tmp_path / "free", "CC-BY-4.0")
    release(settings(free, tmp_path / "full", shards=2))
    release(settings(free, tmp_path / "bare", shards=2, stand_off=True))
    again = back(tmp_path / "bare", free, tmp_path / "again")
    files = [path.relative_to(again) for path in again.rglob("*.parquet")]
    assert len(files) >= 2
    for name in files:
        assert (again / name).read_bytes() == (tmp_path / "full" / name).read_bytes()


def test_what_comes_back_is_valid_and_stays(
    built: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`rehydrate` says that it is not to be passed on; `push` refuses it, and takes what it came from."""
    corpus, bare = built
    rebuilt = back(bare, corpus, tmp_path / "rebuilt")
    assert "Do not pass this folder on" in capsys.readouterr().out
    assert violations(rebuilt, capsys) == {}
    with pytest.raises(InputError, match="push the stand-off release"):
        push(PushSettings(release=rebuilt, repository="owner/name"))
    push(PushSettings(release=bare, repository="owner/name"))
    assert "Nothing was sent" in capsys.readouterr().out


Change = Callable[[Sentence], Sentence | None]


def other(corpus: Path, place: Path, change: Change) -> Path:
    """A copy of a corpus with other sentences, as if somebody had ingested another text."""
    found = [
        changed for each in read_sentences(corpus / SENTENCES_FILE) if (changed := change(each))
    ]
    place.mkdir()
    write_rows(place / SENTENCES_FILE, SENTENCES, map(sentence_row, found))
    return place


def _respelt(word: str, number: int = 0) -> Change:
    return lambda s: (
        replace(s, words=(word, *s.words[1:])) if s.sentence_id == f"book/{number}" else s
    )


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (_respelt("A"), r"other words there: \d+ rows, first book/0"),
        (lambda s: None if s.sentence_id == "book/3" else s, r"not in it: \d+ rows, first book/3"),
    ],
)
def test_another_text_is_refused_in_one_line(
    built: tuple[Path, Path], tmp_path: Path, change: Change, what: str
) -> None:
    """It names the sentence; nothing is written."""
    corpus, bare = built
    source = other(corpus, tmp_path / "other", change)
    with pytest.raises(InputError, match=what) as error:
        back(bare, source, tmp_path / "rebuilt")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "rebuilt").exists()


def touched(
    folder: Path, change: Callable[[dict[str, Any]], Mapping[str, Any]], *, listed: bool
) -> None:
    """Change every usable row; ``listed``: manifest and sums say so, but for the digests of rows."""
    manifest = read_json(folder / MANIFEST)
    for shard in manifest["shards"]:
        if shard["config"] != "train":
            continue
        path = folder / shard["file"]
        table = pq.read_table(path)
        write_rows(path, table.schema, [row | change(row) for row in table.to_pylist()])
        shard |= {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
    if listed:
        write_json(folder / MANIFEST, manifest)
        names = sorted(
            p.relative_to(folder)
            for p in folder.rglob("*")
            if p.name != "SHA256SUMS" and p.is_file()
        )
        (folder / "SHA256SUMS").write_text(
            "".join(f"{sha256_of(folder / n)}  {n}\n" for n in names)
        )


def place(row: Mapping[str, Any], **given: Any) -> dict[str, Any]:
    return {"context_at": row["context_at"] | given}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda row: {"answer": 4}, "answer outside the choices"),
        (lambda row: {"choices_at": row["choices_at"][:1]}, "too few choices"),
        (lambda row: {"digests": row["digests"][1:]}, "invalid digests"),
        (lambda row: {"digests": ["0" * 15 + "g"] * 5}, "invalid digests"),
        (lambda row: {"lowered": [5]}, "invalid places"),
        (lambda row: {"lowered": [1, 0]}, "invalid places"),
        (lambda row: place(row, start=-1), "span outside sentence"),
        (lambda row: place(row, end=0), "empty span"),
        (lambda row: place(row, sentence_id=" "), "id missing"),
        (lambda row: {"events_at": "he dropped the jar"}, "text in a stand-off release"),
        (lambda row: {"label": "the jar broke"}, "text in a stand-off release"),
        (lambda row: {"candidate_id": "he dropped the jar"}, "text in a stand-off release"),
        (lambda row: {"license": "he dropped the jar"}, "text in a stand-off release"),
        (lambda row: {"split": "he dropped the jar"}, "unknown split"),
        (lambda row: {"score": float("nan")}, "score not finite"),
        (lambda row: {"generation": "0" * 16}, "generation unknown"),
        (lambda row: {"candidate_id": "0" * 24}, "duplicate row"),
    ],
)  # fmt: skip
def test_validate_finds_a_broken_release(
    bare: Path, capsys: pytest.CaptureFixture[str], change: Callable[..., Any], kind: str
) -> None:
    """Each row by its kind, and that rows are not those released."""
    touched(bare, change, listed=True)
    found = violations(bare, capsys)
    assert found[kind] >= 1
    assert found["row digest differs from manifest"] >= 1


def test_a_touched_file_is_found_by_all(
    built: tuple[Path, Path], bare: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`validate` counts it, `rehydrate` and `push` refuse it; with the lists, the digest does."""
    touched(bare, lambda row: {"answer": (row["answer"] + 1) % 4}, listed=False)
    assert violations(bare, capsys).keys() >= {
        "checksum differs",
        "row digest differs from manifest",
    }
    for command in (
        lambda: back(bare, built[0], tmp_path / "rebuilt"),
        lambda: push(PushSettings(release=bare, repository="owner/name")),
    ):
        with pytest.raises(ConjoinError, match=r"SHA256SUMS|manifest\.json says"):
            command()
    touched(bare, lambda row: {}, listed=True)
    with pytest.raises(InputError, match="rebuilt to other words than were released"):
        back(bare, built[0], tmp_path / "rebuilt")
    assert not (tmp_path / "rebuilt").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda row: {"digests": row["digests"][1:]},
        lambda row: {"events_at": "{99}"},
        lambda row: place(row, end=99),
        lambda row: {"lowered": [77]},
        lambda row: {"choices_at": []},
    ],
)
def test_a_hostile_release_is_refused_in_one_line(
    built: tuple[Path, Path], bare: Path, tmp_path: Path, change: Callable[..., Any]
) -> None:
    """Whatever its lists say."""
    touched(bare, change, listed=True)
    with pytest.raises(InputError, match="not the source that the release was made of"):
        back(bare, built[0], tmp_path / "rebuilt")


def test_a_release_of_text_is_held_against_its_ids(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A choice that somebody changed; two alike; a licence that forbids it."""
    corpus = build(tmp_path / "free", "CC-BY-4.0")
    release(settings(corpus, tmp_path / "full"))
    assert violations(tmp_path / "full", capsys) == {}
    assert violations(corpus / "candidates/asked/seed-0", capsys) == {}
    touched(tmp_path / "full", lambda row: {"choices": ["it broke"] * 4}, listed=True)
    assert violations(tmp_path / "full", capsys)["id differs from content"] > 9
    touched(
        tmp_path / "full",
        lambda row: {"candidate_id": question_candidate_id(
            row["sentence_id"], row["context"], tuple(row["choices"]), row["answer"])},
        listed=True,
    )  # fmt: skip
    assert violations(tmp_path / "full", capsys)["choices alike"] > 9
    with pytest.raises(InputError, match="two choices alike"):
        release(ReleaseSettings(candidates=tmp_path / "full", out=tmp_path / "again"))
    touched(tmp_path / "full", lambda row: {"license": "LDC-User-Agreement"}, listed=True)
    assert violations(tmp_path / "full", capsys)["text under a licence that forbids it"] > 9


def test_what_they_were_made_of_must_be_there(built: tuple[Path, Path], tmp_path: Path) -> None:
    """Another corpus, none, event pairs that are gone: one line each."""
    corpus = shutil.copytree(built[0], tmp_path / "book")
    alone = shutil.copytree(corpus / "candidates/asked/seed-0", tmp_path / "alone")
    without = ReleaseSettings(candidates=alone, out=tmp_path / "out", stand_off=True)
    with pytest.raises(InputError, match=r"needs the source.*--corpus"):
        release(without)
    release(without.model_copy(update={"corpus": corpus}))
    strange = other(corpus, tmp_path / "other", _respelt("A"))
    with pytest.raises(InputError, match=r"17 rows are of pairs that this corpus does not have"):
        release(without.model_copy(update={"corpus": strange}))
    shutil.copytree(corpus / "pairs", strange / "pairs")
    with pytest.raises(
        InputError, match="is not what its event pair and the others beside it make"
    ):
        release(without.model_copy(update={"corpus": strange}))
    (path,) = (corpus / "pairs/parsed").glob("pairs-*")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="not as pair wrote it"):
        release(without.model_copy(update={"corpus": corpus}))


def test_options_of_coordination_are_refused(built: tuple[Path, Path], tmp_path: Path) -> None:
    """In one line."""
    with pytest.raises(SettingsError, match="questions have no --trees"):
        release(settings(built[0], tmp_path / "out", trees=True))
    with pytest.raises(SettingsError, match="these are questions"):
        validate.run(ValidateSettings(place=built[1], apart=["dev"]))


def test_words_that_no_place_tells_are_withheld_and_counted(tmp_path: Path) -> None:
    """A clause whose words do not stand in a row, core events with a word from elsewhere."""
    words = ("The", "jar", ",", "he", "said", ",", "broke", *BECAUSE)
    assert place_of_clause("s", ("The", "jar", "broke"), words, lowered=False) is None
    assert places_of_events("drop(object vase) → break(subject it)", words) is None
    corpus = build(tmp_path / "book")

    def parted(sentence: Sentence) -> Sentence:
        return replace(sentence, words=words) if sentence.words[-6:] == BECAUSE else sentence

    sentences = other(corpus, tmp_path / "other", parted)
    shutil.copyfile(sentences / SENTENCES_FILE, corpus / SENTENCES_FILE)
    (corpus / "ingest.json").unlink()
    release(settings(corpus, tmp_path / "bare", stand_off=True))
    withheld = read_json(tmp_path / "bare" / MANIFEST)["withheld"]["train"]
    assert withheld.keys() == {NOT_IN_A_ROW}
    kept = rows(tmp_path / "bare", "data/*")
    made = rows(corpus, "candidates/asked/seed-0/candidates-*")
    assert len(kept) + withheld[NOT_IN_A_ROW] == len(made) > len(kept)
    assert NOT_IN_A_ROW in (tmp_path / "bare/README.md").read_text()
    back(tmp_path / "bare", corpus, tmp_path / "rebuilt")


BECAUSE = ("because", "he", "dropped", "the", "jar", ".")


def test_core_events_are_told_by_numbers() -> None:
    """As they stand, in small letters, with a straight apostrophe, as stems; conjoin's own words stay."""
    words = ["Mary", "’s", "dogs", "did", "n’t", "replace", "it", ",", "so", "GLASS", "broke"]
    for events in (
        "not replac(subject dogs, object glass) → be broke(subject Mary)",
        "mary 's dogs did n't → so glass broke",
        "do(to it) → so broke",
    ):
        form = places_of_events(events, words)
        assert form is not None
        assert is_form_of_events(form)
        assert events_at(form, words) == events
        assert events_at(form, words[:2]) is None
    assert places_of_events("replac(object glass)", words) == "{5s}(object {9l})"
    assert not is_form_of_events("replac(object {9l})")
    assert not is_form_of_events("{5x}")


def test_the_card_tells_what_there_is(built: tuple[Path, Path], tmp_path: Path) -> None:
    """Counts of the rows, how to have the text, whose terms; a loader's front matter; Croissant's columns."""
    corpus, bare = built
    card = (bare / "README.md").read_text()
    found = rows(bare, "data/*")
    for label, count in Counter(row["label"] for row in found).items():
        assert f"| `{label}` | {count} |" in card
    assert "conjoin rehydrate path/to/conjoin-book-pseudo-questions --source path/to/book" in card
    head = yaml.safe_load(card.split("---")[1])
    assert head["task_categories"] == ["multiple-choice"]
    assert head["tags"][-1] == "stand-off"
    assert "Nobody voted on the pairs." in card
    croissant = read_json(bare / "croissant.json")
    fields = croissant["recordSet"][0]["field"]
    assert [each["name"] for each in fields] == MadeQuestions.stand_off["train"].names
    assert croissant["prov:wasGeneratedBy"][0]["prov:label"].startswith("conjoin ask: ")
    assert croissant["distribution"][0]["sha256"] == sha256_of(bare / found_file(bare))
    release(settings(corpus, tmp_path / "again", stand_off=True))
    assert (tmp_path / "again/data").is_dir()
    shutil.rmtree(tmp_path / "again")


def found_file(folder: Path) -> str:
    return str(read_json(folder / MANIFEST)["shards"][0]["file"])


def test_every_reason_and_column_is_explained() -> None:
    """A new one needs its words in the card, and may stay in a release without text."""
    reasons = {ask.NOBODY_ASKED, ask.FEW_VOTES, ask.NO_VECTOR, ask.FEW_DISTRACTORS}
    reasons |= {leakage.COPIED, leakage.SAME_EVENTS}
    assert set(said("questions")["reasons"]) == reasons
    columns = {
        n for s in (MadeQuestions.released, MadeQuestions.stand_off) for n in s["rejected"].names
    }
    assert set(said("questions")["columns"]) == columns


def test_commands_for_coordination_say_whose_release_it_is(
    built: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line that names the task."""
    with pytest.raises(SystemExit):
        app(["stats", str(built[1])])
    assert "one of the task 'questions'" in capsys.readouterr().err


def test_training_and_ingest_take_what_was_rebuilt(
    built: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The release without text is refused in one line; a single file of it is checked all the same."""
    corpus, bare = built
    with pytest.raises(InputError, match=r"stand-off release.*`conjoin rehydrate`"):
        find_location(bare, QuestionRows.columns).key()
    with pytest.raises(InputError, match=r"stand-off release.*`conjoin rehydrate`"):
        next(read_asked(bare, Tally()))
    rebuilt = back(bare, corpus, tmp_path / "rebuilt")
    location = find_location(rebuilt, QuestionRows.columns)
    assert location.key()
    made = rows(corpus, "candidates/asked/seed-0/candidates-*")
    assert sum(len(batch) for *_, batch in location.pieces()) == len(made)
    kept = {question.question_id for question in read_asked(rebuilt, Tally())}
    assert kept == {f"asked/{row['candidate_id']}" for row in made}
    for path in (
        bare / found_file(bare),
        next((corpus / "candidates/asked/seed-0").glob("rejects*")),
    ):
        assert violations(path, capsys).keys() <= {"licence unknown"}
