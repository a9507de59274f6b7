"""`generate --served`: candidates proposed by a model behind an address, kept, resumed and replayed."""

import hashlib
import json
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from served_stub import Body, Reply, chat, completion, refusal, serving

from pipeline.core.documents import read_json
from pipeline.core.errors import ConjoinError, InputError, ModelError, SettingsError
from pipeline.core.schema import read_candidates
from pipeline.generate.proposed import ASKED
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.stage import default_out, run
from pipeline.infill.proposals import BEYOND
from pipeline.models.writers import asking
from pipeline.models.writers.served import ServedWriter

pytest.importorskip("openai", reason="models behind an address need the extra `served`")

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
NOUNS = ("a cat", "the girl", "an ox", "a lamp and a man", "two cows", "the king of old")


def settings(corpus: Path, **given: object) -> GenerateSettings:
    usual = {
        "corpus": corpus,
        "lm": "causal",
        "model": "small",
        "decoding": "sample",
        "n": 2,
        "limit": 12,
        "unit": 8,
    }
    return GenerateSettings.model_validate(usual | given)


def drawn(text: str, most: int) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % most


def model(page: str, body: Body) -> Reply:
    """Fills a blank by the seed, and says log-probabilities that depend on the words."""
    if page == TEXT:
        words = body["prompt"].split()
        values = [-(1 + drawn(f"{one} {other}", 100)) / 16 for one, other in pairwise(words)]
        return completion(body["prompt"], [None, *values, -99.0], len(words))
    user, *begun = [message["content"] for message in body["messages"]]
    if "____" not in user:
        return chat("ok")
    after = user.splitlines()[-1].partition("____")[2]
    noun = NOUNS[drawn(f"{body['seed']}{begun}", len(NOUNS))]
    return chat(f" {noun}{after}")


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers are tried again at once, and one request at a time."""

    def quick(*args: object, **given: object) -> ServedWriter:
        return ServedWriter(*args, **given, waits=(0.0, 0.0, 0.0), timeout=5.0)  # type: ignore[arg-type]

    monkeypatch.setattr(asking, "ServedWriter", quick)


def shards(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*-of-*.parquet"))}


def answers(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob(".units/completions-*"))}


def test_proposals_become_candidates_that_are_replayed_byte_for_byte(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request leaves a row; a replay from the folder makes the same files without a server."""
    monkeypatch.setenv("THE_KEY", "secret-mine")
    with serving(model) as stub:
        served = settings(corpus, served=stub.address, key_env="THE_KEY")
        run(served)
        asked = stub.requests
        out = default_out(served)
        run(served)
        assert len(stub.requests) == len(asked)
    assert out == corpus / "candidates/served-causal-sync-sample/seed-0"
    manifest = read_json(out / "manifest.json")
    assert manifest["tally"]["seen"] == 12 * 4
    assert manifest["model"] == "served:small"
    assert manifest["tally"]["refused"][BEYOND] > 0
    assert (
        not {"served", "remote", "key_env", "replay", "scorer", "model"}
        & manifest["settings"].keys()
    )
    rows = [c for p in sorted(out.glob("candidates-*")) for c in read_candidates(p)]
    assert {row.fill for row in rows} <= set(NOUNS)
    for row in rows:
        assert row.score == min(row.score_append or 0, row.score_prepend or 0)
    everything = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    assert b"secret" not in everything
    replayed = settings(corpus, replay=out, out=tmp_path / "again")
    run(replayed)
    assert shards(tmp_path / "again") == shards(out)
    again = read_json(tmp_path / "again/manifest.json")
    assert {**again, "command": ""} == {**manifest, "command": ""}
    with pytest.raises(InputError, match="not among those kept"):
        run(settings(corpus, replay=out, seed=1, out=tmp_path / "other"))
    run(settings(corpus, replay=out))
    assert shards(tmp_path / "again") == shards(out)
    kept = answers(out)
    with pytest.raises(
        InputError, match=r"its completions are replayed.*this run would remove them"
    ):
        run(settings(corpus, replay=out, limit=1))
    assert answers(out) == kept


def hangs_up() -> Reply:
    raise ConnectionAbortedError


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (partial(refusal, 401), "401"),
        (partial(refusal, 503), "answers no more"),
        (hangs_up, "answers no more"),
    ],
)
def test_a_killed_unit_asks_only_for_what_is_missing(
    kind: Callable[[], Reply], said: str, corpus: Path, tmp_path: Path
) -> None:
    """Its answers stand in the folder, be the last one half a line; then all is as without the kill."""

    def fails_after(count: int) -> Callable[[str, Body], Reply]:
        seen: list[Body] = []

        def answer(page: str, body: Body) -> Reply:
            seen.append(body)
            return kind() if len(seen) > count else model(page, body)

        return answer

    whole = tmp_path / "whole"
    with serving(model) as stub:
        run(settings(corpus, served=stub.address, out=whole))
        every = len(stub.requests)
    out = tmp_path / "killed"
    with serving(fails_after(30)) as stub, pytest.raises(ModelError, match=said):
        run(settings(corpus, served=stub.address, out=out))
    kept = sorted(out.glob(".units/completions-*"))
    lines = sum(path.read_text().count("\n") for path in kept)
    # Those under way at once may have been answered and not looked at.
    assert 30 - 2 - 16 <= lines <= 30 - 2
    assert not (out / "manifest.json").exists()
    whole_lines = kept[-1].read_bytes()
    kept[-1].write_bytes(whole_lines[:-9])
    with serving(model) as stub:
        run(settings(corpus, served=stub.address, out=out))
        assert len(stub.requests) == every - (lines - 1)
    assert shards(out) == shards(whole)
    assert answers(out) == answers(whole)


def test_two_workers_ask_one_server(
    corpus: Path, tmp_path: Path, forks: Any, start: Callable[..., list[int]]
) -> None:
    """Their folder is that of one, answers included."""
    alone, out = tmp_path / "alone", tmp_path / "out"
    with serving(model) as stub:
        run(settings(corpus, served=stub.address, unit=4, out=alone))
        work = partial(run, settings(corpus, served=stub.address, unit=4, out=out))
        codes = list(map(forks.end, start(work, work)))
    assert codes == [0, 0], "".join((tmp_path / f"log-{rank}").read_text() for rank in range(2))
    assert shards(out) == shards(alone)
    assert answers(out) == answers(alone)


def test_answers_of_another_plan_go(corpus: Path, tmp_path: Path) -> None:
    """As its shards do."""
    out = tmp_path / "out"
    with serving(model) as stub:
        run(settings(corpus, served=stub.address, out=out, unit=2, limit=4))
        run(settings(corpus, served=stub.address, out=out, unit=2, limit=2))
    assert list(answers(out)) == ["completions-00000-of-00001.jsonl"]


def test_more_sentences_ask_for_what_is_new(corpus: Path, tmp_path: Path) -> None:
    """Three and then six: no request comes again, those for a unit that was not full neither."""

    def asked(stub: Any) -> list[str]:
        bodies = [*stub.bodies(CHAT), *stub.bodies(TEXT)]
        return [json.dumps(body, sort_keys=True) for body in bodies if "____" in json.dumps(body)]

    out, once = tmp_path / "out", tmp_path / "once"
    with serving(model) as stub:
        run(settings(corpus, served=stub.address, out=out, unit=4, references=2, limit=3))
        before = asked(stub)
        run(settings(corpus, served=stub.address, out=out, unit=4, references=2, limit=6))
        grown = asked(stub)
    with serving(model) as stub:
        run(settings(corpus, served=stub.address, out=once, unit=4, references=2, limit=6))
        assert before
        assert len(before) < len(grown)
        assert sorted(grown) == sorted(asked(stub))
    assert shards(out) == shards(once)
    assert answers(out) == answers(once)


def test_a_local_model_ranks_where_the_server_cannot(
    corpus: Path, tiny_causal: Path, tmp_path: Path
) -> None:
    """Without it there is a line; with it the server is asked for no log-probabilities."""

    def without(page: str, body: Body) -> Reply:
        return completion("x") if page == TEXT else model(page, body)

    out, again = tmp_path / "out", tmp_path / "again"
    with serving(without) as stub:
        with pytest.raises(ModelError, match="--scorer"):
            run(settings(corpus, served=stub.address, out=out))
        assert not list(out.glob("*.parquet"))
        before = len(stub.bodies(TEXT))
        run(settings(corpus, served=stub.address, out=out, scorer=str(tiny_causal)))
        assert len(stub.bodies(TEXT)) == before
    rows = [c for p in sorted(out.glob("candidates-*")) for c in read_candidates(p)]
    assert rows
    assert all(row.score is not None and row.donor is None for row in rows)
    assert all(row.score_prepend is not None for row in rows)
    run(settings(corpus, replay=out, out=again, scorer=str(tiny_causal)))
    assert shards(again) == shards(out)


def test_rows_say_where_answers_were_only_asked_to_go_on(corpus: Path) -> None:
    """In the notes of the manifest, and in each line that is kept."""

    def asked(page: str, body: Body) -> Reply:
        if "continue_final_message" in body:
            return refusal(422)
        return model(page, body)

    with serving(asked) as stub:
        served = settings(corpus, served=stub.address)
        run(served)
    out = default_out(served)
    assert read_json(out / "manifest.json")["notes"][ASKED] == 12 * 4
    lines = [json.loads(line) for file in answers(out).values() for line in file.splitlines()]
    assert {line["begun"] for line in lines if "begun" in line} == {"asked"}


def test_rows_of_other_prompts_are_made_again(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digest of their templates is part of what a unit was made of."""
    with serving(model) as stub:
        served = settings(corpus, served=stub.address)
        run(served)
        before = {
            path: path.stat().st_mtime_ns for path in default_out(served).glob("*-of-*.parquet")
        }
        monkeypatch.setattr("pipeline.generate.proposed.prompts_digest", lambda: "other")
        run(served)
    assert before
    assert all(path.stat().st_mtime_ns != time for path, time in before.items())


@pytest.mark.parametrize("text", ["", " \n a cat", None])
def test_empty_answers_end_the_run(text: str | None, corpus: Path, tmp_path: Path) -> None:
    """Where most are; what was answered stays."""

    def mute(page: str, body: Body) -> Reply:
        found = model(page, body)
        if page == TEXT or "____" not in body["messages"][0]["content"]:
            return found
        return refusal(500) if text is None else chat(text)

    out = tmp_path / "out"
    with serving(mute) as stub, pytest.raises(ModelError, match="came back empty"):
        run(settings(corpus, served=stub.address, out=out))
    assert not list(out.glob("*.parquet"))
    assert answers(out)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": None}, "--model"),
        ({"fills": "attested"}, "chooses no attested"),
        ({"decoding": "n-best"}, "--decoding sample"),
        ({"prompt": "chat"}, "own form of prompts"),
        ({"replay": "somewhere"}, "leave one of them out"),
        ({"key_env": "NOT_SET_ANYWHERE"}, "not set"),
        ({"scorer": "models/bert"}, "bert"),
        ({"served": "http://192.0.2.1:8000"}, "--remote"),
    ],
)
def test_settings_that_do_not_go_together(
    given: dict[str, object], said: str, corpus: Path
) -> None:
    """One line each, before anything is asked."""
    with serving(model) as stub:
        with pytest.raises(ConjoinError, match=said) as raised:
            run(settings(corpus, **{"served": stub.address, **given}))
        assert not stub.requests
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "given",
    [
        {"served": "http://me:secret@127.0.0.1"},
        {"key_env": "sk-secret"},
        {"key_env": "hf_secretABCDEFGHIJKLMNOPQ12"},
    ],
)
def test_secrets_in_the_settings_are_refused_and_not_shown(
    given: dict[str, str], corpus: Path
) -> None:
    """An address with a password, and the key itself instead of its variable's name."""
    with pytest.raises(SettingsError) as raised:
        GenerateSettings.build({"corpus": corpus, **given}, None)
    assert "secret" not in str(raised.value)


def test_options_of_servers_say_what_they_need(corpus: Path) -> None:
    """Given without a server or another family they change nothing, and that is said."""
    given = ["served", "remote", "key_env", "scorer", "replay"]
    t5 = settings(corpus, lm="t5", served="http://127.0.0.1")
    assert len(t5.without_effect(given)) == 5
    assert not settings(corpus, served="http://127.0.0.1").without_effect(given)


def test_a_dry_run_writes_nothing(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It asks for a few, to say how long the run would take."""
    with serving(model) as stub:
        served = settings(corpus, served=stub.address, dry_run=True)
        run(served)
        assert stub.requests
    assert "pairs" in capsys.readouterr().out
    assert not default_out(served).exists()


def test_completions_whose_links_lead_in_a_circle(corpus: Path, tmp_path: Path) -> None:
    """Are none, in one line."""
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError, match="links lead in a circle"):
        run(settings(corpus, replay=tmp_path / "loop"))
