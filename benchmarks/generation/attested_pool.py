"""How much memory a pool of ten million constituents takes, to build and to draw from.

Trees are made up from a seed, and tokens are the words, so that the time is the pool's own.

    python benchmarks/generation/attested_pool.py   # ten million: half an hour, 0.7 GB of disk
    python benchmarks/generation/attested_pool.py --constituents 1000000   # a tenth
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pipeline.core.types import Reference, SourceSentence, Span
from pipeline.infill.pool import Pool
from pipeline.infill.pool_building import PoolPlan, build_pool

_WORDS = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in "bdfgklmnprst"]


class _MadeUp:
    """Sentences with trees until there are about so many constituents, each a function of its number."""

    def __init__(self, constituents: int) -> None:
        self._sentences = round(constituents / 29.6)  # as many has one on average

    def __len__(self) -> int:
        return self._sentences

    def read(self, rows: range) -> Iterator[tuple[SourceSentence, str | None]]:
        """Sentence and bracketing of some consecutive ones."""
        for row in rows:
            rng, words = random.Random(row), list[str]()
            tree = f"(S {_phrase('NP', rng, words, 0)} {_phrase('VP', rng, words, 0)} (. .))"
            yield SourceSentence(f"made-up-{row:08d}", (*words, "."), "CC0-1.0"), tree


def _phrase(label: str, rng: random.Random, words: list[str], depth: int) -> str:
    def leaf(tag: str) -> str:
        words.append(rng.choice(_WORDS))
        return f"({tag} {words[-1]})"

    def inner(label: str) -> str:
        return _phrase(label, rng, words, depth + 1)

    if label == "VP":
        return f"(VP {leaf('VBD')} {inner('NP')} {inner('PP')})"
    if label == "PP":
        return f"(PP {leaf('IN')} {inner('NP')})"
    if depth < 6 and rng.random() < 0.6:
        return f"(NP {inner('NP')} {inner('PP')})"
    return f"(NP {leaf('DT')} {leaf('JJ')} {leaf('NN')})"


def _plan(trees: _MadeUp, folder: Path) -> PoolPlan:
    def tokens(texts: list[str]) -> list[list[int]]:
        return [[1] * (text.count(" ") + 1) for text in texts]

    return PoolPlan(folder, trees, {"sentences": str(len(trees))}, tokens, "words", 32_000)  # type: ignore[arg-type]


def _memory(kind: str = "VmRSS") -> float:
    """MiB of this process in memory, now (``VmRSS``), at most (``VmHWM``), or its own (``RssAnon``)."""
    lines = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return float(lines[kind].split()[0]) / 1024


def _build(trees: _MadeUp, folder: Path) -> None:
    before, start = _memory(), time.perf_counter()
    build_pool(_plan(trees, folder), folder)
    took, size = time.perf_counter() - start, sum(f.stat().st_size for f in folder.iterdir())
    print(f"built in {took:.0f} s: {len(trees)} sentences, {size / 2**20:.0f} MiB of files; "
          f"resident {_memory('VmHWM'):.0f} MiB at most, {before:.0f} before", flush=True)  # fmt: skip


def _draw(trees: _MadeUp, folder: Path, draws: int, count: int) -> None:
    before = _memory()
    start = time.perf_counter()
    pool = Pool(folder, _plan(trees, folder).facts)
    opened = time.perf_counter() - start
    references = [
        Reference(source.sentence_id, source.words, Span(0, 3), "NP", "CC0-1.0")
        for source, _ in trees.read(range(draws))
    ]
    start = time.perf_counter()
    drawn = (pool.draw(each, lambda _: [range(2, 10)], count, 0) for each in references)
    found = sum(len(choice.options) for choice in drawn if choice is not None)
    took = time.perf_counter() - start
    print(f"{len(pool)} constituents opened in {opened:.2f} s; {draws} draws of {count}: "
          f"{draws / took:.0f} draws/s, {found / took:.0f} donors/s; resident {_memory():.0f} MiB, of "
          f"which {before:.0f} before and {_memory('RssFile'):.0f} are mapped files")  # fmt: skip


def main() -> None:
    """Build a pool in one process and draw from it in another."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--constituents", type=int, default=10_000_000)
    add("--draws", type=int, default=20_000)
    add("--pool", type=int, default=16, help="M, donors of a draw")
    add(
        "--folder",
        type=Path,
        help="draw from the pool there; without it one is built, then removed",
    )
    options = parser.parse_args()
    trees = _MadeUp(options.constituents)
    if options.folder is not None:
        _draw(trees, options.folder, options.draws, options.pool)
        return
    with tempfile.TemporaryDirectory() as folder:
        _build(trees, Path(folder))
        command = [sys.executable, *sys.argv, "--folder", folder]
        subprocess.run(command, check=True)  # noqa: S603 - itself


if __name__ == "__main__":
    main()
