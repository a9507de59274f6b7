"""YAML and JSON of any make: params.yaml, manifests, cards of runs and models, files of given spans."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from hostile.case import Case, damaged, piping, writing

from pipeline.cli import COMMANDS
from pipeline.core.files import sha256_of
from pipeline.core.parquet import write_rows
from pipeline.core.schema import SENTENCES, TREES, sentence_row
from pipeline.core.settings import Settings
from pipeline.core.types import CATEGORIES, CRITERIA, Sentence

_DEEP = "[" * 3000 + "]" * 3000
BOMB = "a0: &a0 [1, 1]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
)
_VALUES = [
    "{1: 2}", "[[1]]", "2026-13-45", "!!int x", "!!float ''", "!!binary aGk", "9" * 400, "0x" + "f" * 6000,
    ".nan", ".inf", '"\\ud800"', '"\\0"', "!!set {a}", "&x [*x]", _DEEP, "!!python/name:os.system",
]  # fmt: skip


def _arguments(settings: type[Settings]) -> list[str]:
    """What a command must be given; its values are refused later than its params file."""
    words: list[str] = []
    for name, field in settings.model_fields.items():
        if field.is_required():
            word = "text" if name == "reader" else "x"
            words += [word] if name in settings.arguments else [f"--{name}", word]
    return words


def _params(step: int) -> Iterator[Case]:
    """A params file for every command: no section, one of another type, values of other types.

    One reader reads them for all, so each command may get but every ``step``-th of them.
    """
    for number, (command, (settings, _, _)) in enumerate(COMMANDS.items()):
        option = next(n for n in settings.model_fields if n not in settings.arguments) if (
            len(settings.model_fields) > len(settings.arguments)
        ) else "none"  # fmt: skip
        stage = settings.stage
        texts = {"a list": "- 1", "a section that is none": f"{stage}: 3", "a bomb": BOMB,
                 "an entry that is none": f"{stage}: {{default: [1]}}", "NUL": "a: \0",
                 "an unknown key": f"{stage}: {{default: {{nonesuch: 1}}}}"}  # fmt: skip
        texts |= {v[:30]: f"{stage}: {{default: {{{option}: {v}}}}}" for v in _VALUES}
        line = [command, *_arguments(settings), "--params", "p.yaml"]
        for what, text in islice(texts.items(), number % step, None, step):
            yield Case(f"params of {command}: {what}", line, writing("p.yaml", text))


def _share() -> dict[str, Any]:
    return {"judged": 50, "right": 0.5, "sensible": 0.25}


def _all(value: object) -> dict[str, Any]:
    return dict.fromkeys(("overall", *CATEGORIES), value)


_MADE: dict[str, Any] = {
    "corpus/evaluation/metrics.json": {
        "split": "test", "instances": _all(9),
        "runs": [{"system": "t5", "mode": "filter", "labelled": 9, "seed": 0, "accuracy": _all(0.5)}],
        "summary": [{"system": "t5", "labelled": 9, "draw": "9", "seeds": [0], "mean": _all(0.5),
                     "sd": _all(None), "criteria": {c: {"mean": 0.5, "sd": None} for c in CRITERIA}}],
        "comparisons": [],
    },
    "corpus/runs/t5/9/seed-0/run.json": {
        "system": "t5", "mode": "filter", "labelled": 9, "seed": 0, "draw": "9", "steps": 20,
        "shown_as": {"generator": "T5"}, "best_step": 10, "candidates": 4, "seen": 4, "accepted": 2,
        "paper": {"alike": ["k"], "unlike": [["steps", 10000]]},
        "settings": {"delta": 0.7, "k": 8, "warm_steps": 5, "candidates": "candidates/t5-sync/seed-0"},
    },
    "corpus/runs/t5/9/seed-0/timing.json": {"seconds": 1.5},
    "corpus/runs/t5/9/seed-0/history.jsonl": {
        "step": 10, "loss": 1.0, "validation_accuracy": 0.5, "validation_loss": None, "seen": 4,
        "accepted": 2, "distinct": 4, "acceptance": {"NP": [2, 4]}, "acceptance_by_length": {"1": [2, 4]},
    },
    "corpus/ingest.json": {
        "reader": "world", "splits": {"train": {"sentences": 9}}, "labels": {"train": {"NP": 3}},
        "unlabelled_seeds": {"without_coordination": 3}, "refused": {},
    },
    "corpus/preparse.json": {
        "parser": "p", "unlabelled": {"seen": 3, "kept": 3, "refused": {}},
        "training": {"f1": 0.9, "tags": "none", "trees": 7},
    },
    "corpus/models/t5/seed-0/pretrain.json": {
        "lm": "t5", "base": None, "parameters": 9, "steps": 9, "tokens": 9, "vocabulary": 9,
        "texts": {"seen": 2, "kept": 1, "refused": {"x": 1}},
        "overlap": {"found": {"y": 1}, "policy": "drop"},
        "probe": {"n": 9, "filled": 1.0, "recovered": 0.5}, "perplexity": 3.5,
    },
    "corpus/models/t5/seed-0/timing.json": {"seconds": 3.0, "tokens_per_second": 9, "device": "cpu"},
    "corpus/models/t5/seed-0/history.jsonl": {"step": 3, "tokens": 9, "probe": {"n": 9, "sense": 0.5}},
    "corpus/audit/audit.json": {
        "oracle": True,
        "generation": [{"candidates": "t5-sync", **_share(), "other": 0.1, "ungrammatical": 0.1,
                        "repeats": 0.1, "distinct": 0.9, "by_label": {"NP": _share()},
                        "by_fill_length": {"1": _share()}}],
        "filter": [{"system": "t5", "labelled": 9, "accepted": _share(), "rejected": _share(),
                    "by_label": {"NP": {"judged": 9, "acceptance": 0.5, "accepted_right": 0.5,
                                        "rejected_right": None}}}],
    },
    "times.json": {
        "t@1": {"stage": "train", "command": "conjoin train data/corpus", "seconds": 1.0, "cpu_seconds": 1}
    },
}  # fmt: skip
"""The documents that a report is made from, as small as they may be."""

_ODD: list[Any] = [None, [], {}, "", "x", -1, 1.5, True, float("nan"), float("inf"),
                   10**30, 10**400, "\ud800", "\x1b[31m[/x]", "[/x]$\\x$", "../../x", "a\0b",
                   [[[]]], {"a": {"b": []}}]  # fmt: skip


def corpus(folder: Path, documents: dict[str, bytes]) -> None:
    """Write the documents of a corpus."""
    for name, content in documents.items():
        writing(name, content)(folder)


def documents() -> dict[str, bytes]:
    """Name → bytes of all documents, as they should be."""
    return {name: (json.dumps(value) + "\n").encode() for name, value in _MADE.items()}


def _replaced(value: Any, draw: random.Random) -> Any:
    """A copy with something in it missing or of another type."""
    found = copy.deepcopy(value)
    place = found
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw.choice(keys)
        if isinstance(place[key], dict | list) and place[key] and draw.random() < 0.7:
            place = place[key]
            continue
        if draw.random() < 0.3:
            del place[key]
        else:
            place[key] = draw.choice(_ODD)
        return found


def _report(number: int, seed: int) -> Case:
    """A report of a corpus, one document of which is damaged, or holds something else somewhere."""
    draw = random.Random(f"{seed}/{number}")
    name = list(_MADE)[number % len(_MADE)]
    if draw.random() < 0.3:
        what, content = "damaged", damaged(documents()[name], number, seed)
    else:
        what = "another value"
        content = (json.dumps(_replaced(_MADE[name], draw)) + "\n").encode()
    line = ["report", "corpus", "--examples", "0"]
    return Case(
        f"report {number}: {name}: {what}: {content[:200]!r}", line,
        lambda folder: corpus(folder, documents() | {name: content}), "any",
    )  # fmt: skip


def _with_trees(change: Callable[[dict[str, Any]], Any], given: bytes) -> Callable[[Path], None]:
    """A corpus of one parsed sentence, its manifest changed, and a file of given spans."""
    words = ("the", "old", "man", "saw", "a", "small", "dog", "near", "the", "lamp")
    tree = f"(S1 (S {' '.join(f'(NN {word})' for word in words)}))"

    def make(folder: Path) -> None:
        place = folder / "corpus"
        sentence = Sentence("s", "d", "train", words, None, tree, (), "CC0-1.0")
        write_rows(place / "sentences.parquet", SENTENCES, [sentence_row(sentence)])
        shard = place / "trees/trees-0.parquet"
        row = {
            "sentence_id": "s",
            "words": list(words),
            "parser": "p",
            "tree": tree,
            "license": "CC0-1.0",
        }
        write_rows(shard, TREES, [row])
        manifest = {
            "shards": [{"file": shard.name, "rows": 1, "sha256": sha256_of(shard)}],
            "inputs": {"sentences": sha256_of(place / "sentences.parquet")},
            "settings": {"min_words": 10, "limit": None},
        }
        manifest = change(manifest) or manifest
        (place / "trees/manifest.json").write_text(json.dumps(manifest))
        (folder / "given.jsonl").write_bytes(given)

    return make


_SPAN: dict[str, Any] = {"sentence_id": "s", "start": 0, "end": 2, "label": "NP"}
_GENERATE = ["generate", "corpus", "--lm", "bert", "--dry-run"]


def _manifests(number: int, seed: int) -> Case:
    draw = random.Random(f"manifest {seed}/{number}")
    trees = ["--trees", "treebank"] if number % 2 else []
    make = _with_trees(lambda manifest: _replaced(manifest, draw), b"")
    # No model is there, so what passes is refused all the same.
    return Case(f"manifest of trees {number}", [*_GENERATE, *trees], make)


def _spans(number: int, seed: int) -> Case:
    draw = random.Random(f"span {seed}/{number}")
    good = json.dumps(_SPAN).encode() + b"\n"
    odd = json.dumps(_replaced(_SPAN, draw)).encode() + b"\n"
    content = odd if number % 3 else damaged(good, number, seed)
    line = [*_GENERATE, "--spans", "given", "--given", "given.jsonl"]
    return Case(
        f"given span {number}: {content[:80]!r}", line, _with_trees(lambda _: None, content)
    )


def _table() -> Iterator[Case]:
    line = ["report", "corpus", "--examples", "0"]
    yield Case("a whole corpus", line, lambda folder: corpus(folder, documents()), "ok")
    large = json.dumps(_MADE["corpus/ingest.json"] | {"more": "x" * (2**26 - 2**10)}).encode()
    for size, expect in (("just below", "ok"), ("more than", "refused")):
        content = large + b" " * 2**11 * (expect == "refused")
        make = partial(corpus, documents=documents() | {"corpus/ingest.json": content})
        yield Case(f"{size} 64 MiB of JSON", line, make, expect)  # type: ignore[arg-type]
    yield Case("params from a pipe", [*line, "--params", "p"], piping("p"))
    for name in ("evaluation/metrics.json", "ingest.json", "sheet.csv"):
        rest = {n: c for n, c in documents().items() if not n.endswith(name)}

        def make(folder: Path, name: str = name, rest: dict[str, bytes] = rest) -> None:
            corpus(folder, rest)
            (folder / "corpus" / name).parent.mkdir(parents=True, exist_ok=True)
            piping(f"corpus/{name}")(folder)

        # What is no file counts as absent where it may be absent.
        wanted = "refused" if name == "evaluation/metrics.json" else "any"
        more = ["--judgements", "corpus/sheet.csv"] if name == "sheet.csv" else []
        yield Case(f"a pipe for {name}", [*line, *more], make, wanted)  # type: ignore[arg-type]


def _worlds() -> Iterator[Case]:
    """The world's lexicon, which is YAML as well."""
    line = ["ingest", "world", "w", "--sentences", "30", "--out", "out"]
    good = (Path(__file__).parents[2] / "data/raw/world/lexicon.yaml").read_text()
    yield Case("a lexicon", line, writing("w/lexicon.yaml", good), "ok")
    texts = {"nothing": "", "a list": "- 1", "a bomb": BOMB, "UTF-16": good.encode("utf-16"),
             "a number": "a: !!int x", "brackets": "[" * 3_000, "a NUL": good + "a: \0"}  # fmt: skip
    for what, text in texts.items():
        yield Case(f"a lexicon of {what}", line, writing("w/lexicon.yaml", text))
    for value in _VALUES:
        text = good.replace("license: Apache-2.0", f"license: {value}")
        yield Case(f"a lexicon with {value[:30]}", line, writing("w/lexicon.yaml", text), "any")

    def pipe(folder: Path) -> None:
        (folder / "w").mkdir()
        piping("w/lexicon.yaml")(folder)

    yield Case("a lexicon that is a pipe", line, pipe)


def cases(count: int, seed: int) -> Iterator[Case]:
    """The table, the params of every command, and ``count`` documents with something else in them."""
    yield from _table()
    yield from _params(1 if count > 100 else 7)
    yield from _worlds()
    for number in range(count):
        kind = (_report, _manifests, _spans)[number % 3]
        yield kind(number // 3, seed)
