"""A language model behind an OpenAI-compatible address: vLLM, SGLang, llama.cpp, ``transformers serve``.

What leaves this machine is the prompts, the name of the model, and the key of the variable that was named:
the client by itself would take keys, organisation and headers from the environment, so requests keep only
the headers listed here. How a server takes the beginning of an answer is tried once, on a short prompt,
before anything else; so a wrong key or name ends a run at once.
"""

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cached_property, partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from transformers import PreTrainedTokenizerBase

from pipeline.core.console import one_line, tell
from pipeline.core.errors import ModelError, SettingsError
from pipeline.models.writers.address import base_address, require_near
from pipeline.models.writers.protocol import (
    Begun,
    Prompt,
    Sampling,
    TextScore,
    WrittenAnswer,
)
from pipeline.models.writers.rendering import chats, plain, rendered

NO_KEY = "none"
"""What the client has, which insists on a key, where a server wants none: it is not sent."""

_SENT = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host"}
)
"""Headers that may leave, beside the key's."""

_TRIAL_TEXT = "The man saw a dog near the"
_TRIAL = Prompt(f"Repeat this sentence: {_TRIAL_TEXT} river.", "The man saw a", tokens=16)
_TRIAL_NEXT = "dog"
"""Who goes on with it says what comes next, in small letters; who begins anew does so with a capital."""

_ROUNDING = 0.1
"""Of a log-probability: what two passes of a server may differ by."""

_NO_LOGPROBS = "does not give log-probabilities of a prompt's tokens"
_OTHERS_LOGPROBS = "gives a prompt's tokens the log-probabilities of others"

_REFUSED = frozenset({400, 405, 413, 422, 501})
"""Statuses of a server that does not want what was asked, and would not want it again."""

_BUSY = frozenset({408, 409, 425, 429, 502, 503, 504})
"""Statuses of a server that may want it later; so may others from 500 on."""

_ENDING = {
    401: ("wants a key, or another one (401)", "name the variable that has it with --key-env"),
    403: ("does not let you in (403)", "look at what the key is for"),
    404: (
        "has no such page or model (404)",
        "check --served, which often ends in /v1, and --model",
    ),
}
"""Statuses that no other request would change, with what to do."""

_LONGEST_PAUSE = 60.0  # seconds that a server may ask to wait

_LONGEST = 160  # characters of what a server says

_T = TypeVar("_T")
_Item = TypeVar("_Item")


class _RefusedError(Exception):
    """The server does not want what was asked; says why."""


class _MissingError(Exception):
    """No answer came, or none that can be read; says why.

    Attributes:
        there: whether there is a server that said so.
        busy: whether it may answer later what it does not answer now.
    """

    def __init__(self, reason: str, *, there: bool, busy: bool = False) -> None:
        super().__init__(reason)
        self.there, self.busy = there, busy


class ServedWriter:
    """A language model at an address.

    Args:
        address: below which ``/chat/completions`` is; without a path, below /v1.
        model: its name there.
        sampling: how it chooses tokens.
        remote: whether the address may be another machine's.
        key_env: name of the environment variable with the key; None: no key is sent.
        tokenizer: the model's, if it is at hand: its template begins answers where the server does not.
        at_once: most requests under way.
        timeout: seconds to wait for an answer.
        waits: seconds before the second try, the third …; after the last try nothing came.

    Raises:
        SettingsError: the address is another machine's, or no address; the variable is not set; or there
            is no client.
    """

    def __init__(
        self,
        address: str,
        model: str,
        sampling: Sampling,
        *,
        remote: bool = False,
        key_env: str | None = None,
        tokenizer: PreTrainedTokenizerBase | None = None,
        at_once: int = 16,
        timeout: float = 300.0,
        waits: Sequence[float] = (1.0, 4.0, 16.0),
    ) -> None:
        self.model, self.sampling = model, sampling
        self._address = base_address(address)
        require_near(self._address, remote=remote)
        self._key = _key(key_env)
        self._tokenizer = tokenizer if tokenizer is not None and chats(tokenizer) else None
        self._at_once, self._waits, self._timeout = at_once, tuple(waits), timeout
        self._stopped = threading.Event()
        self._client = _client(self._address, self._key, timeout, remote=remote)

    def answers(self, prompts: Sequence[Prompt]) -> Generator[tuple[int, WrittenAnswer]]:
        """See ``Answering``.

        Raises:
            ModelError: the server does not answer, or no more; refuses key or model; or is no such server.
        """
        if prompts:
            begun = self.begun  # before there are several requests at once
            yield from self._all(partial(self._answer, begun=begun), prompts)

    @cached_property
    def begun(self) -> Begun:
        """How the beginning of an answer reaches this model: the first way that the server takes.

        Raises:
            ModelError: it takes none; or as ``answers``.
        """
        ways: list[Begun] = ["continued", "asked", "plain"]
        if self._tokenizer is not None:
            ways.insert(1, "templated")
        refused, waits = "", self._waits
        for way in ways:
            try:
                text, _ = self._tried(partial(self._request, _TRIAL, way), waits, told=True)
            except _RefusedError as error:
                refused = refused or str(error)
            except _MissingError as error:
                self._require_answering(error)
                # Some fail where a model has no template.
                refused, waits = refused or str(error), ()
            else:
                if way != "continued" or not _begins_anew(text):
                    return way
                refused = refused or "it begins answers anew"
        raise self._error(
            f"answers no form of a prompt: {refused}", "check --model and its log, or wait for it"
        )

    def require_logprobs(self) -> None:
        """Refuse a server that does not really say how probable the tokens of a prompt are.

        ``transformers serve`` takes the question, and does not answer it; llama-cpp-python 0.3 gives a token
        the log-probability that it has one place further on, where a model's texts have no first token.

        Raises:
            ModelError: so it is; or as ``answers``.
        """
        if self._lacks:
            raise self._error(
                f"{self._lacks}, by which proposals are ranked",
                "name a local causal LM to rank them, --scorer FOLDER, or serve the model with vLLM",
            )

    def scores(self, texts: Sequence[str]) -> Generator[tuple[int, TextScore | None]]:
        """See ``Scoring``; raises as ``require_logprobs``."""
        self.require_logprobs()
        for place, found in self._all(self._logprobs, texts):
            yield place, None if found is None else TextScore(math.fsum(found), len(found))

    @cached_property
    def _lacks(self) -> str:
        """What is wrong with the log-probabilities of a prompt's tokens; nothing, where they are right."""
        try:
            return self._tried(self._fault_of_logprobs, self._waits, told=True)
        except _RefusedError:
            return _NO_LOGPROBS
        except _MissingError as error:
            self._require_answering(error)
            return _NO_LOGPROBS

    def _require_answering(self, error: _MissingError) -> None:
        """Refuse a server of which a trial says nothing, since there is none, or it has no time.

        Raises:
            ModelError: so it is.
        """
        if not error.there:
            raise self._error(f"does not answer: {error}", "start it, or check --served") from None
        if error.busy:
            raise self._error(
                f"does not answer now: {error}", "wait for it, and run it again"
            ) from None

    def _fault_of_logprobs(self) -> str:
        """The fault that a short text shows: what is written is to be the most probable when it is read."""
        first = self._echoed(_TRIAL_TEXT)
        if len(_logprobs_of(first)) < 2:
            return _NO_LOGPROBS
        text = str(first.choices[0].text)
        written = text.removeprefix(_TRIAL_TEXT)
        if not getattr(first.choices[0].logprobs, "top_logprobs", None) or written in ("", text):
            return ""
        try:
            found = self._echoed(text)
            told, at = found.choices[0].logprobs, found.usage.prompt_tokens - 1
            own, best = float(told.token_logprobs[at]), max(told.top_logprobs[at].values())
            same = told.tokens[at] == written  # else the text has other tokens
            return _OTHERS_LOGPROBS if same and own < best - _ROUNDING else ""
        except (AttributeError, LookupError, TypeError, ValueError):
            return ""

    def _answer(self, prompt: Prompt, begun: Begun) -> WrittenAnswer:
        way: Begun = "chat" if begun in ("continued", "asked") and not prompt.begins else begun
        try:
            text, cut = self._answered(
                partial(self._request, prompt, way), partial(self._request, _TRIAL, begun)
            )
        except (_RefusedError, _MissingError) as error:
            return WrittenAnswer(None, way, str(error))
        if _begins_again(text, prompt):  # what was only asked to go on has gone on, then
            text = text.lstrip().removeprefix(prompt.begins)
            way = "continued" if way == "asked" else way
        return WrittenAnswer(text, way, cut=cut)

    def _logprobs(self, text: str) -> list[float] | None:
        try:
            return self._answered(
                partial(self._request_logprobs, text), partial(self._request_logprobs, _TRIAL_TEXT)
            )
        except (_RefusedError, _MissingError):
            return None

    def _answered(self, request: Callable[[], _T], trial: Callable[[], _T]) -> _T:
        """The answer to a request amid a run.

        Raises:
            _RefusedError: as ``_tried``.
            _MissingError: nothing came, though a short request, the trial, is answered.
            ModelError: as ``_require_there`` or ``_tried``.
        """
        try:
            return self._tried(request, self._waits)
        except _MissingError:
            self._require_there(trial)
            raise

    def _require_there(self, trial: Callable[[], object]) -> None:
        """Refuse to go on with a server that answers nothing more.

        All that is still to come would be counted as refused, in a run that seems to succeed.

        Raises:
            ModelError: nothing comes of a short request; or as ``_tried``.
        """
        try:
            self._tried(trial, self._waits)
        except _RefusedError:  # so it is there
            return
        except _MissingError as error:
            raise self._error(
                f"answers no more: {error}",
                "wait for it or start it again, and run the same command again: what was answered is kept",
            ) from None

    def _request(self, prompt: Prompt, way: Begun) -> tuple[str, bool]:
        """What came, and whether it was cut."""
        options: dict[str, Any] = {
            "model": self.model, "seed": prompt.seed, "temperature": self.sampling.temperature,
            "top_p": self.sampling.top_p,
        }  # fmt: skip
        if way in ("templated", "plain"):
            own = self._tokenizer if way == "templated" else None
            text = plain(prompt) if own is None else rendered(own, prompt, chat=True)
            found = self._client.completions.create(
                prompt=text, max_tokens=prompt.tokens, **options
            )
            return _completed(found, lambda choice: choice.text)
        asked = f"{prompt.user}\n\n{prompt.begins}" if way == "asked" else prompt.user
        messages = [{"role": "user", "content": asked}]
        if way == "continued":
            messages.append({"role": "assistant", "content": prompt.begins})
            # Servers that go on know this name; newer models of OpenAI's own, which do not, know the other.
            options["max_tokens"] = prompt.tokens
            options["extra_body"] = {"continue_final_message": True, "add_generation_prompt": False}
        else:
            options["max_completion_tokens"] = prompt.tokens
        found = self._client.chat.completions.create(messages=messages, **options)
        return _completed(found, lambda choice: choice.message.content)

    def _echoed(self, text: str) -> Any:
        """A text with the token that the model writes, and what is told of their log-probabilities."""
        return self._client.completions.create(
            model=self.model, prompt=text, max_tokens=1, echo=True, logprobs=1, temperature=0.0
        )

    def _request_logprobs(self, text: str) -> list[float]:
        return _logprobs_of(self._echoed(text))

    def _all(
        self, work: Callable[[_Item], _T], items: Sequence[_Item]
    ) -> Generator[tuple[int, _T]]:
        """The place of each item, and what ``work`` makes of it, as it comes.

        A run that ends before does not wait for what is under way, as it would for an executor's threads.
        """
        waiting: SimpleQueue[tuple[int, _Item]] = SimpleQueue()
        found: SimpleQueue[tuple[int, _T] | BaseException] = SimpleQueue()
        for numbered in enumerate(items):
            waiting.put(numbered)

        def run() -> None:
            for place, item in _taken_from(waiting):
                try:
                    found.put((place, work(item)))
                except BaseException as error:  # raised where it is waited for
                    found.put(error)

        for _ in range(min(self._at_once, len(items))):
            threading.Thread(target=run, daemon=True).start()
        done = False
        try:
            for _ in items:
                each = found.get()
                if isinstance(each, BaseException):
                    raise each
                yield each
            done = True
        finally:
            if not done:
                self._stopped.set()
                deque(_taken_from(waiting), maxlen=0)

    def _tried(
        self, request: Callable[[], _T], waits: Sequence[float], *, told: bool = False
    ) -> _T:
        """The answer to a request, at the last of several tries.

        Args:
            request: asks the server.
            waits: seconds before each further try.
            told: whether to print a line at each timeout: in trials, before any progress shows.

        Raises:
            _RefusedError: the server does not want it.
            _MissingError: nothing came.
            ModelError: no request of the kind would be answered.
        """
        import openai  # noqa: PLC0415 - an optional extra

        for wait in (*waits, None):
            pause, busy = 0.0, False
            try:
                return request()
            except openai.APIStatusError as error:
                reason, pause, there = self._judged(error), _pause_of(error), True
                busy = error.status_code in _BUSY
            except openai.APITimeoutError:
                reason, there = "no answer in time", False
                if told and wait is not None:
                    tell(f"no answer from {self._address} in {self._timeout:g} s: asking again")
            except openai.APIConnectionError as error:
                reason, there = self._said(error.__cause__ or error), False
            except (openai.APIError, ValueError, RecursionError):
                reason, there = "an answer that breaks off or is no JSON", True
            except _MissingError as error:
                reason, there = str(error), True
            if wait is None or self._stopped.wait(max(wait, pause)):
                break
        raise _MissingError(reason, there=there, busy=busy)

    def _judged(self, error: Any) -> str:
        """Why a server that refused may not refuse the next time."""
        status = int(error.status_code)
        page = str(error.request.url.path)
        asks_chat = page.endswith("/chat/completions")
        if status in _REFUSED or (
            status == 404 and page.endswith("/completions") and not asks_chat
        ):
            raise _RefusedError(f"{status}: {self._said(error)}") from error
        if status in _BUSY or status >= 500:
            return f"status {status}"
        what, remedy = _ENDING.get(status, (f"answers with status {status}", "check --served"))
        raise self._error(what, remedy) from None

    def _said(self, error: BaseException) -> str:
        """What a server or library says, without the key, should that be repeated."""
        text = one_line(str(getattr(error, "message", "") or error) or type(error).__name__)
        return (text if self._key == NO_KEY else text.replace(self._key, "…"))[:_LONGEST]

    def _error(self, what: str, remedy: str) -> ModelError:
        return ModelError(f"the server at {self._address} {what}", remedy=remedy)


def _taken_from(waiting: SimpleQueue[_Item]) -> Iterator[_Item]:
    """What waits, taken out one by one, until nothing does."""
    while True:
        try:
            yield waiting.get_nowait()
        except Empty:
            return


def _begins_anew(text: str) -> bool:
    """Whether a server that was to go on with the trial's beginning wrote an answer of its own."""
    said = text.strip()
    # Who has gone on may say the sentence again behind that.
    return not said.startswith(_TRIAL_NEXT) and (said[:1].isupper() or _TRIAL.begins in said)


def _begins_again(text: str, prompt: Prompt) -> bool:
    """Whether an answer repeats what it was to go on with."""
    return bool(prompt.begins) and text.lstrip().startswith(prompt.begins)


def _logprobs_of(found: Any) -> list[float]:
    """The log-probabilities of a prompt's tokens but the first.

    Raises:
        _RefusedError: there are none, or they are no numbers.
    """
    try:
        known = found.choices[0].logprobs.token_logprobs
        # Behind those of the text is one that was written, and not every server counts them.
        asked = getattr(found.usage, "prompt_tokens", None) or len(known) - 1
        own = [float(each) for each in known[1:asked]]
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        raise _RefusedError("no log-probabilities") from error
    if not math.isfinite(sum(own)):
        raise _RefusedError("log-probabilities that are no numbers")
    return own


def _completed(found: Any, part: Callable[[Any], object]) -> tuple[str, bool]:
    """The completion in what came, "" where the model said nothing, and whether its tokens ended it.

    Raises:
        _MissingError: there is none in it.
        ModelError: it is a page for people.
    """
    if isinstance(found, str) and found.lstrip().startswith("<"):
        raise ModelError(
            "the server answers with HTML, so it is none for language models",
            remedy="check --served, which often ends in /v1",
        )
    try:
        choice = found.choices[0]
        text = part(choice)
    except (AttributeError, LookupError, TypeError) as error:
        raise _MissingError("an answer without a completion", there=True) from error
    if text is not None and not isinstance(text, str):
        raise _MissingError("an answer without a completion", there=True)
    # Half a character can be sent, and not be written to a file.
    whole = (text or "").encode("utf-8", "replace").decode("utf-8")
    return whole, getattr(choice, "finish_reason", None) == "length"


def _pause_of(error: Any) -> float:
    """Seconds that a server asks to wait."""
    try:
        asked = float(error.response.headers.get("retry-after", 0))
    except ValueError:  # it may be a date
        return 0.0
    return min(max(asked, 0.0), _LONGEST_PAUSE)


def _key(name: str | None) -> str:
    """The key that a variable has, which nothing shows or keeps.

    Raises:
        SettingsError: it has none, or one that cannot be sent.
    """
    if name is None:
        return NO_KEY
    key = os.environ.get(name, "").strip()
    if not key:
        raise SettingsError(
            "the environment variable that --key-env names is not set, or empty",
            remedy="set it, or leave --key-env out for a server that wants no key",
        )
    if not (key.isascii() and key.isprintable()):
        raise SettingsError(
            "the environment variable that --key-env names holds characters that cannot be sent",
            remedy="set it to the key alone",
        )
    return key


def _client(address: str, key: str, timeout: float, *, remote: bool) -> Any:
    """The client, whose requests go to the address and nowhere else, with the key and no other header.

    Raises:
        SettingsError: it is not installed.
    """
    try:
        import openai  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise SettingsError(
            "models behind an address need the package openai, which is not installed",
            remedy="install the extra: pip install '.[served]' in conjoin's folder",
        ) from error

    def only_ours(request: Any) -> None:
        for name in list(request.headers):
            if name.lower() not in _SENT:
                del request.headers[name]
        if key != NO_KEY:
            request.headers["authorization"] = f"Bearer {key}"

    http = openai.DefaultHttpxClient(
        timeout=timeout,
        follow_redirects=False,  # they may lead to another machine
        trust_env=remote,  # proxies
        event_hooks={"request": [only_ours]},
    )
    # What is empty here would be taken from the environment if it were None.
    return openai.OpenAI(
        api_key=key, admin_api_key="", organization="", project="", webhook_secret="",
        base_url=address, max_retries=0, timeout=timeout, http_client=http,
    )  # fmt: skip
