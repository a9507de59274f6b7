"""Small random models that the tests build themselves: nothing is downloaded."""

import io
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import torch
from accelerate.state import AcceleratorState
from filelock import FileLock
from transformers import (
    BertConfig,
    BertForMaskedLM,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from benchmarks.byte_level import byte_level
from pipeline.core.errors import ConjoinError
from pipeline.core.files import sha256_of, write_json
from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, TREES, sentence_row
from pipeline.core.types import Sentence
from pipeline.executor import launch
from pipeline.generate.settings import GenerateSettings
from pipeline.ingest import stage as ingest
from pipeline.ingest.settings import IngestSettings
from pipeline.models.tokenizers import train_unigram, train_wordpiece

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
TEXTS = [
    "The old man saw a small dog near the harbor.",
    "the girl who sold the lamp saw the old harbor yesterday and a man",
    "harbors lamps quickly fathom unlock girls dogs near a small man",
] * 20


def pytest_configure() -> None:
    """Nobody hears of what tests do: DVC and Hugging Face report usage unless they are asked not to."""
    for name in ("DVC_NO_ANALYTICS", "DO_NOT_TRACK", "HF_HUB_DISABLE_TELEMETRY"):
        os.environ.setdefault(name, "1")


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _no_sync() -> Iterator[None]:
    """What tests write need not outlive a power cut; waiting for the disk took a twentieth of their time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Copies of candidates go to a temporary folder, not to that of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_DATASETS_CACHE", str(tmp_path_factory.mktemp("datasets")))
        yield


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random two-layer BERT with 160 positions."""
    folder = tmp_path_factory.mktemp("tiny-bert")
    tokenizer = train_wordpiece(TEXTS, 320, 160)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=160, initializer_range=0.5,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random T5 of two layers each way that stops now and then."""
    folder = tmp_path_factory.mktemp("tiny-t5")
    tokenizer = train_unigram(TEXTS, 300, 128)
    torch.manual_seed(1)
    config = T5Config(
        vocab_size=len(tokenizer), d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, initializer_factor=4.0,
    )  # fmt: skip
    T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


END_OF_TEXT = "<|endoftext|>"


@pytest.fixture(scope="session")
def tiny_causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random Llama of two layers, a base model without chat template."""
    folder = tmp_path_factory.mktemp("tiny-causal")
    tokenizer = byte_level(TEXTS, 500, END_OF_TEXT, 1024)
    torch.manual_seed(2)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, intermediate_size=32, max_position_embeddings=1024, initializer_range=0.3,
        eos_token_id=tokenizer.eos_token_id, bos_token_id=None, tie_word_embeddings=True,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def genia(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """GENIA as `conjoin ingest` wrote it, once for all processes, and what the command printed."""
    archive = SHARED / "data/genia/GENIA_treebank_v1.tar.gz"
    if not archive.exists():
        pytest.skip("needs ../shared, which is not part of the repository")
    home = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # whose folder is below that of all
        home = home.parent
    out, printed = home / "genia", home / "genia.txt"
    wanted = {"reader": "genia", "source": archive, "name": "genia", "out": out,
              "labelled": [250, 500]}  # fmt: skip
    with FileLock(home / "genia.lock"):
        if not printed.exists():
            with redirect_stdout(io.StringIO()) as said:
                ingest.run(IngestSettings.build(wanted, None))
            printed.write_text(said.getvalue(), encoding="utf-8")
    return out, printed.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def write_trees() -> Callable[..., None]:
    """Writes a corpus's sentences, and their gold trees as `preparse` would, `size` to a shard."""

    def write(corpus: Path, sentences: Iterable[Sentence], size: int = 1000) -> None:
        every = list(sentences)
        write_rows(corpus / "sentences.parquet", SENTENCES, map(sentence_row, every))
        shards = []
        for number, start in enumerate(range(0, len(every), size)):
            path = corpus / "trees" / f"trees-{number:05d}.parquet"
            rows = [
                {
                    "sentence_id": s.sentence_id,
                    "words": list(s.words),
                    "parser": "treebank",
                    "tree": s.tree,
                    "license": s.license,
                }
                for s in every[start : start + size]
            ]
            write_rows(path, TREES, rows)
            shards.append({"file": path.name, "rows": len(rows), "sha256": sha256_of(path)})
        inputs = {"sentences": sha256_of(corpus / "sentences.parquet")}
        shortest = min((len(s.words) for s in every), default=1)
        write_json(
            corpus / "trees" / "manifest.json",
            {
                "shards": shards,
                "inputs": inputs,
                "settings": {"min_words": shortest, "limit": None},
            },
        )

    return write


TREE = (
    "(S1 (S (NP (DT the) (JJ {a}) (NN man)) (VP (VBD saw) (NP (NP (DT a) (NN dog)) "
    "(PP (IN near) (NP (DT the) (NN {b})))) (ADVP (RB yesterday)))))"
)


@pytest.fixture
def corpus(
    tmp_path: Path, tiny_bert: Path, tiny_t5: Path, write_trees: Callable[..., None]
) -> Path:
    """A corpus folder with 30 parsed sentences of U and links to the tiny models."""
    folder = tmp_path / "corpus"
    pairs = [(a, b) for a in ("old", "small", "unfathomable") for b in ("lamp", "harbor")]
    sentences = []
    for index in range(30):
        a, b = pairs[index % len(pairs)]
        words = ("the", a, "man", "saw", "a", "dog", "near", "the", b, "yesterday")
        tree = TREE.format(a=a, b=b)
        name = f"c/{index:02d}"
        sentences.append(Sentence(name, "d", "train", words, None, tree, (), "CC0-1.0"))
    write_trees(folder, sentences, size=7)
    (folder / "models").mkdir()
    (folder / "models" / "bert").symlink_to(tiny_bert)
    (folder / "models" / "t5").symlink_to(tiny_t5)
    return folder


class Forks:
    """Copies of this warm process, imports and all: seconds cheaper than starting one."""

    def start(self, work: Callable[[], object], log: Path | None = None, **env: str) -> int:
        """Process id of a copy that does ``work``, with its output in ``log``."""
        child = os.fork()
        if child:
            return child
        code = 1
        try:
            signal.alarm(240)  # whatever goes wrong, no process is left over
            handle = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT)
            os.dup2(handle, 1)
            os.dup2(handle, 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            os.environ.update(env)
            # A test before may have left accelerate knowing of one process only.
            AcceleratorState._reset_state(reset_partial_state=True)
            work()
            code = 0
        except ConjoinError as error:
            print(f"conjoin: {error}", file=sys.stderr, flush=True)
            code = 2
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except BaseException:  # the parent's test runner must not run on in the child
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def launch(self, settings: GenerateSettings, log: Path | None = None, **env: str) -> int:
        """Process id of `conjoin generate --processes N` without its own start-up."""

        def become(_: str, command: list[str]) -> None:
            sys.argv = command[2:]
            launch.main()

        def work() -> None:
            os.execv = become  # type: ignore[assignment]
            out = settings.out or Path()
            launch.launch(settings.command_line(), settings.processes, out)

        env = {"PYTHONPATH": str(ROOT), **env}
        return self.start(work, log, **env)

    @staticmethod
    def end(child: int) -> int:
        """Its exit code, or minus the signal that killed it."""
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture(scope="session")
def forks() -> Forks:
    """Starts processes that need not import torch again."""
    return Forks()


@pytest.fixture
def start(tmp_path: Path, forks: Forks) -> Callable[..., list[int]]:
    """Starts workers that find one another as a launcher's would; rank r does the r-th work."""

    def begin(*works: Callable[[], None]) -> list[int]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        same = {"WORLD_SIZE": str(len(works)), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        return [
            forks.start(
                work, tmp_path / f"log-{rank}",
                RANK=str(rank), LOCAL_RANK=str(rank), ACCELERATE_USE_CPU="true", **same,
            )
            for rank, work in enumerate(works)
        ]  # fmt: skip

    return begin
