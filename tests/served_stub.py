"""A server as a test wants it: OpenAI-compatible, on loopback, which records what it was sent."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
Reply = tuple[int, dict[str, str], bytes]


@dataclass
class Stub:
    """What was asked: path, headers and body of each request, in the order of arrival."""

    address: str = ""
    requests: list[tuple[str, dict[str, str], Body]] = field(default_factory=list)

    def bodies(self, page: str) -> list[Body]:
        """The bodies sent to a page."""
        return [body for path, _, body in self.requests if path == page]


def is_trial(body: Body) -> bool:
    """Whether this is how a server is tried, before a run and where an answer does not come."""
    asked = body.get("prompt") or body["messages"][0]["content"]
    return "The man saw a dog" in str(asked)


def reply(value: object, status: int = 200, **headers: str) -> Reply:
    """A reply in JSON."""
    content = {"Content-Type": "application/json", **headers}
    return status, content, json.dumps(value).encode()


def chat(text: str | None, ended: str = "stop") -> Reply:
    """A chat completion."""
    choice = {
        "index": 0,
        "finish_reason": ended,
        "message": {"role": "assistant", "content": text},
    }
    return reply({"id": "x", "object": "chat.completion", "created": 0, "model": "m",
                  "choices": [choice]})  # fmt: skip


def completion(text: str, logprobs: list[float | None] | None = None, prompt: int = 0) -> Reply:
    """A completion of a text, with the log-probabilities of its tokens."""
    choice: Body = {"index": 0, "finish_reason": "stop", "text": text, "logprobs": None}
    if logprobs is not None:
        choice["logprobs"] = {"token_logprobs": logprobs, "tokens": ["x"] * len(logprobs)}
    usage = {"prompt_tokens": prompt, "completion_tokens": 1, "total_tokens": prompt + 1}
    return reply({"id": "x", "object": "text_completion", "created": 0, "model": "m",
                  "choices": [choice], "usage": usage})  # fmt: skip


def refusal(status: int, message: str = "no") -> Reply:
    """A reply that refuses."""
    return reply({"error": {"message": message, "type": "x", "code": status}}, status)


@contextmanager
def serving(answer: Callable[[str, Body], Reply | None]) -> Iterator[Stub]:
    """A server that answers with what a function makes of path and body.

    None: never, until the end; where the function raises ``ConnectionError``, it hangs up.
    """
    stub, ended = Stub(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = json.loads(self.rfile.read(length))
            stub.requests.append((self.path, dict(self.headers), body))
            try:
                found = answer(self.path, body)
            except ConnectionError:
                self.close_connection = True
                return
            if found is None:
                ended.wait(20)
                self.close_connection = True
                return
            status, headers, content = found
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", headers.get("X-Length", str(len(content))))
            self.end_headers()
            self.wfile.write(content)
            if "X-Length" in headers:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield stub
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
