"""Models behind an address: what is sent, what leaves, and what becomes of servers that misbehave."""

import json
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest
from asked import said
from served_stub import Body, Reply, chat, completion, is_trial, refusal, reply, serving
from transformers import PreTrainedTokenizerFast

from pipeline.core.errors import ConjoinError, ModelError, SettingsError
from pipeline.models.writers.address import base_address, require_near, served_identity
from pipeline.models.writers.protocol import Prompt, Sampling, TextScore, WrittenAnswer
from pipeline.models.writers.served import ServedWriter

pytest.importorskip("openai", reason="models behind an address need the extra `served`")

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
SAMPLING = Sampling(0.7, 0.9)


def writer(address: str, **given: Any) -> ServedWriter:
    """One that does not wait long."""
    usual: dict[str, Any] = {"waits": (0.0, 0.0, 0.0), "timeout": 5.0}
    return ServedWriter(address, "small", SAMPLING, **usual | given)


def echo(_: str, body: Body) -> Reply:
    """Says the user's message again; goes on where it is tried."""
    return chat(" dog" if is_trial(body) else f" {body['messages'][0]['content']}!")


def test_prompts_are_chats_whose_answer_is_begun() -> None:
    """Each prompt is one seeded request, in any order; answers come in the prompts' order."""
    prompts = [Prompt(f"q{n}", "The cat", seed=n, tokens=9) for n in range(40)]
    with serving(echo) as stub:
        asked = writer(stub.address)
        assert said(asked, prompts) == [f" q{n}!" for n in range(40)]
        assert said(asked, [Prompt("plain")]) == [" plain!"]
    trial, *bodies, plain = stub.bodies(CHAT)
    assert trial["messages"][-1]["role"] == "assistant"
    assert {body["seed"] for body in bodies} == set(range(40))
    for body in bodies:
        assert body["messages"] == [
            {"role": "user", "content": f"q{body['seed']}"},
            {"role": "assistant", "content": "The cat"},
        ]
        assert body["continue_final_message"] is True
        assert body["add_generation_prompt"] is False
        assert (body["max_tokens"], body["temperature"], body["top_p"]) == (9, 0.7, 0.9)
        assert body["model"] == "small"
        assert "n" not in body
    assert [message["role"] for message in plain["messages"]] == ["user"]
    assert "continue_final_message" not in plain


def test_a_run_that_ends_waits_for_no_answer() -> None:
    """What is under way is left to itself, and nothing more is asked."""

    def slow(_: str, body: Body) -> Reply | None:
        asked = body["messages"][0]["content"]
        return None if asked == "slow" else chat(asked)

    with serving(slow) as stub:
        before = set(threading.enumerate())
        asked = writer(stub.address, at_once=2, timeout=60.0)
        answers = asked.answers([Prompt("slow"), Prompt("quick"), Prompt("slow"), Prompt("never")])
        assert next(answers) == (1, WrittenAnswer("quick", "chat"))
        answers.close()
        # The process ends whatever they are doing.
        assert all(each.daemon for each in set(threading.enumerate()) - before)
    assert "never" not in [body["messages"][0]["content"] for body in stub.bodies(CHAT)]


def test_an_answer_says_whether_its_tokens_ended_it() -> None:
    """As far as the server does."""
    with serving(lambda _, body: chat("x", body["messages"][0]["content"])) as stub:
        found = dict(writer(stub.address).answers([Prompt("stop"), Prompt("length")]))
    assert (found[0].cut, found[1].cut) == (False, True)


def without_going_on(page: str, body: Body) -> Reply:
    """As `transformers serve`: an unknown field is refused."""
    if "continue_final_message" in body:
        return refusal(422, "unexpected field")
    return completion(f"<{body['prompt']}>") if page == TEXT else chat("The cat sat.")


def test_a_server_that_does_not_go_on_is_asked_in_the_users_message() -> None:
    """That is tried once; an answer that repeats the beginning has gone on, and another one says so."""
    with serving(without_going_on) as stub:
        asked = writer(stub.address)
        found = dict(asked.answers([Prompt("q", "The cat", n) for n in range(3)]))
        other = dict(asked.answers([Prompt("q", "A dog")]))
    assert {(answer.text, answer.begun) for answer in found.values()} == {(" sat.", "continued")}
    assert other == {0: WrittenAnswer("The cat sat.", "asked")}
    bodies = stub.bodies(CHAT)
    assert sum("continue_final_message" in body for body in bodies) == 1
    assert bodies[-1]["messages"] == [{"role": "user", "content": "q\n\nA dog"}]


def test_a_server_that_begins_answers_anew_does_not_go_on() -> None:
    """It takes the question, and its first answer shows that it did not heed it."""

    def anew(page: str, body: Body) -> Reply:
        begun = body["messages"][-1]["content"].rpartition("\n")[2]
        return chat(f"{begun} dog." if page == CHAT else "")

    with serving(anew) as stub:
        asked = writer(stub.address)
        assert asked.begun == "asked"
        assert dict(asked.answers([Prompt("q", "The cat")])) == {
            0: WrittenAnswer(" dog.", "continued")
        }


@pytest.mark.parametrize(
    "answer", ["Sure! Here is the sentence:", "\nThe man saw", "here it is: The man saw a dog", "I"]
)
def test_an_answer_of_its_own_is_no_going_on(answer: str) -> None:
    """Whether or not it repeats the beginning."""
    with serving(lambda *_: chat(answer)) as stub:
        assert writer(stub.address).begun == "asked"


@pytest.mark.parametrize("answer", [" dog near the river. The man saw a dog", "dog", " – hm", ""])
def test_what_could_follow_is_going_on(answer: str) -> None:
    """A model that does not do what it is asked may still have gone on."""
    with serving(lambda *_: chat(answer)) as stub:
        assert writer(stub.address).begun == "continued"


@pytest.mark.parametrize(
    "content", ['{"choices": {"a": 1}}', "[" * 100_000, '{"choices": [{"message": 1}]}']
)
def test_an_answer_of_another_form_is_none(content: str) -> None:
    """Whatever it is, the next one is asked for."""

    def strange(page: str, body: Body) -> Reply:
        if is_trial(body):
            return chat("one")
        return 200, {"Content-Type": "application/json"}, content.encode()

    with serving(strange) as stub:
        (answer,) = dict(writer(stub.address).answers([Prompt("q")])).values()
    assert answer.text is None
    assert answer.reason


@pytest.mark.parametrize(
    ("logprobs", "usage", "wanted"),
    [
        ([None, -1.0, -2.0, -9.0], {"prompt_tokens": 3}, TextScore(-3.0, 2)),
        ([None, -1.0, -2.0, -9.0], {}, TextScore(-3.0, 2)),
        ([None, -1.0, -2.0, -9.0], None, TextScore(-3.0, 2)),
        ([None, -1.0, float("nan"), -9.0], {"prompt_tokens": 3}, None),
        ([None, -1e308, -1e308, -9.0], {"prompt_tokens": 3}, None),
        ([None, float("-inf"), float("inf"), -9.0], {"prompt_tokens": 3}, None),
    ],
)
def test_scores_are_numbers(
    logprobs: list[float | None], usage: Body | None, wanted: TextScore | None
) -> None:
    """The token that was written is not of the text, whether or not the server counts tokens."""

    def scored(page: str, body: Body) -> Reply:
        if body["prompt"] != "the text":
            return completion("x", [None, -1.0, -1.0, -9.0], 3)
        found = json.loads(completion("x", logprobs)[2])
        return reply(found | {"usage": usage})

    with serving(scored) as stub:
        assert dict(writer(stub.address).scores(["the text"])) == {0: wanted}


def test_a_tokenizer_at_hand_begins_the_answer(word_tokenizer: PreTrainedTokenizerFast) -> None:
    """Its template is filled in here and sent as a text."""
    with serving(without_going_on) as stub:
        asked = writer(stub.address, tokenizer=word_tokenizer)
        found = dict(asked.answers([Prompt("q", "The cat")]))
    assert found[0].text == "<user: q assistant: The cat>"
    assert found[0].begun == "templated"


@pytest.fixture
def word_tokenizer() -> PreTrainedTokenizerFast:
    """One that knows nothing but has a template."""
    from tokenizers import Tokenizer, models  # noqa: PLC0415

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel({"x": 0}, unk_token="x"))  # noqa: S106
    )
    tokenizer.chat_template = (
        "{% for m in messages %}{{ m.role }}: {{ m.content }} {% endfor %}"
        "{% if add_generation_prompt %}assistant: {% endif %}"
    )
    return tokenizer


def test_a_base_model_reads_plain_text() -> None:
    """A server that fails or refuses wherever a template is needed."""

    def answer(page: str, body: Body) -> Reply:
        return completion(" sat.") if page == TEXT else refusal(500, "no chat template")

    with serving(answer) as stub:
        found = dict(writer(stub.address).answers([Prompt("q", "The cat")]))
    assert (found[0].text, found[0].begun) == (" sat.", "plain")
    assert stub.bodies(TEXT)[-1]["prompt"] == "q\nThe cat"


def test_nothing_of_the_environment_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all keys only the named one is sent, and headers only that HTTP needs."""
    secrets = {
        name: f"secret-{name.lower()}"
        for name in (
            "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY",
            "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET",
        )
    }  # fmt: skip
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Mine: secret-header")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://192.0.2.1/v1")
    monkeypatch.setenv("HTTP_PROXY", "http://192.0.2.1:9")
    monkeypatch.setenv("THE_KEY", "secret-mine")
    with serving(echo) as stub:
        said(writer(stub.address), [Prompt("q", "The cat")])
        said(writer(stub.address, key_env="THE_KEY"), [Prompt("q", "The cat")])
    sent = [headers for _, headers, _ in stub.requests]
    keys = [each.get("authorization") for each in sent]
    assert keys == [None, None, "Bearer secret-mine", "Bearer secret-mine"]
    allowed = {
        "host", "accept", "accept-encoding", "connection", "content-length", "content-type",
        "authorization",
    }  # fmt: skip
    for headers in sent:
        assert {name.lower() for name in headers} <= allowed
    everything = repr(stub.requests).replace("secret-mine", "")
    assert "secret" not in everything
    assert not any(value in everything for value in secrets.values())


@pytest.mark.parametrize(
    ("status", "why"), [(401, "--key-env"), (403, "403"), (404, "--model"), (302, "302")]
)
def test_what_no_retry_would_change_ends_at_once(
    status: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One request, one line with what to do, and no key in it, though the server repeats it."""
    monkeypatch.setenv("THE_KEY", "secret-mine")

    def answer(_: str, body: Body) -> Reply:
        del body
        status_, headers, content = refusal(status, "wrong key secret-mine")
        return status_, {**headers, "Location": "http://192.0.2.1/"}, content

    with serving(answer) as stub, pytest.raises(ModelError, match=why) as raised:
        said(writer(stub.address, key_env="THE_KEY"), [Prompt("q")])
    assert len(stub.requests) == 1
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_refusal_of_every_form_says_why_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the server says is shown, but for the key."""
    monkeypatch.setenv("THE_KEY", "secret-mine")
    refused = refusal(400, "bad secret-mine, bad")
    with serving(lambda *_: refused) as stub, pytest.raises(ModelError, match=r"bad …, bad"):
        said(writer(stub.address, key_env="THE_KEY"), [Prompt("q")])


def hangs_up() -> Reply:
    """No answer comes, and no other one either."""
    raise ConnectionAbortedError


def at_one_prompt(kind: Callable[[], Reply | None]) -> Callable[[str, Body], Reply | None]:
    """A server that misbehaves but where it is tried."""
    return lambda _, body: chat("ok") if is_trial(body) else kind()


def soon(kind: Callable[[], Reply | None]) -> Callable[[str, Body], Reply | None]:
    """A server that misbehaves from the fourth request on."""
    seen: list[Body] = []

    def answer(page: str, body: Body) -> Reply | None:
        del page
        seen.append(body)
        return chat("ok") if len(seen) < 4 else kind()

    return answer


BROKEN: dict[str, Callable[[], Reply | None]] = {
    "429": lambda: reply({"error": {}}, 429, **{"Retry-After": "0"}),
    "500": lambda: refusal(500),
    "503 with a page for people": lambda: (503, {"Content-Type": "text/html"}, b"<html>"),
    "half a line": lambda: (200, {"Content-Type": "application/json"}, b'{"choices": [{"mess'),
    "a connection that breaks off": lambda: (
        200, {"Content-Type": "application/json", "X-Length": "999"}, b'{"choices": [',
    ),
    "no choices": lambda: reply({"choices": []}),
    "another form": lambda: reply(["a", "list"]),
    "a message of another form": lambda: reply({"choices": [{"message": {"content": [1]}}]}),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_nothing_comes_after_four_tries(kind: str) -> None:
    """What may pass is tried again; then there is None, and why, if a short request is answered."""
    with serving(at_one_prompt(BROKEN[kind])) as stub:
        found = dict(writer(stub.address).answers([Prompt("q")]))
    assert found[0].text is None
    assert found[0].reason
    assert len(stub.requests) == 1 + 4 + 1


@pytest.mark.parametrize("kind", [*BROKEN, "dead"])
def test_a_server_that_answers_no_more_ends_the_run(kind: str) -> None:
    """Else what is still to come would pass for refused; what came before is handed on."""
    seen: list[WrittenAnswer] = []
    with serving(soon(BROKEN.get(kind, hangs_up))) as stub:
        asked = writer(stub.address, at_once=1)
        with pytest.raises(ModelError, match=r"answers no more: .*same command") as raised:
            seen.extend(answer for _, answer in asked.answers([Prompt("q")] * 6))
    assert [each.text for each in seen] == ["ok", "ok"]
    assert "\n" not in str(raised.value)


def test_scores_of_a_server_that_answers_no_more() -> None:
    """As of answers; of one text that it cannot score there is none."""

    def one_bad(_: str, body: Body) -> Reply:
        if body["prompt"] == "bad":
            return refusal(503)
        return completion("x", [None, -1.0, -1.0, -9.0], 3)

    with serving(one_bad) as stub:
        found = dict(writer(stub.address).scores(["bad", "good"]))
    assert found == {0: None, 1: TextScore(-2.0, 2)}
    replies = [completion("x", [None, -1.0, -1.0, -9.0], 3)] * 2
    with (
        serving(lambda *_: replies.pop() if replies else refusal(503)) as stub,
        pytest.raises(ModelError, match="answers no more: status 503"),
    ):
        list(writer(stub.address, at_once=1).scores(["one", "two"]))


def test_a_server_says_how_long_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer than conjoin would, up to a minute; a date is not read."""
    asks = ["7", "3600", "-1", "Wed, 21 Oct 2026 07:28:00 GMT"]
    waited: list[float] = []

    class Clock(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waited.append(timeout or 0.0)
            return False

    def busy(_: str, body: Body) -> Reply:
        if is_trial(body) or not asks:
            return chat("ok")
        return reply({"error": {}}, 429, **{"Retry-After": asks.pop(0)})

    with serving(busy) as stub:
        asked = writer(stub.address, waits=(1.0, 2.0, 3.0, 4.0))
        monkeypatch.setattr(asked, "_stopped", Clock())
        assert said(asked, [Prompt("q")]) == ["ok"]
    assert waited == [7.0, 60.0, 3.0, 4.0]


def test_what_passes_is_waited_for() -> None:
    """Three failures, then an answer."""
    replies = [chat("ok"), refusal(429), refusal(500), refusal(503), chat("at last")]
    with serving(lambda *_: replies.pop(0)) as stub:
        assert said(writer(stub.address), [Prompt("q")]) == ["at last"]


def test_a_server_that_never_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a prompt nothing comes; of the first trial there is a line."""
    with serving(at_one_prompt(lambda: None)) as stub:
        asked = writer(stub.address, timeout=0.2)
        assert said(asked, [Prompt("q")]) == [None]
    with (
        serving(soon(lambda: None)) as stub,
        pytest.raises(ModelError, match="answers no more: no answer in time"),
    ):
        said(writer(stub.address, timeout=0.2), [Prompt("q")] * 4)
    for ask in (lambda each: each.begun, lambda each: each.require_logprobs()):
        with serving(lambda *_: None) as stub, pytest.raises(ModelError, match="no answer in time"):
            ask(writer(stub.address, timeout=0.2))
        assert capsys.readouterr().err.count("asking again") == 3


def test_no_server_is_said_in_one_line() -> None:
    """Where nobody listens."""
    with serving(echo) as stub:
        pass
    with pytest.raises(ModelError, match=r"does not answer.*--served"):
        said(writer(stub.address), [Prompt("q")])


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_server_without_time_is_not_asked_otherwise(status: int) -> None:
    """That it has none now says nothing of how it takes prompts, or of what it tells of them."""
    with serving(lambda *_: refusal(status)) as stub:
        for ask in (lambda each: each.begun, lambda each: each.require_logprobs()):
            asked = writer(stub.address)
            before = len(stub.requests)
            with pytest.raises(ModelError, match=f"does not answer now: status {status}.*wait"):
                ask(asked)
            assert len(stub.requests) == before + 4


def test_html_is_no_server_of_models() -> None:
    """A page for people with status 200: one request, one line."""
    page = 200, {"Content-Type": "text/html"}, b"<!doctype html><html>"
    with serving(lambda *_: page) as stub, pytest.raises(ModelError, match="HTML"):
        said(writer(stub.address), [Prompt("q")])
    assert len(stub.requests) == 1


def test_one_refused_prompt_is_no_reason_to_ask_otherwise() -> None:
    """A prompt that is too long gets no answer, with the server's reason; the others do."""

    def answer(_: str, body: Body) -> Reply:
        return refusal(400, "too long") if body["seed"] == 5 else chat("ok")

    with serving(answer) as stub:
        found = dict(writer(stub.address).answers([Prompt("q", "x", n) for n in range(8)]))
    assert [found[n].text for n in range(8)] == ["ok"] * 5 + [None] + ["ok"] * 2
    assert "too long" in found[5].reason
    assert len(stub.requests) == 1 + 8


def test_logprobs_of_prompts() -> None:
    """The sum is that of all tokens but the first, which has none, and the one that was written."""

    def answer(_: str, body: Body) -> Reply:
        assert body["echo"] is True
        count = len(body["prompt"].split())
        values = [None, *(-float(n) for n in range(1, count)), -99.0]
        return completion(body["prompt"] + " x", values, count)

    with serving(answer) as stub:
        asked = writer(stub.address)
        assert dict(asked.scores(["a b c", "a b"])) == {
            0: TextScore(-3.0, 2),
            1: TextScore(-1.0, 1),
        }
    assert len(stub.bodies(TEXT)) == 1 + 2


def test_logprobs_of_other_tokens() -> None:
    """A server that gives a token what it has one place further on, as llama-cpp-python does, ranks none."""
    words = ["The", " man", " saw", " a", " dog", " near", " the", " harbor"]

    def answer(logprob: float) -> Callable[[str, Body], Reply]:
        def told(_: str, body: Body) -> Reply:
            count = len(body["prompt"].split())
            own = [None, *(logprob for _ in range(1, count))]
            best = [None, *({"x": -0.5} for _ in range(1, count))]
            choice: Body = {
                "index": 0,
                "finish_reason": "length",
                "text": body["prompt"] + " harbor",
            }
            choice["logprobs"] = {
                "token_logprobs": own, "top_logprobs": best, "tokens": words[:count],
            }  # fmt: skip
            return reply({"id": "x", "object": "text_completion", "created": 0, "model": "m",
                          "choices": [choice], "usage": {"prompt_tokens": count}})  # fmt: skip

        return told

    with serving(answer(-0.5)) as stub:
        writer(stub.address).require_logprobs()
    assert len(stub.requests) == 2
    with serving(answer(-9.0)) as stub, pytest.raises(ModelError, match=r"of others.*--scorer"):
        writer(stub.address).require_logprobs()


NO_LOGPROBS: dict[str, Callable[[str, Body], Reply]] = {
    "nothing (transformers serve)": lambda _, body: completion("x"),
    "those of what it wrote": lambda _, body: completion("x", [-1.0], 9),
    "no such page": lambda *_: refusal(404),
    "a refusal": lambda *_: refusal(400),
}


@pytest.mark.parametrize("kind", NO_LOGPROBS)
def test_a_server_without_logprobs_of_prompts(kind: str) -> None:
    """Tried once; the line names the option that helps."""
    with serving(NO_LOGPROBS[kind]) as stub:
        asked = writer(stub.address)
        for _ in range(2):
            with pytest.raises(ModelError, match="--scorer"):
                asked.require_logprobs()
    assert len(stub.requests) == 1


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1"),
        ("https://[::1]:8000/other/v1", "https://[::1]:8000/other/v1"),
    ],
)
def test_addresses(url: str, address: str) -> None:
    """Without a path it is /v1."""
    assert base_address(url) == address


@pytest.mark.parametrize(
    "url",
    ["http://me:secret@127.0.0.1/v1", "http://secret@127.0.0.1/v1", "http://127.0.0.1/v1?key=secret",
     "http://127.0.0.1/v1#secret", "ftp://127.0.0.1", "127.0.0.1:8000", "http://", "http://[secret"],
)  # fmt: skip
def test_addresses_that_are_none_or_would_tell_a_secret(url: str) -> None:
    """One line that repeats nothing of them."""
    with pytest.raises(SettingsError) as raised:
        base_address(url)
    assert "secret" not in str(raised.value)


def test_sentences_stay_here_unless_asked() -> None:
    """Loopback by number or name; another machine's address needs --remote, and any needs to be one."""
    for near in ("http://127.0.0.1:1/v1", "http://127.9.9.9/v1", "http://[::1]/v1"):
        require_near(near, remote=False)
    with pytest.raises(SettingsError, match="--remote"):
        require_near("http://192.0.2.1/v1", remote=False)
    require_near("http://192.0.2.1/v1", remote=True)
    with pytest.raises(SettingsError, match="no address"):
        require_near("http://no-such-host.invalid/v1", remote=True)
    for everywhere in ("http://0.0.0.0:8000/v1", "http://[::]:8000/v1", "http://0:8000/v1"):
        for remote in (False, True):
            with pytest.raises(SettingsError, match=r"name 127\.0\.0\.1"):
                require_near(everywhere, remote=remote)


@pytest.mark.parametrize("value", [None, "", "  ", "schlüssel", "two\nlines"])
def test_a_key_that_is_none(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said without the variable's value, before anything is asked."""
    monkeypatch.delenv("THE_KEY", raising=False)
    if value is not None:
        monkeypatch.setitem(os.environ, "THE_KEY", value)
    with pytest.raises(ConjoinError, match="--key-env") as raised:
        writer("http://127.0.0.1:9", key_env="THE_KEY")
    assert not value or value not in str(raised.value)


def test_folders_that_end_alike_are_different_models() -> None:
    """Of a folder no more is recorded than may be shown, and what tells it from others."""
    one, other = (served_identity(f"/ckpt/{run}/hf/model") for run in ("run1", "run2"))
    assert one != other
    assert one.startswith("served:hf/model-")
    assert "ckpt" not in one + other
    assert served_identity("owner/model") == "served:owner/model"
