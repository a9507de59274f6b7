"""A real server, `transformers serve` on loopback: it or the run is killed amid a unit; then it goes on."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from asked import said
from chat_model import chat_model
from transformers.utils.import_utils import is_serve_available

from pipeline.core.documents import read_json
from pipeline.core.parquet import read_rows
from pipeline.core.schema import REJECTS
from pipeline.generate.settings import GenerateSettings
from pipeline.generate.stage import run
from pipeline.models.writers import asking
from pipeline.models.writers.protocol import Prompt, Sampling
from pipeline.models.writers.served import ServedWriter

pytestmark = pytest.mark.skipif(
    not is_serve_available(), reason="`transformers serve` needs openai, fastapi and uvicorn"
)

_SERVE = "from transformers.cli.transformers import app; app()"
_PATIENCE = 120.0  # seconds; nothing takes as long


def awaited(what: Any) -> None:
    """Wait until something is so."""
    until = time.monotonic() + _PATIENCE
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture(scope="module")
def causal(tiny_causal: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a small causal LM with a chat template."""
    return chat_model(tiny_causal, tmp_path_factory.mktemp("chat"))


@contextmanager
def serving(causal: Path, log: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Address and process of a server of a causal LM."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    line = [sys.executable, "-c", _SERVE, "serve", str(causal), "--host", "127.0.0.1",
            "--port", str(port), "--device", "cpu"]  # fmt: skip
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with log.open("wb") as out:
        process = subprocess.Popen(line, stdout=out, stderr=out, env=env)  # noqa: S603

    def is_up() -> bool:
        assert process.poll() is None, log.read_text()
        with suppress(OSError):
            asked = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
            asked.request("GET", "/health")
            return asked.getresponse().status == 200
        return False

    try:
        awaited(is_up)
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def server(causal: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server that lives as long as the tests."""
    with serving(causal, tmp_path_factory.mktemp("log") / "log") as (address, _):
        yield address


@pytest.mark.long
def test_the_server_is_killed_amid_a_unit(
    corpus: Path, tmp_path: Path, causal: Path, forks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ends in a line, without rows; the same command asks the next server for the rest alone."""
    out = tmp_path / "out"
    usual = {
        "corpus": corpus, "lm": "causal", "model": str(causal), "decoding": "sample", "n": 2,
        "limit": 8, "scorer": str(causal), "out": out,
    }  # fmt: skip
    impatient = partial(ServedWriter, waits=(0.1, 0.1))
    monkeypatch.setattr(asking, "ServedWriter", impatient)
    kept = out / ".units/completions-00000-of-00001.jsonl"
    with serving(causal, tmp_path / "first.log") as (address, process):
        settings = GenerateSettings.model_validate({**usual, "served": address})
        child = forks.start(lambda: run(settings), tmp_path / "child.log")
        awaited(lambda: kept.is_file() and kept.read_text().count("\n") >= 3)
        process.kill()
        assert forks.end(child) != 0
    assert "answers no more" in (tmp_path / "child.log").read_text()
    assert not list(out.glob("*.parquet"))
    lines = kept.read_text().splitlines()
    assert 3 <= len(lines) < 8 * 4
    assert all(json.loads(line)["completion"] is not None for line in lines)
    asked: list[Prompt] = []
    written = ServedWriter.answers

    def answers(self: ServedWriter, prompts: Sequence[Prompt]) -> Any:
        asked.extend(prompts)
        return written(self, prompts)

    monkeypatch.setattr(ServedWriter, "answers", answers)
    with serving(causal, tmp_path / "second.log") as (address, _):
        run(GenerateSettings.model_validate({**usual, "served": address}))
    assert len(asked) == 8 * 4 - len(lines)
    assert read_json(out / "manifest.json")["tally"]["seen"] == 8 * 4


@pytest.mark.long
def test_killed_amid_a_unit_and_replayed(
    *,
    corpus: Path,
    tmp_path: Path,
    causal: Path,
    server: str,
    forks: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was answered is not asked again; rows by replay are equal, byte for byte."""
    out = tmp_path / "out"
    usual = {
        "corpus": corpus, "lm": "causal", "model": str(causal), "decoding": "sample", "n": 2,
        "limit": 8, "scorer": str(causal),
    }  # fmt: skip
    settings = GenerateSettings.model_validate({**usual, "served": server, "out": out})
    child = forks.start(lambda: run(settings), tmp_path / "child.log")
    kept = out / ".units/completions-00000-of-00001.jsonl"
    awaited(lambda: kept.is_file() and kept.read_text().count("\n") >= 3)
    os.kill(child, signal.SIGKILL)
    assert forks.end(child) == -signal.SIGKILL
    lines = kept.read_bytes().split(b"\n")[:-1]
    assert 3 <= len(lines) < 8 * 4
    assert not list(out.glob("*.parquet"))
    asked: list[Prompt] = []

    def answers(self: ServedWriter, prompts: Sequence[Prompt]) -> Any:
        asked.extend(prompts)
        return written(self, prompts)

    written = ServedWriter.answers
    monkeypatch.setattr(ServedWriter, "answers", answers)
    run(settings)
    assert len(asked) == 8 * 4 - len(lines)
    assert set(lines) <= set(kept.read_bytes().split(b"\n"))
    manifest = read_json(out / "manifest.json")
    assert manifest["tally"]["seen"] == 8 * 4
    assert len(list(read_rows(out / "rejects-00000-of-00001.parquet", REJECTS))) > 0
    again = tmp_path / "again"
    run(GenerateSettings.model_validate({**usual, "replay": kept, "out": again}))
    for path in out.glob("*.parquet"):
        assert (again / path.name).read_bytes() == path.read_bytes()


@pytest.mark.long
def test_without_its_template_at_hand_it_is_asked_in_the_users_message(
    server: str, causal: Path
) -> None:
    """It refuses to go on with an answer, which is found out by itself; and it has no log-probabilities."""
    writer = ServedWriter(server, str(causal), Sampling())
    assert writer.begun == "asked"
    (found,) = said(writer, [Prompt("the old man", "saw", tokens=4)])
    assert found
    with pytest.raises(Exception, match="--scorer"):
        writer.require_logprobs()
