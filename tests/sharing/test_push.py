"""``conjoin push``, against a hub in this process that answers the real client and records it."""

import base64
import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import tiny
from shared_corpora import candidate_folder

from pipeline.core.documents import read_json
from pipeline.core.errors import ConjoinError
from pipeline.core.files import write_json
from pipeline.release.package import write_checksums
from pipeline.release.settings import ReleaseSettings
from pipeline.release.stage import run as make_release
from pipeline.sharing.push.command import run
from pipeline.sharing.push.settings import PushSettings
from pipeline.sharing.rehydrate.command import run as rehydrate
from pipeline.sharing.rehydrate.settings import RehydrateSettings
from pipeline.train.stage import run as train

STALE = "data/train-00007-of-00009.parquet"


class Hub:
    """A hub's API as far as an upload needs it; it has one file, of an earlier version."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.commit: list[dict[str, Any]] = []
        self.refusal = 0
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                hub.calls.append(f"{self.command} {self.path.partition('?')[0]}")
                said = json.dumps(
                    {"error": "no, not here"} if hub.refusal else hub.reply(self.path, body)
                )
                self.send_response(hub.refusal or 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said.encode())

            do_GET = do_POST = answer  # noqa: N815 - http.server's names

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def reply(self, path: str, body: bytes) -> Any:
        """What the hub says to a request."""
        if "/tree/" in path:
            return [{"type": "file", "path": STALE, "oid": "x", "size": 1}]
        if "/preupload/" in path:
            named = [each["path"] for each in json.loads(body)["files"]]
            return {
                "files": [
                    {"path": p, "uploadMode": "regular", "shouldIgnore": False} for p in named
                ]
            }
        if "/commit/" in path:
            self.commit = [json.loads(line) for line in body.splitlines()]
            return {
                "commitUrl": f"{self.url}/datasets/jane/toy/commit/1",
                "commitOid": "1",
                "success": True,
            }
        return {"url": f"{self.url}/datasets/jane/toy", "name": "jane/toy", "id": "1"}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    hub = Hub()
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", hub.url)
    monkeypatch.setattr(huggingface_hub.constants, "is_offline_mode", lambda: False)
    monkeypatch.setenv("HF_TOKEN", "hf_of_a_test")
    yield hub
    hub.server.shutdown()
    hub.server.server_close()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("push")
    candidates = candidate_folder(place / "toy", 20, units=1)
    make_release(ReleaseSettings(candidates=candidates, out=place / "out"))
    return place / "out"


@pytest.fixture
def release(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "out"))


def push(release: Path, **also: Any) -> None:
    run(PushSettings(release=release, repository="jane/toy", **also))


def test_dry_run_shows_everything_and_sends_nothing(
    release: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every file, the repository and the licence are shown; the hub hears of nothing."""
    push(release)
    text = capsys.readouterr().out
    names = [p.relative_to(release).as_posix() for p in release.rglob("*") if p.is_file()]
    assert all(name in text for name in names)
    assert "jane/toy" in text
    assert "CC0-1.0" in text
    assert "Nothing was sent" in text
    replaced = next(line for line in text.splitlines() if line.startswith("replaced"))
    assert "README.md" in replaced
    assert not hub.calls


def test_another_address_on_the_card_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever follows the card must come to the repository that the release goes to."""
    candidates = candidate_folder(tmp_path / "toy", 7, units=1)
    url = "https://huggingface.co/datasets/joe/toy"
    make_release(ReleaseSettings(candidates=candidates, out=tmp_path / "out", url=url))
    push(tmp_path / "out")
    assert f"the card says that the corpus is at {url}" in "".join(capsys.readouterr())


def test_upload_sends_the_files_and_removes_stale_shards(release: Path, hub: Hub) -> None:
    """One commit has every byte of the release, its name and digest, and deletes what is left over."""
    (release / ".git").mkdir()
    (release / ".git/config").write_text("secret")
    push(release, dry_run=False, private=True)
    assert "POST /api/repos/create" in hub.calls
    sent = {
        each["value"]["path"]: base64.b64decode(each["value"]["content"])
        for each in hub.commit if each["key"] == "file"
    }  # fmt: skip
    there = (p for p in release.rglob("*") if p.is_file() and ".git" not in p.parts)
    assert sent == {p.relative_to(release).as_posix(): p.read_bytes() for p in there}
    assert [e["value"]["path"] for e in hub.commit if e["key"] == "deletedFile"] == [STALE]
    manifest = read_json(release / "manifest.json")
    message = hub.commit[0]["value"]["summary"]
    assert manifest["name"] in message
    assert manifest["digests"]["train"][:16] in message


def refused(release: Path, **also: Any) -> str:
    with pytest.raises(ConjoinError) as raised:
        push(release, dry_run=False, **also)
    return str(raised.value)


def test_missing_token_is_reported_before_anything_is_sent(
    release: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a token the message says how to get one, and the hub hears of nothing."""
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    assert "hf auth login" in refused(release)
    assert not hub.calls


@pytest.mark.parametrize(
    ("status", "remedy"), [(401, "not valid"), (403, "write permission"), (404, "owner and name")]
)
def test_refusal_of_the_hub_is_one_line(release: Path, hub: Hub, status: int, remedy: str) -> None:
    """What the hub answers, and what to do about it; nothing is uploaded."""
    hub.refusal = status
    text = refused(release)
    assert "\n" not in text
    assert remedy in text
    assert not hub.commit


def test_hub_that_does_not_answer_is_one_line(release: Path, hub: Hub) -> None:
    """A closed port has the message of a lost network."""
    hub.server.shutdown()
    hub.server.server_close()
    assert "cannot be reached" in refused(release)


def test_only_whole_releases_are_sent(release: Path, hub: Hub) -> None:
    """An altered file, a file too many, a missing one and a folder of candidates: each is named."""
    (release / "notes.txt").write_text("x")
    assert "notes.txt" in refused(release)
    (release / "notes.txt").unlink()
    (release / "LICENSE").write_text("none")
    assert "LICENSE: not the file" in refused(release)
    (release / "LICENSE").unlink()
    assert "LICENSE: missing" in refused(release)
    (release / "SHA256SUMS").unlink()
    assert "no SHA256SUMS" in refused(release)
    assert "not a release" in refused(candidate_folder(release.parent / "toy", 8, units=1))
    assert not hub.calls


@pytest.mark.parametrize("licence", ["LDC-User-Agreement", "unknown"])
def test_text_that_must_not_be_handed_on_stays_here(tmp_path: Path, hub: Hub, licence: str) -> None:
    """A rebuilt release under such terms is refused even in a dry run, whatever its manifest says of them."""
    source = candidate_folder(tmp_path / "toy", 20, units=1, license_=licence)
    stand_off = tmp_path / "stand-off"
    make_release(ReleaseSettings(candidates=source, out=stand_off, stand_off=True))
    push(stand_off)
    rebuilt = tmp_path / "rebuilt"
    rehydrate(RehydrateSettings(release=stand_off, source=tmp_path / "toy", out=rebuilt))
    manifest = read_json(rebuilt / "manifest.json")
    for change, said in (
        ({}, "rebuilt"),
        ({"rehydrated": False}, "--stand-off"),
        ({"license": "CC0-1.0", "licenses": {"CC0-1.0": 20}}, f"its rows '{licence}'"),
        ({"license": "CC0-1.0", "rehydrated": False}, f"its rows '{licence}'"),
        ({"stand_off": True, "full_digests": manifest["digests"]}, "column 'words'"),
    ):
        write_json(rebuilt / "manifest.json", manifest | change)
        write_checksums(rebuilt)
        with pytest.raises(ConjoinError, match=said):
            push(rebuilt)
    assert not hub.calls


def test_no_shard_is_sent_that_the_manifest_lacks(release: Path, hub: Hub) -> None:
    """Also where sums were made again over it, and wherever it lies."""
    (shard,) = (release / "data").iterdir()
    shutil.copy(shard, release / "more.parquet")
    write_checksums(release)
    assert "lists no such shard" in refused(release)
    assert not hub.calls


def test_a_rebuilt_release_of_a_free_licence_is_sent(
    release: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """That its text was put back is no reason to keep it where the licence permits to hand it on."""
    write_json(
        release / "manifest.json", read_json(release / "manifest.json") | {"rehydrated": True}
    )
    write_checksums(release)
    push(release)
    assert "Nothing was sent: this was a dry run" in capsys.readouterr().out
    assert not hub.calls


def test_a_predictor_goes_to_a_model_repository(
    tmp_path: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dry run shows it; sent are its files alone, and none where a digest does not hold."""
    corpus = tiny.build(tmp_path / "toy")
    train(tiny.settings(corpus, mode="baseline", candidates=None, steps=10))
    out = tmp_path / "out"
    run_folder = corpus / "runs/baseline/40/seed-0"
    make_release(ReleaseSettings(candidates=run_folder, out=out, license="MIT"))
    push(out)
    assert "to        model repository jane/toy" in capsys.readouterr().out
    assert not hub.calls
    push(out, dry_run=False)
    sent = {each["value"]["path"] for each in hub.commit if each["key"] == "file"}
    assert sent == {path.name for path in out.iterdir()}
    assert any(call.startswith("POST /api/models/jane/toy/commit") for call in hub.calls)
    hub.calls.clear()
    manifest = read_json(out / "manifest.json")
    write_json(out / "manifest.json", manifest | {"license": "LDC-User-Agreement"})
    write_checksums(out)
    assert "LDC" in refused(out)
    write_json(out / "manifest.json", manifest)
    config = out / "config.json"
    write_json(config, read_json(config) | {"note": 1})
    assert "config.json: not the file" in refused(out)
    write_checksums(out)
    assert "of two predictors" in refused(out)
    assert not hub.calls
