"""What does each step from raw text to a predictor cost, beside what one would take instead of it?

Each step is a command of conjoin at MiniLM's size, in a process of its own. It is run for fewer and for more
items: what the larger run costs beyond the smaller is its rate, the rest is start-up. Processor time and peak
memory are the process's own and its children's. What one would take instead (``INSTEAD``) does as many items,
measured alike, right after it:

- ``ingest``: `datasets.map` of NLTK's word tokenizer over the lines;
- ``parser``, ``train``: the same command as it would be with stanza's own reading of the encoder, and with
  padded batches of sentences of similar length;
- ``harvest``, ``predict``, ``text``: stanza's constituency `Pipeline` with the same parser, which finds no
  conjuncts;
- ``free``: the authors' way, padded batches of 20 in the order of the input, every place scored;
- ``release``: `datasets`' own reading, `map` and writing of the same rows.

The limit by arithmetic is what the encoder's matrix products alone would allow, at the speed that a matrix
product has here.

    python benchmarks/road.py --genia data/raw/genia --minilm data/models/minilm --smollm2 data/models/smollm2
    python benchmarks/road.py ... --only harvest predict --mixed-precision bf16 --work data/road-bf16
"""
# ruff: noqa: PLC0415 - the kernel counts what a process held before it became another program

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.sharing.sharing import measured
from pipeline.core.console import table
from pipeline.core.schema import read_sentences

LABELLED, TREES, EPOCHS = "250", "road", "epochs-"
DRAW = ("--labelled", LABELLED, "--seed", "0")
T5_SMALL = ("--hidden", 512, "--layers", 6, "--heads", 8, "--vocab-size", 16_000)


@dataclass(frozen=True)
class Step:
    """A step of the road.

    Attributes:
        what: in words, with the unit that is counted.
        sizes: items of the smaller and of the larger run.
        command: conjoin's, for so many items; it writes to ``Road.out``.
        passes: how often the encoder reads a sentence for an item, a backward pass counted twice.
    """

    what: str
    sizes: tuple[int, int]
    command: Callable[[int], Sequence[object]]
    passes: int = 0


class Road:
    """The steps, and what lies ready for them in ``work``: a corpus, L's parser, a predictor, pairs."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.work: Path = given.work
        self.corpus: Path = self.work / "genia"
        # In the corpus folder: GENIA's text is nobody's to hand on.
        self.out, self.harvest, self.run = (
            self.corpus / name for name in ("out", "harvest", "run")
        )
        self.parser = self.corpus / "parsers" / TREES / LABELLED / "seed-0"
        self.steps = dict(self._steps())

    def prepare(self) -> None:
        """Make what the steps read, once.

        Of few updates, for the time does not depend on the weights; but the likeliest word of a head that has
        learned nothing is always the same, which `generate` refuses, so fills are drawn.
        """
        if (self.corpus / "models/t5").exists() and (self.work / "ready").exists():
            return
        shutil.rmtree(self.work, ignore_errors=True)
        corpus = self.corpus
        draws = ("--labelled", LABELLED, "--seeds", 0)
        conjoin("ingest", "genia", self.given.genia, *draws, "--out", corpus)
        conjoin("preparse", corpus, "--parser", "treebank")
        conjoin("pretrain", corpus, "--lm", "bert", "--base", self.given.minilm, "--steps", 2)
        conjoin("pretrain", corpus, "--lm", "t5", *T5_SMALL, "--steps", 2)
        conjoin("preparse", corpus, *self._parser(TREES, 2), "--limit", 1)
        conjoin("harvest", corpus, "--trees", TREES, *DRAW, "--limit", 400, "--out", self.harvest)
        conjoin("train", corpus, *self._training(20), "--out", self.run)
        (self.work / "ready").touch()

    def clear(self) -> None:
        """Remove what the last run wrote, which would be taken as it is."""
        learned = self.corpus.glob(f"*/{EPOCHS}*")
        for folder in (self.out, *learned):
            shutil.rmtree(folder, ignore_errors=True)

    def lines(self, count: int, *, as_they_come: bool = False) -> Path:
        """A file of so many sentences: of those that hold a coordination, or as they come."""
        path = self.work / f"{'text' if as_they_come else 'lines'}-{count}.txt"
        if not path.exists():
            found = read_sentences(
                self.corpus / "sentences.parquet", lambda s: as_they_come or bool(s.coordinations)
            )
            path.write_text("".join(" ".join(s.words) + "\n" for s in islice(found, count)))
        return path

    def pairs(self, count: int) -> Path:
        """A folder of so many candidates."""
        folder = self.corpus / f"pairs-{count}"
        if not folder.exists():
            conjoin(*self._generate("attested", 1, count), "--out", folder)
        return folder

    def flops(self, step: Step) -> float:
        """Of an item, by the encoder's matrices alone."""
        from pipeline.models.roles import load_encoder

        model: Any
        model, tokenizer = load_encoder(str(self.given.minilm))
        matrices: int = sum(
            p.numel() for layer in model.encoder.layer for p in layer.parameters() if p.dim() > 1
        )
        lines = self.lines(640).read_text().splitlines()
        subwords = sum(map(len, tokenizer(lines)["input_ids"])) / len(lines)
        return 2.0 * step.passes * matrices * subwords

    def _parser(self, name: str, epochs: int) -> Sequence[object]:
        return ("--parser", "labelled", "--name", name, *DRAW, "--parser-lm", self.given.minilm,
                "--parser-epochs", epochs, *self._precision())  # fmt: skip

    def _training(self, updates: int) -> Sequence[object]:
        return ("--mode", "no-filter", *DRAW, "--candidates", self.harvest,
                "--encoder", self.given.minilm, "--warm-steps", 0, "--steps", updates,
                "--eval-every", 10_000, "--select", "last", *self._precision())  # fmt: skip

    def _precision(self) -> Sequence[object]:
        return ("--mixed-precision", self.given.mixed_precision)

    def _generate(self, fills: str, pool: int, limit: int, lm: str = "bert") -> Sequence[object]:
        own = ("--pool", pool) if fills == "attested" else ("--decoding", "sample")  # see prepare
        model = ("--model", self.given.smollm2) if lm == "causal" else ()
        return ("generate", self.corpus, "--lm", lm, *model, "--fills", fills, *own,
                "--references", 1, "--limit", limit)  # fmt: skip

    def _predict(self, lines: Path) -> Sequence[object]:
        return ("predict", self.run / "predictor", lines, "--parser", self.parser)

    def _steps(self) -> Iterator[tuple[str, Step]]:
        corpus, out = self.corpus, ("--out", self.out)
        yield "ingest", Step("ingest text: lines", (1000, 6000), lambda n: (
            "ingest", "text", self.lines(n), *out))  # fmt: skip
        yield "parser", Step("preparse, the parser learns: epochs of 250 trees", (1, 3), lambda n: (
            "preparse", corpus, *self._parser(f"{EPOCHS}{n}", n), "--limit", 1))  # fmt: skip
        yield "harvest", Step("harvest: sentences", (128, 640), lambda n: (
            "harvest", corpus, "--trees", TREES, *DRAW, "--limit", n, *out), 1)  # fmt: skip
        yield "unranked", Step("generate, attested, unranked: pairs", (1000, 5000), lambda n: (
            *self._generate("attested", 1, n), *out))  # fmt: skip
        yield "free", Step("generate, MiniLM writes: pairs", (100, 600), lambda n: (
            *self._generate("free", 0, n), *out), 2)  # fmt: skip
        yield "ranked", Step("generate, MiniLM ranks, M = 16: pairs", (100, 600), lambda n: (
            *self._generate("attested", 16, n), *out), 2)  # fmt: skip
        yield "t5", Step("generate, T5-small's shape writes: pairs", (40, 240), lambda n: (
            *self._generate("free", 0, n, "t5"), *out))  # fmt: skip
        yield "t5-ranked", Step("generate, T5 ranks, M = 16: pairs", (20, 100), lambda n: (
            *self._generate("attested", 16, n, "t5"), *out))  # fmt: skip
        if self.given.smollm2:
            yield "causal", Step("generate, SmolLM2 writes: pairs", (4, 16), lambda n: (
                *self._generate("free", 0, n, "causal"), *out))  # fmt: skip
            yield "causal-ranked", Step("generate, SmolLM2 ranks, M = 16: pairs", (2, 8), lambda n: (
                *self._generate("attested", 16, n, "causal"), *out))  # fmt: skip
        yield "train", Step("train: updates of 16 sentences", (10, 50), lambda n: (
            "train", corpus, *self._training(n), *out), 48)  # fmt: skip
        yield "predict", Step("predict, with a parser: sentences", (128, 640), lambda n:
            self._predict(self.lines(n)), 2)  # fmt: skip
        yield "text", Step("the same, text as it comes: sentences", (256, 1280), lambda n:
            self._predict(self.lines(n, as_they_come=True)))  # fmt: skip
        yield "release", Step("release --stand-off: rows", (1000, 5000), lambda n: (
            "release", self.pairs(n), "--corpus", corpus, "--stand-off", *out))  # fmt: skip


def conjoin(*command: object) -> tuple[float, float]:
    """CPU seconds and peak MiB of a command of conjoin."""
    return spent(["-m", "pipeline", *map(str, command)])


def spent(line: Sequence[str]) -> tuple[float, float]:
    """CPU seconds and peak MiB of a process and its children."""
    with tempfile.NamedTemporaryFile() as log:
        return measured([sys.executable, *line], Path(log.name))[1:]


def as_before(command: Sequence[object]) -> None:
    """A command of conjoin with padded batches, and stanza's own way with an encoder."""
    from benchmarks import encoder_passes
    from pipeline.cli import main

    sys.argv[1:] = map(str, command)
    with encoder_passes.as_before():
        main()


def parsed(road: Road, count: int, *, as_they_come: bool = False) -> None:
    """Stanza's own pipeline, which is handed the encoder, for it would look for it on the hub."""
    import stanza

    from benchmarks.encoder_passes import as_before as in_stanzas_way
    from pipeline.parsing.encoders import given_to_stanza, words_encoder

    with in_stanzas_way(), given_to_stanza(words_encoder(str(road.given.minilm))):
        pipeline = stanza.Pipeline(
            lang="en", dir=str(road.parser), package=None, processors="tokenize,constituency",
            download_method=None, allow_unknown_language=True, tokenize_pretokenized=True,
            constituency_pretagged=True, constituency_model_path=str(road.parser / "parser.pt"),
            constituency_pretrain_path=str(road.parser / "pretrain.pt"), use_gpu=False, verbose=False,
        )  # fmt: skip
        lines = road.lines(count, as_they_come=as_they_come).read_text().splitlines()
        pipeline([line.split() for line in lines])


def filled(road: Road, count: int) -> None:
    """The authors' way with BERT."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    from benchmarks.generation.generation_pairs import references
    from benchmarks.generation.generation_sides import OurBert, authors_bert, task_of

    where = road.corpus / "models/bert/seed-0"
    model = AutoModelForMaskedLM.from_pretrained(where)
    tokenizer = AutoTokenizer.from_pretrained(where)
    infiller = OurBert(model.eval(), tokenizer, task_of(1))
    sources = [each for each in infiller.encode(references(count, road.given.genia)[0])
               if not isinstance(each, str)]  # fmt: skip
    authors_bert(model, sources, tokenizer.mask_token_id)


def copied(road: Road, count: int) -> None:
    """`datasets`' own way from shards to a folder of Parquet."""
    from datasets import load_dataset

    shards = [str(path) for path in sorted(road.pairs(count).glob("candidates-*.parquet"))]
    rows = load_dataset("parquet", data_files=shards, split="train", cache_dir=str(road.out))
    rows.map(lambda row: {"text": " ".join(row["words"])}).to_parquet(road.out / "rows.parquet")


def tokenized(road: Road, count: int) -> None:
    """`datasets`' own way from lines to words."""
    from datasets import load_dataset
    from nltk.tokenize import NLTKWordTokenizer

    lines = load_dataset(
        "text", data_files=str(road.lines(count)), split="train", cache_dir=str(road.out)
    )
    words = NLTKWordTokenizer()
    lines.map(lambda row: {"words": words.tokenize(row["text"])}).to_parquet(
        road.out / "rows.parquet"
    )


INSTEAD: dict[str, Callable[[Road, int], None]] = {
    "ingest": tokenized,
    "parser": lambda road, n: as_before(road.steps["parser"].command(n)),
    "harvest": parsed,
    "free": filled,
    "train": lambda road, n: as_before(road.steps["train"].command(n)),
    "predict": parsed,
    "text": lambda road, n: parsed(road, n, as_they_come=True),
    "release": copied,
}


def rate(measure: Callable[[int], tuple[float, float]], sizes: tuple[int, int]) -> list[float]:
    """Start-up in CPU seconds, items a CPU second, and peak MiB of the larger run."""
    (fewer, _), (more, memory) = map(measure, sizes)
    each = (more - fewer) / (sizes[1] - sizes[0])
    return [fewer - sizes[0] * each, 1 / each, memory]


def main(given: argparse.Namespace, line: Sequence[str]) -> None:
    """Print a line for each step."""
    if given.instead:
        given.mixed_precision = "no"
        INSTEAD[given.instead](Road(given), given.size)
        return
    road = Road(given)
    road.prepare()
    lines = []
    for name, step in road.steps.items():
        if given.only and name not in given.only:
            continue

        def ours(count: int, step: Step = step) -> tuple[float, float]:
            road.clear()
            return conjoin(*step.command(count))

        def theirs(count: int, name: str = name) -> tuple[float, float]:
            road.clear()
            road.out.mkdir()
            return spent([__file__, *line, "--instead", name, "--size", str(count)])

        start, each, memory = rate(ours, step.sizes)
        cells = [step.what, f"{start:.1f}", f"{each:,.3g}", f"{memory:,.0f}", "", "", "", ""]
        if name in INSTEAD:
            begun, other, most = rate(theirs, step.sizes)
            cells[4:] = f"{begun:.1f}", f"{other:,.3g}", f"{most:,.0f}", f"{each / other:.2f}"
        print(*cells, sep=" | ", flush=True)
        lines.append((cells, step, each))
    import torch

    from benchmarks.generation.generation_costs import peak

    torch.set_num_threads(1)
    speed = peak(torch.float32, "cpu")
    table(
        f"CPU seconds of one thread; a matrix product: {speed / 1e9:.0f} GFLOP/s",
        (
            "step",
            "start-up, s",
            "a second",
            "MiB",
            "instead: start-up, s",
            "a second",
            "MiB",
            "times",
            "of the limit",
        ),
        [
            [*cells, f"{each * road.flops(step) / speed:.2f}" if step.passes else ""]
            for cells, step, each in lines
        ],
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--genia", type=Path, required=True, help="the treebank's folder")
    parser.add_argument("--minilm", type=Path, required=True)
    parser.add_argument("--smollm2", type=Path)
    parser.add_argument("--work", type=Path, default=Path("data/road"))
    parser.add_argument("--only", nargs="*", default=[], help="steps")
    parser.add_argument(
        "--mixed-precision", choices=("no", "bf16"), default="no",
        help="of what learns and of the parser ever after; what is taken instead has float32",
    )  # fmt: skip
    parser.add_argument("--instead", choices=INSTEAD, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    os.environ["OMP_NUM_THREADS"] = "1"
    main(parser.parse_args(), sys.argv[1:])
