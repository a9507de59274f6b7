"""What `conjoin select --apart` costs: seconds and peak memory for N synthetic candidates.

Words are drawn as natural ones are, the n-th most frequent in proportion to 1 / n, and so are lengths of
sentences; one candidate in a hundred is a held-out sentence with a word changed, so that something is found.
Candidates are made in batches and forgotten, so the peak is that of the held-out sentences and one batch.

    python benchmarks/apart.py                        20,000 candidates, 2,700 held-out sentences
    python benchmarks/apart.py --candidates 1000000   minutes
"""

import argparse
import resource
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from pipeline.core.schema import CANDIDATES
from pipeline.core.types import Coordination, Sentence, Span
from pipeline.select.leakage import COLUMNS, HeldOut
from pipeline.text.usual_tags import UsualTags

_BATCH = 4096
_SCHEMA = pa.schema([CANDIDATES.field(name) for name in COLUMNS])


def sentences(random: np.random.Generator, count: int, vocabulary: int) -> Iterator[list[str]]:
    """Sentences of 10 to 45 words."""
    odds = 1 / np.arange(1, vocabulary + 1)
    lengths = random.integers(10, 46, count)
    drawn = random.choice(vocabulary, lengths.sum(), p=odds / odds.sum()).tolist()
    begin = 0
    for length in lengths.tolist():
        yield [f"w{number}" for number in drawn[begin : begin + length]]
        begin += length


def spans(length: int) -> list[dict[str, int]]:
    """Conjuncts of two and three words, with the coordinator between them."""
    middle = length // 2
    return [{"start": middle - 2, "end": middle}, {"start": middle + 1, "end": middle + 4}]


def held_out(count: int, vocabulary: int) -> tuple[HeldOut, list[list[str]], float]:
    """What is held out, its sentences, and how long the index took."""
    random = np.random.default_rng(1)
    found, tags = [], UsualTags()
    texts = list(sentences(random, count, vocabulary))
    for number, words in enumerate(texts):
        conjuncts = tuple(Span(**span) for span in spans(len(words)))
        one = Coordination(len(words) // 2, "and", "NP", conjuncts)
        found.append(
            Sentence(f"s/{number}", "d", "dev", tuple(words), None, None, (one,), "CC0-1.0")
        )
    begun = time.perf_counter()
    return HeldOut(found, tags), texts, time.perf_counter() - begun


def batches(count: int, vocabulary: int, texts: list[list[str]]) -> Iterator[pa.RecordBatch]:
    """Candidates, some at a time."""
    random = np.random.default_rng(2)
    for begin in range(0, count, _BATCH):
        rows = []
        for number, words in enumerate(sentences(random, min(_BATCH, count - begin), vocabulary)):
            copied = (begin + number) % 100 == 0
            text = list(texts[(begin + number) // 100 % len(texts)]) if copied else words
            if copied:
                text[3] = "changed"
            rows.append({"words": text, "conjuncts": spans(len(text)), "label": "NP"})
        yield pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)


def peak() -> float:
    """Peak memory of this process so far, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print what it costs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--candidates", type=int, default=20_000)
    parser.add_argument("--held-out", type=int, default=2_700)
    parser.add_argument("--vocabulary", type=int, default=20_000)
    options = parser.parse_args()
    before = peak()
    held, texts, indexed = held_out(options.held_out, options.vocabulary)
    print(
        f"{options.held_out:,} held-out sentences indexed in {indexed:.2f} s, {peak() - before:.0f} MiB"
    )
    spent, found, first = 0.0, Counter[str](), None
    for batch in batches(options.candidates, options.vocabulary, texts):
        begun = time.perf_counter()
        found.update(leak.kind for leak in held.leaks(batch))
        spent += time.perf_counter() - begun
        first = peak() if first is None else first
    each = 1e6 * spent / options.candidates
    print(f"{options.candidates:,} candidates in {spent:.1f} s: {each:.0f} µs each")
    print(f"peak {peak():.0f} MiB, {first:.0f} MiB after the first {_BATCH:,}")
    for kind, count in found.most_common():
        print(f"  {count:,} refused: {kind}")


if __name__ == "__main__":
    main()
