"""`conjoin synthesize`: explicit pairs, language models and the world write for what a run confuses."""

import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from chat_model import chat_model
from confused import SENSES, build
from served_stub import Body, Reply, chat, is_trial, serving
from transformers import AutoConfig, GenerationConfig

from pipeline.cli import app
from pipeline.core.corpus_folder import RELATIONS_FILE, ingest_output
from pipeline.core.documents import read_json
from pipeline.core.errors import ConjoinError, InputError, ModelError, SettingsError
from pipeline.core.files import FileFacts, write_json
from pipeline.core.pairs import Pair, read_pairs, write_pairs
from pipeline.corpus.checked import open_candidates
from pipeline.models.writers import asking
from pipeline.models.writers.kept import KeptAnswers
from pipeline.models.writers.protocol import (
    TOO_LONG,
    Prompt,
    Sampling,
    WrittenAnswer,
    question_of,
)
from pipeline.sources import dry_run
from pipeline.sources.dry_run import Probe, probe
from pipeline.tasks.relations.examples import example_of
from pipeline.tasks.relations.model import RelationModel
from pipeline.tasks.relations.synthesize.attested import without_its_marks
from pipeline.tasks.relations.synthesize.rows import CONTROL, SIGN
from pipeline.tasks.relations.synthesize.settings import SynthesizeSettings
from pipeline.tasks.relations.synthesize.stage import default_out, run
from pipeline.world.causes import sense_of

MODEL = "gpt"


@pytest.fixture
def corpus(tmp_path: Path, tiny_bert: Path) -> Path:
    """A corpus, and a run whose model was never trained."""
    return build(tmp_path / "toy", tiny_bert)


def settings(corpus: Path, **given: Any) -> SynthesizeSettings:
    usual = {"corpus": corpus, "run": "runs/baseline/24/seed-{seed}", "unit": 5, "k": 2}
    return SynthesizeSettings.model_validate(usual | given)


def model_of(corpus: Path) -> RelationModel:
    return RelationModel.load(corpus / "runs/baseline/24/seed-0/predictor")


def said(corpus: Path, pairs: Sequence[Pair]) -> list[str]:
    return [
        each.example.senses[0]
        for each in model_of(corpus).answers(list(map(example_of, pairs)))
        if each
    ]


def cells(corpus: Path, k: int) -> list[tuple[str, str]]:
    """The largest confusions among the validation pairs, counted one by one."""
    drawn = set(read_json(corpus / "draws/seed-0/24.json")["validation"])
    validation = [pair for pair in read_pairs(corpus, {"train"}) if pair.pair_id in drawn]
    found: Counter[tuple[str, str]] = Counter(
        (each.senses[0], own)
        for each, own in zip(validation, said(corpus, validation), strict=True)
    )
    there = Counter(each.senses[0] for each in validation)
    wrong = [cell for cell, count in found.items() if cell[0] != cell[1] and count >= 3]
    places = {sense: place for place, sense in enumerate(SENSES)}
    wrong.sort(key=lambda cell: (-found[cell] / there[cell[0]], places[cell[0]], places[cell[1]]))
    return wrong[:k]


def rows(folder: Path, kind: str = "candidates") -> list[dict[str, Any]]:
    return [
        row for path in sorted(folder.glob(f"{kind}-*")) for row in pq.read_table(path).to_pylist()
    ]


def files(folder: Path) -> dict[str, bytes]:
    """All that a finished folder has, but for its locks."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in {".lock", ".workers"}
    }


def test_explicit_pairs_of_confused_relations_lose_their_connective(corpus: Path) -> None:
    """All of them, in order, or those that the model does not take for the other; the counts say the rest."""
    confused = cells(corpus, 2)
    explicit = list(read_pairs(corpus, {"train"}, frozenset({"explicit"})))
    wanted, against = [], {}
    for true, other in confused:
        against[true] = (*against.get(true, ()), other)
    for true in against:
        wanted += [(true, each) for each in explicit if true in each.senses]
    plain = [(t, p) for t, p in wanted if not set(p.senses) & set(against[t])]
    run(settings(corpus, filter="none", out=corpus / "candidates/all"))
    found = rows(corpus / "candidates/all")
    assert [(r["label"], r["sentence_id"], r["arg1"], r["arg2"]) for r in found] == [
        (t, p.pair_id, p.arg1, p.arg2) for t, p in plain
    ]
    assert {row["writer"] for row in found} == {"attested"}
    assert {row["license"] for row in found} == {"CC-BY-4.0"}
    refused = rows(corpus / "candidates/all", "rejects")
    assert len(refused) == len(wanted) - len(plain) > 0
    run(settings(corpus))
    out = default_out(settings(corpus))
    assert out == corpus / "candidates/attested-pairs/seed-0"
    own = said(corpus, [p for _, p in plain])
    kept = [p.pair_id for (t, p), s in zip(plain, own, strict=True) if s not in against[t]]
    assert 0 < len(kept) < len(plain)
    assert [row["sentence_id"] for row in rows(out)] == kept
    manifest = read_json(out / "manifest.json")
    assert [each[:2] for each in manifest["inputs"]["confusions"]] == [list(c) for c in confused]
    parts = {part.get("use", "learned"): part["pairs"] for part in manifest["annotation"]}
    assert parts == {"learned": len({p.pair_id for _, p in wanted})}
    assert len(open_candidates(out)) == len(list(out.glob("candidates-*")))
    before = files(out)
    run(settings(corpus))
    assert files(out) == before


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (", it rained", "it rained"),
        ("On Monday , , it rained", "On Monday , it rained"),
        ("It rained — , she said —", "It rained — she said —"),
        ("It rained , and it snowed ,", "It rained , and it snowed ,"),
        (", ,", ", ,"),
        ("On Monday, , it rained.", "On Monday, it rained."),
    ],
)
def test_the_commas_of_a_connective_go_with_it(corpus: Path, text: str, left: str) -> None:
    """Else whoever learns from such pairs learns that a comma at the beginning means an explicit relation."""
    pair = next(read_pairs(corpus, {"train"}, frozenset({"explicit"})))
    found = without_its_marks(replace(pair, arg2=text, words2=tuple(text.split(" "))))
    assert (found.arg2, found.words2) == (left, tuple(left.split(" ")))
    assert (found.arg1, found.words1) == (pair.arg1, pair.words1)


@pytest.mark.parametrize("implied", ["{}", "but {}", ", But , {}"])
def test_explicit_pairs_beside_a_validation_pair_are_refused(
    implied: str, tmp_path: Path, tiny_bert: Path
) -> None:
    """One that has its arguments says of them what the run is tried on; the control leaves it out.

    In an implicit pair's argument the connective of an explicit one stands as any word does.
    """
    shared = [(n, n - 96 + 36) for n in range(96, 126)]
    corpus = build(tmp_path / "toy", tiny_bert, shared=shared, implied=implied)
    watched = {f"toy/{n:03d}" for n in range(96, 126)}
    why = "its arguments are those of a validation pair"
    for given in ({}, {"confused": "random"}):
        run(settings(corpus, filter="none", **given))
        out = default_out(settings(corpus, filter="none", **given))
        found = rows(out)
        assert found
        assert watched.isdisjoint(row["sentence_id"] for row in found)
        refused = {row["sentence_id"] for row in rows(out, "rejects") if row["reason"] == why}
        assert refused <= watched
        assert bool(refused) is not bool(given)


def test_the_control_has_as_many_pairs_of_any_relation(corpus: Path) -> None:
    """As many as are kept of confused ones, filtered or not; the seed draws others."""
    for given in ({"filter": "none"}, {}):
        run(settings(corpus, **given))
        wanted = len(rows(default_out(settings(corpus, **given))))
        control = settings(corpus, confused="random", **given)
        run(control)
        found = rows(default_out(control))
        assert len(found) == wanted
        assert {row["confused"] for row in found} == {None}
    assert {row["label"] for row in found} == set(SENSES)
    other = settings(corpus, confused="random", k=2, out=corpus / "candidates/other", seed=1,
                     run="runs/baseline/24/seed-0")  # fmt: skip
    run(other)
    assert {row["sentence_id"] for row in rows(corpus / "candidates/other")} != {
        row["sentence_id"] for row in found
    }


def arguments(prompt: Prompt) -> str:
    """What a language model might answer: a list for some pairs, of which each line is good for something."""
    if not prompt.begins:
        number = sum(map(ord, prompt.user))
        return ("They do. Yes.", "No.", "Both are near. No.", "I cannot say")[number % 4]
    arg1 = prompt.user.rpartition('the argument "')[2].removesuffix('".')
    own = prompt.begins.removeprefix("Here list several answers:\n- ").removesuffix("\n-")
    lines = [" the dog saw a harbor .", "- A lamp", f"- {own.upper()}", f"- {arg1}", "- ", "- a  LAMP",
             f"- {'near the old lamp ' * 40}", f"- the man saw {arg1}", "That is all."]  # fmt: skip
    return "\n".join(lines)


class Canned:
    """A language model that is a function, and stops after some answers."""

    model, sampling = MODEL, Sampling()

    def __init__(self, most: int = 10**6, end: Callable[[], None] | None = None) -> None:
        self.asked: list[Prompt] = []
        self._most, self._end = most, end

    begun = "continued"

    def answers(self, prompts: Sequence[Prompt]) -> Generator[tuple[int, WrittenAnswer]]:
        """See ``Answering``."""
        for place, prompt in enumerate(prompts):
            if len(self.asked) == self._most:
                (self._end or _interrupt)()
            self.asked.append(prompt)
            yield place, WrittenAnswer(arguments(prompt), "continued" if prompt.begins else "chat")


def _interrupt() -> None:
    raise KeyboardInterrupt


@pytest.fixture
def canned(monkeypatch: pytest.MonkeyPatch) -> Canned:
    """Whatever address is asked, it answers."""
    writer = Canned()
    monkeypatch.setattr(asking, "ServedWriter", lambda *_, **__: writer)
    return writer


def served(corpus: Path, **given: Any) -> SynthesizeSettings:
    usual = {"writer": "served", "served": "http://127.0.0.1:1", "model": MODEL,
             "out": corpus / "candidates/new"}  # fmt: skip
    return settings(corpus, **usual | given)


def test_a_language_model_writes_and_judges(corpus: Path, canned: Canned) -> None:
    """A row for each line with a dash, refused with its reason or judged against each confused relation."""
    run(served(corpus, writer_license="Apache-2.0"))
    out = corpus / "candidates/new"
    against: dict[str, tuple[str, ...]] = {}
    for true, other in cells(corpus, 2):
        against[true] = (*against.get(true, ()), other)
    labelled = [each for each in read_pairs(corpus) if int(each.pair_id[-3:]) < 24]
    sources = [(true, each) for true in against for each in labelled if true in each.senses]
    written = [prompt for prompt in canned.asked if prompt.begins]
    assert len(written) == len(sources)
    kept, refused = rows(out), rows(out, "rejects")
    assert len(kept) + len(refused) == 8 * len(sources)
    reasons = Counter(row["reason"] for row in refused)
    judged = {"judged to have the other relation", "no verdict"}
    assert {name: count for name, count in reasons.items() if name not in judged} == {
        "the source's own second argument": len(sources), "the first argument again": len(sources),
        "empty": len(sources), "written twice": len(sources), "longer than the encoder reads": len(sources),
    }  # fmt: skip
    assert reasons.keys() > judged
    assert len(kept) == 3 * len(sources) - sum(reasons[name] for name in judged)
    assert {row["arg2"] for row in kept} & {"the dog saw a harbor .", "A lamp"}
    by_id = {each.pair_id: each for each in labelled}
    questions = {question_of(MODEL, Sampling(), prompt): prompt for prompt in written}
    for row in [*kept, *refused]:
        source = by_id[row["sentence_id"]]
        assert row["arg1"] == source.arg1
        assert row["confused"] == ", ".join(against[row["label"]])
        assert (row["writer"], row["license"]) == ("served:gpt", "Apache-2.0 AND CC-BY-4.0")
        prompt = questions[row["prompt"]]
        # The source's own pair is the first example, as it is nearest to itself.
        assert prompt.user.split("\n")[2] == f"{source.arg1} - {source.arg2}"
        assert row["completion"] == arguments(prompt)
    for row in kept:
        assert all(line.endswith("No.") for line in row["verdict"].split("\n"))
    manifest = read_json(out / "manifest.json")
    assert manifest["model"] == "served:gpt"
    assert manifest["tally"]["kept"] == len(kept)


def test_without_a_filter_nobody_is_asked(corpus: Path, canned: Canned) -> None:
    """And with the run's model it judges."""
    run(served(corpus, filter="none"))
    assert all(prompt.begins for prompt in canned.asked)
    every = rows(corpus / "candidates/new")
    assert {row["verdict"] for row in every} == {None}
    run(served(corpus, filter="model", out=corpus / "candidates/less"))
    less = rows(corpus / "candidates/less")
    assert 0 < len(less) < len(every)
    assert not any(row["verdict"] in row["confused"].split(", ") for row in less)


def test_a_forecast_asks_for_few_answers(
    corpus: Path,
    canned: Canned,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One, and then others, none twice: what was answered is not asked again."""

    def soon(work: Any, items: Any, enough: float, **given: Any) -> Probe:
        return probe(work, items, 0 * enough, **given)

    monkeypatch.setattr(dry_run, "probe", soon)
    run(served(corpus, filter="none", dry_run=True))
    assert len(canned.asked) == 3
    assert "sources/s a process (2 tried in" in capsys.readouterr().out
    assert not (corpus / "candidates/new/manifest.json").exists()


def test_a_replay_makes_the_same_files(corpus: Path, canned: Canned, tmp_path: Path) -> None:
    """From the folder, or from a file with the model's name; what was never asked is said."""
    run(served(corpus))
    out, asked = corpus / "candidates/new", len(canned.asked)
    lines = "".join(path.read_text() for path in sorted(out.glob(".units/completions-*")))
    (tmp_path / "kept.jsonl").write_text(lines)
    for number, given in enumerate(
        ({"replay": out}, {"replay": tmp_path / "kept.jsonl", "model": MODEL})
    ):
        again = settings(
            corpus, writer="replay", out=corpus / f"candidates/again-{number}", **given
        )
        run(again)
        assert rows(again.out) == rows(out)
        manifests = [read_json(each / "manifest.json") for each in (out, again.out)]
        assert [{**each, "command": ""} for each in manifests] == [
            {**manifests[0], "command": ""}
        ] * 2
    assert len(canned.asked) == asked
    kept = {path: path.read_bytes() for path in out.glob(".units/completions-*")}
    with pytest.raises(
        InputError, match=r"its completions are replayed.*this run would remove them"
    ):
        run(settings(corpus, writer="replay", replay=out, out=out, limit=1))
    assert kept == {path: path.read_bytes() for path in out.glob(".units/completions-*")}
    with pytest.raises(SettingsError, match=r"which model answered.*--model"):
        run(settings(corpus, writer="replay", replay=tmp_path / "kept.jsonl"))
    with pytest.raises(InputError, match="not among those kept"):
        run(settings(corpus, writer="replay", replay=out, tokens=9, out=corpus / "candidates/x"))
    # What is no file of completions is nothing to remove.
    replay = out / "manifest.json"
    with pytest.raises(
        InputError, match=r"manifest\.json:1: not JSON.*name what `conjoin generate"
    ):
        run(
            settings(
                corpus, writer="replay", replay=replay, model=MODEL, out=corpus / "candidates/x"
            )
        )


def test_a_file_of_completions_that_a_person_wrote_is_replayed(
    corpus: Path, tmp_path: Path
) -> None:
    """Whoever has answers from elsewhere writes a line for each question."""
    asked: list[Prompt] = []

    class Asked(Canned):
        def answers(self, prompts: Sequence[Prompt]) -> Generator[tuple[int, WrittenAnswer]]:
            """And remembers what it was asked."""
            asked.extend(prompts)
            yield from super().answers(prompts)

    kept = KeptAnswers.going_on(tmp_path / "mine.jsonl")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "ServedWriter", lambda *_, **__: Asked())
        run(served(corpus, filter="none", limit=2))
    for prompt in asked:
        kept.add_answer(
            question_of("mine", Sampling(), prompt),
            WrittenAnswer(" one\n- two\n- th\x1b[1mree\n- [SEP] four", "chat"),
        )
    mine = {"replay": tmp_path / "mine.jsonl", "model": "mine", "out": corpus / "candidates/mine"}
    run(settings(corpus, writer="replay", filter="none", limit=2, **mine))
    assert [row["arg2"] for row in rows(corpus / "candidates/mine")] == ["one", "two"] * 2
    refused = [row["reason"] for row in rows(corpus / "candidates/mine", "rejects")]
    assert refused == [CONTROL, SIGN] * 2


@pytest.mark.parametrize("text", ["- a\n" * 2049, "- " + "a" * 204_800])
def test_an_answer_without_measure_is_refused(corpus: Path, tmp_path: Path, text: str) -> None:
    """Each of its lines would be a row that has the whole of it."""
    asked: list[Prompt] = []

    class Long(Canned):
        def answers(self, prompts: Sequence[Prompt]) -> Generator[tuple[int, WrittenAnswer]]:
            """The same for each."""
            asked.extend(prompts)
            yield from ((place, WrittenAnswer(text, "chat")) for place in range(len(prompts)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "ServedWriter", lambda *_, **__: Long())
        with pytest.raises(InputError, match="no new pair was kept"):
            run(served(corpus, filter="none", limit=2, out=corpus / "candidates/long"))
    kept = KeptAnswers.going_on(tmp_path / "mine.jsonl")
    for prompt in asked:
        kept.add_answer(question_of("mine", Sampling(), prompt), WrittenAnswer(text, "chat"))
    mine = {"replay": tmp_path / "mine.jsonl", "model": "mine", "out": corpus / "candidates/mine"}
    with pytest.raises(InputError, match="no new pair was kept"):
        run(settings(corpus, writer="replay", filter="none", limit=2, **mine))


def test_an_answer_without_a_list_is_counted(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who was only asked to go on may say something else; no filter is named where none refused."""

    class Polite(Canned):
        def answers(self, prompts: Sequence[Prompt]) -> Generator[tuple[int, WrittenAnswer]]:
            """The same for each."""
            yield from ((n, WrittenAnswer("one or two", "asked")) for n in range(len(prompts)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "ServedWriter", lambda *_, **__: Polite())
        with pytest.raises(InputError, match=r"no new pair was kept.*above$"):
            run(served(corpus, filter="none", limit=2, out=corpus / "candidates/polite"))
    assert "no list in the completion" in capsys.readouterr().out


def test_an_argument_that_was_cut_off_is_refused(corpus: Path) -> None:
    """The others of its list are whole."""

    class Cut(Canned):
        def answers(self, prompts: Sequence[Prompt]) -> Generator[tuple[int, WrittenAnswer]]:
            """The same for each."""
            answer = WrittenAnswer(" one .\n- two .\n- three and", "continued", cut=True)
            yield from ((place, answer) for place in range(len(prompts)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "ServedWriter", lambda *_, **__: Cut())
        run(served(corpus, filter="none", limit=2))
    out = corpus / "candidates/new"
    assert [row["arg2"] for row in rows(out)] == ["one .", "two ."] * 2
    refused = {(row["arg2"], row["reason"]) for row in rows(out, "rejects")}
    assert refused == {("three and", "cut off where the answer's tokens ended")}


def test_rows_are_the_same_from_two_workers_and_after_a_kill(
    corpus: Path,
    canned: Canned,
    monkeypatch: pytest.MonkeyPatch,
    start: Callable[..., list[int]],
    forks: Any,
) -> None:
    """A worker that is killed amid a unit leaves what it was told, and nobody is asked for it again."""
    run(served(corpus))
    whole = corpus / "candidates/new"
    children = start(*[lambda: run(served(corpus, out=corpus / "candidates/two"))] * 2)
    assert [forks.end(child) for child in children] == [0, 0]
    assert files(corpus / "candidates/two").keys() == files(whole).keys()
    assert rows(corpus / "candidates/two") == rows(whole)
    out = corpus / "candidates/killed"

    def dies() -> None:
        monkeypatch.setattr(
            asking, "ServedWriter",
            lambda *_, **__: Canned(25, lambda: os.kill(os.getpid(), signal.SIGKILL)),
        )  # fmt: skip
        run(served(corpus, out=out))

    assert forks.end(forks.start(dies)) == -signal.SIGKILL
    assert not (out / "manifest.json").exists()
    with pytest.raises(InputError, match="not finished"):
        open_candidates(out)
    before = len(canned.asked)
    run(served(corpus, out=out))
    assert len(canned.asked) - before == before - 25
    made, wanted = files(out), files(whole)
    assert made.keys() == wanted.keys()
    assert {n: b for n, b in made.items() if "manifest" not in n and n != "README.md"} == {
        n: b for n, b in wanted.items() if "manifest" not in n and n != "README.md"
    }


def test_a_model_of_ones_own_writes_here(corpus: Path, tiny_causal: Path, tmp_path: Path) -> None:
    """And is replayed without it; what a prompt is too long for is a reject."""
    small = chat_model(tiny_causal, tmp_path / "small", length=900)
    # It never learned to end an answer: every fourth token does.
    ending = GenerationConfig(
        eos_token_id=list(range(1, AutoConfig.from_pretrained(small).vocab_size, 4))
    )
    ending.save_pretrained(small)
    local = settings(corpus, writer="local", model=str(small), tokens=8, filter="none", limit=6)
    run(local)
    out = default_out(local)
    assert out == corpus / "candidates/local-unfiltered/seed-0"
    found = rows(out) + rows(out, "rejects")
    assert len({row["sentence_id"] for row in found}) == 6
    assert {row["license"] for row in found} == {"CC-BY-4.0 AND unknown"}
    again = settings(
        corpus, writer="replay", replay=out, tokens=8, filter="none", limit=6, out=corpus / "again"
    )
    with pytest.raises(InputError, match="name an --out in the corpus folder"):
        run(again.model_copy(update={"out": tmp_path / "elsewhere"}))
    run(again)
    assert rows(again.out) + rows(again.out, "rejects") == found
    narrow = local.model_copy(update={"dtype": "bfloat16", "out": corpus / "narrow"})
    run(narrow)
    whole, half = (read_json(each / "manifest.json") for each in (out, corpus / "narrow"))
    assert half["model"] == f"{whole['model']} in bfloat16"
    assert half["fingerprint"] != whole["fingerprint"]
    short = chat_model(tiny_causal, tmp_path / "short", length=20)
    with pytest.raises(InputError, match="no new pair was kept"):
        run(local.model_copy(update={"model": str(short), "out": corpus / "candidates/short"}))
    assert {r["reason"] for r in rows(corpus / "candidates/short", "rejects")} == {TOO_LONG}


def test_a_real_client_asks_a_server(corpus: Path) -> None:
    """Over HTTP: the begun list goes as an assistant's message, and a page for people is refused."""
    pytest.importorskip("openai", reason="models behind an address need the extra `served`")

    def server(page: str, body: Body) -> Reply:
        user, *begun = [message["content"] for message in body["messages"]]
        if is_trial(body):
            return chat(" dog")
        return chat(arguments(Prompt(user, "".join(begun))))

    with serving(server) as stub:
        run(served(corpus, served=stub.address, limit=3))
        bodies = stub.bodies("/v1/chat/completions")[1:]
    assert {body["temperature"] for body in bodies} == {0}
    assert [m["role"] for m in bodies[0]["messages"]] == ["user", "assistant"]
    assert bodies[0]["messages"][1]["content"].startswith("Here list several answers:\n- ")
    assert {len(body["messages"]) for body in bodies} == {1, 2}
    with (
        serving(lambda *_: (200, {"Content-Type": "text/html"}, b"<html>")) as stub,
        pytest.raises(ModelError, match="HTML"),
    ):
        run(served(corpus, served=stub.address, out=corpus / "candidates/html"))


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"corpus": Path("nowhere")}, "nowhere: no corpus here.*run `conjoin ingest`"),
        ({"run": "runs/none/24/seed-0"}, "name a run that `conjoin train` finished"),
        ({"least_errors": 61}, "no relation for another in 61 or more"),
        ({"writer": "local", "model": "models/none"}, "no such model folder"),
        ({"writer": "replay", "replay": "nowhere", "model": "x"}, "no completions"),
        ({"writer": "oracle", "source": "nowhere"}, "no lexicon of the world.*--source"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(corpus: Path, given: dict[str, Any], what: str) -> None:
    """Which says what is wrong and what to do."""
    with pytest.raises(ConjoinError, match=what):
        run(settings(**{"corpus": corpus, **given}))


def test_a_run_of_another_corpus_is_said_to_be_one(corpus: Path, tmp_path: Path) -> None:
    """The remedy is a run of this one: `synthesize` has no --labelled."""
    card = corpus / "runs/baseline/24/seed-0/run.json"
    away = tmp_path / "away"
    shutil.copytree(card.parent, away)
    part = {
        "corpus": "small",
        "part": "labelled",
        "draw": "24/seed-0",
        "sentences": 24,
        "pairs": 24,
    }
    write_json(away / "run.json", read_json(card) | {"annotation": [part]})
    remedy = r"name a run of toy with --run; there are: runs/baseline/24/seed-0"
    with pytest.raises(InputError, match=f"a run of small, and .* wanted of toy; {remedy}"):
        run(settings(corpus, run=away))
    write_json(away / "run.json", read_json(card) | {"labelled": 36, "draw": "36"})
    with pytest.raises(InputError, match=f"draw of L, 36/seed-0, is none of toy; {remedy}"):
        run(settings(corpus, run=away))
    (corpus / "draws/seed-0/24.json").unlink()
    with pytest.raises(InputError, match=r"24\.json.*run `conjoin ingest`") as caught:
        run(settings(corpus))
    assert "--run" not in str(caught.value)
    card.unlink()
    with pytest.raises(InputError, match=r"none yet: `conjoin train .*toy`"):
        run(settings(corpus, run=away))


def test_completions_whose_links_lead_in_a_circle(corpus: Path, tmp_path: Path) -> None:
    """Are none, in one line."""
    (tmp_path / "loop").symlink_to("loop")
    given = settings(corpus, writer="replay", replay=tmp_path / "loop", model="x")
    with pytest.raises(InputError, match="links lead in a circle"):
        run(given)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"writer": "served", "model": "x"}, "add --served"),
        ({"writer": "local"}, "add --model"),
        ({"writer": "replay"}, "add --replay"),
        ({"filter": "writer"}, "take --filter model"),
        ({"writer": "oracle", "confused": "random"}, "attested ones alone"),
        ({"writer": "served", "model": "x", "served": "http://["}, "malformed"),
        ({"writer": "served", "model": "x", "key_env": "my-key"}, "--key-env takes"),
        ({"writer": "local", "model": "x", "writer_license": "MIT OR"}, "no SPDX expression"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together(tmp_path: Path, given: dict[str, Any], what: str) -> None:
    """Refused before anything is read."""
    with pytest.raises(SettingsError, match=what):
        SynthesizeSettings.build({"corpus": tmp_path, "run": "x", **given}, None)


def test_a_sense_without_a_definition_and_a_corpus_of_another_task(
    corpus: Path, tmp_path: Path, canned: Canned, capsys: pytest.CaptureFixture[str]
) -> None:
    """A newcomer's senses need definitions; sentences with coordination are for other commands."""
    senses = ("ma.wa", *SENSES[1:])
    named = dict(zip(SENSES, senses, strict=True))
    pairs = [
        replace(each, senses=tuple(named[sense] for sense in each.senses))
        for each in read_pairs(corpus, None, None)
    ]
    write_pairs(corpus, pairs)
    files = [corpus / RELATIONS_FILE, corpus / "draws/seed-0/24.json"]
    facts = {file.relative_to(corpus).as_posix(): FileFacts.of(file) for file in files}
    ingest_output(corpus).finish(facts, {"task": "relations", "senses": list(senses)})
    place = corpus / "runs/baseline/24/seed-0/predictor"
    bert = str(corpus / "models/bert")
    RelationModel.create(bert, senses, seed=4).save(tmp_path / "predictor")
    for path in place.iterdir():
        path.unlink()
    place.rmdir()
    (tmp_path / "predictor").rename(place)
    with pytest.raises(SettingsError, match=r"'ma\.wa' has no definition.*--definitions"):
        run(served(corpus))
    (tmp_path / "mine.yaml").write_text("Ma.Wa: one thing beside another\n")
    run(served(corpus, definitions=tmp_path / "mine.yaml"))
    assert any(
        'the relation "Ma.Wa" is defined as "one thing beside' in p.user for p in canned.asked
    )
    ingest_output(corpus).finish(facts, {})
    with pytest.raises(SystemExit):
        app(["synthesize", str(corpus), "--run", "x"])
    assert "for one of relations" in capsys.readouterr().err


def test_the_oracle_errs_as_told_and_judges_without_error(corpus: Path, tiny_bert: Path) -> None:
    """Of the embedded world's pairs: a share is of the other relation, and with the judge none is."""
    pytest.importorskip("pipeline.world.causes")
    from pipeline.world import generate_pairs  # noqa: PLC0415 - beside its use

    raw = Path(__file__).resolve().parents[3] / "data/raw/world"
    pairs = list(generate_pairs(raw, 400, 0))
    write_pairs(corpus, pairs)
    train = [
        p.pair_id
        for p in pairs
        if p.split == "train" and p.kind == "implicit" and p.senses[0] in SENSES
    ]
    write_json(
        corpus / "draws/seed-0/24.json", {"labelled": train[:60], "validation": train[60:72]}
    )
    files = [corpus / RELATIONS_FILE, corpus / "draws/seed-0/24.json"]
    facts = {file.relative_to(corpus).as_posix(): FileFacts.of(file) for file in files}
    ingest_output(corpus).finish(facts, {"task": "relations", "senses": list(SENSES)})
    usual = {"writer": "oracle", "source": raw, "least_errors": 1, "k": 3, "error": 0.5}
    run(settings(corpus, filter="none", out=corpus / "candidates/all", **usual))
    run(settings(corpus, out=corpus / "candidates/right", **usual))
    every, right = rows(corpus / "candidates/all"), rows(corpus / "candidates/right")
    wrong = sum(sense_of(r["arg1"], r["arg2"]) != r["label"] for r in every)
    assert 0.3 < wrong / len(every) < 0.7
    assert len(right) == len(every) - wrong
    assert all(sense_of(r["arg1"], r["arg2"]) == r["label"] for r in right)
    other = settings(corpus, out=corpus / "candidates/other", **usual | {"source": corpus})
    with pytest.raises(InputError, match="lexicon"):
        run(other)
