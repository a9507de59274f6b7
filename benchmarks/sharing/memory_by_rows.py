"""Do the memory and the time per row of the commands that read a corpus grow with its rows?

Makes corpora of several sizes as `sharing.py` does, runs each command on each of them in a process of its
own, and prints CPU seconds and what the kernel says of the most memory that it held (ru_maxrss), and how many
times that of the smallest corpus it is. The goal is 1.25 at most; the exit code is 1 where that is exceeded.

`merge` unites the corpus with itself, so it reads twice the rows; `select` chooses all NPs; `browse` is asked
for the page and for twenty rows in the order of their scores; `ingest` and `predict` read a text file with a
sentence a line, the corpus's own; of `preparse` what is measured is how it reads what `ingest` wrote and cuts
it into units, without a parser. Without --predictor there is a small random one: memory does not depend on
its weights.

    python benchmarks/sharing/memory_by_rows.py --rows 100000 1000000 3000000
"""
# ruff: noqa: PLC0415 - the kernel counts what a process held before it became another program

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.sharing.sharing import measured

GOAL = 1.25
COMMANDS = (
    "ingest",
    "preparse",
    "validate",
    "stats",
    "select",
    "merge",
    "release",
    "predict",
    "browse",
)


def write_sentences(corpus: Path, path: Path, rows: int) -> None:
    """Write so many lines of natural text: the candidates' sentences, again and again if need be.

    Every other one has the first conjunct alone, so that it is one of U, which `preparse` reads.
    """
    from itertools import cycle, islice

    from pipeline.core.candidates import candidate_shards
    from pipeline.core.schema import read_candidates
    from pipeline.text.natural import join_words

    shards = cycle(candidate_shards(corpus))
    every = (candidate for shard in shards for candidate in read_candidates(shard))
    with path.open("w", encoding="utf-8") as file:
        for number, each in enumerate(islice(every, rows)):
            first, last = each.conjuncts[0], each.conjuncts[-1]
            cut = each.words[: first.end] + each.words[last.end :]
            file.write(f"{join_words(cut if number % 2 else each.words).text}\n")


def plan_units(corpus: Path) -> None:
    """Read a corpus's sentences as `preparse` does before it parses them."""
    from pipeline.preparse.plan import unlabelled_plan
    from pipeline.preparse.settings import PreparseSettings

    plan = unlabelled_plan(
        corpus / "sentences.parquet", PreparseSettings(corpus=corpus, min_words=1)
    )
    print(f"{sum(plan.sizes):,} sentences in {len(plan.rows):,} units")


def make_predictor(folder: Path, corpus: Path) -> None:
    """Save a random predictor that knows the corpus's words."""
    from itertools import islice

    from transformers import BertConfig, BertModel

    from pipeline.core.candidates import candidate_shards
    from pipeline.core.schema import read_candidates
    from pipeline.models.tokenizers import train_wordpiece
    from pipeline.tasks.coordination.model import CoordinationPredictor

    words = islice(read_candidates(candidate_shards(corpus)[0]), 1000)
    tokenizer = train_wordpiece([" ".join(each.words) for each in words], 2000, 128)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=128,
    )  # fmt: skip
    encoder = folder / "encoder"
    BertModel(config).save_pretrained(encoder)
    tokenizer.save_pretrained(encoder)
    CoordinationPredictor.create(str(encoder), mlp_hidden=32, dropout=0.1, seed=0).save(
        folder / "predictor"
    )


def browsed(place: str, log: Path) -> tuple[float, float]:
    """CPU seconds and MiB that `browse` takes until it has shown the page and some rows."""
    arguments = [sys.executable, "-m", "pipeline", "browse", place, "--port", "0", "--no-open"]
    with log.open("wb") as err:
        child = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=err)  # noqa: S603 - ours
    assert child.stdout is not None  # noqa: S101 - for mypy: it is a pipe
    found = re.search(rb"(http://\S+/)(\?\S+)", child.stdout.readline())
    if found:
        address, token = (part.decode() for part in found.groups())
        for path in (token, f"api/view{token}&sort=-value&limit=20"):
            with urllib.request.urlopen(address + path) as answer:  # noqa: S310 - ours
                answer.read()
    child.send_signal(signal.SIGINT)
    child.stdout.close()
    _, status, usage = os.wait4(child.pid, 0)
    if status or not found:
        raise SystemExit(f"browse failed:\n{log.read_text()[-2000:]}")
    unit = 1 if sys.platform == "darwin" else 1024
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 2**20


def main() -> None:
    """Make the corpora, run the commands, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000, 3_000_000])
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=COMMANDS)
    parser.add_argument(
        "--corpus", type=Path, default=Path("data/world/candidates/t5-sync/seed-0"),
        help="folder that `conjoin generate` wrote (`make demo` makes the default)",
    )  # fmt: skip
    parser.add_argument(
        "--predictor", type=Path, help="of `conjoin train`, instead of a random one"
    )
    parser.add_argument("--folder", type=Path, help="where to put it (disk: 1 KB a row)")
    parser.add_argument("--make", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.make:
        kind, path = given.make[0], Path(given.make[1])
        if kind == "predictor":
            make_predictor(path, given.corpus)
        elif kind == "units":
            plan_units(path)
        else:
            write_sentences(given.corpus, path, given.rows[0])
        return
    itself = [sys.executable, __file__, "--corpus", str(given.corpus)]
    peaks: dict[str, list[float]] = {name: [] for name in given.commands}
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder, log = Path(name), Path(name) / "log"
        predictor = given.predictor or folder / "predictor"
        if "predict" in given.commands and not given.predictor:
            measured([*itself, "--make", "predictor", str(folder)], log)
        print(f"made of {given.corpus}; MiB at most, and times those of the smallest corpus")
        for rows in sorted(given.rows):
            with tempfile.TemporaryDirectory(dir=folder) as place:
                made, text = f"{place}/candidates", f"{place}/sentences.txt"
                maker = [sys.executable, str(Path(__file__).with_name("sharing.py"))]
                size = ["--rows", str(rows)]
                measured([*maker, "--corpus", str(given.corpus), *size, "--make", made], log)
                if {"predict", "ingest"} & set(given.commands):
                    measured([*itself, *size, "--make", "sentences", text], log)
                asked = {
                    "ingest": ["text", text, "--license", "CC0-1.0", "--out", f"{place}/ingested"],
                    "validate": [made],
                    "stats": [made],
                    "select": [made, "--label", "NP", "--out", f"{place}/selected"],
                    "merge": [made, made, "--out", f"{place}/merged"],
                    "release": [made, "--out", f"{place}/released"],
                    "predict": [str(predictor), text],
                }
                for command in given.commands:
                    if command == "browse":
                        busy, peak = browsed(made, log)
                    else:
                        if command == "preparse":
                            line = [*itself, "--make", "units", f"{place}/ingested"]
                        else:
                            line = [sys.executable, "-m", "pipeline", command, *asked[command]]
                        # A line or more for every row, which nobody reads.
                        said = Path(os.devnull) if command == "predict" else log
                        _, busy, peak = measured(line, said)
                    peaks[command].append(peak)
                    ratio = peak / peaks[command][0]
                    mark = "" if ratio <= GOAL else f"  over {GOAL}"
                    print(
                        f"{command:<10}{rows:>12,} rows{busy:>8.0f} CPU s{peak:>8.0f} MiB{ratio:>7.2f}{mark}",
                        flush=True,
                    )
    raise SystemExit(any(max(found) > GOAL * found[0] for found in peaks.values()))


if __name__ == "__main__":
    main()
