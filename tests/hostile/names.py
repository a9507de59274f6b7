"""Names that are none: of corpora, systems and models in experiments, of folders and of files."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml
from hostile.case import Case
from hostile.documents import BOMB, corpus, documents

_DVC = """\
vars: [cells.yaml]
stages:
  ingest:
    foreach: ${cells.ingest}
    do:
      cmd: conjoin ingest ${item.corpus} x ${item.draws} --out y
      outs: ["data/${item.corpus}"]
  train:
    foreach: ${cells.train}
    do:
      cmd: conjoin train ${item.corpus} --system ${item.system}
      outs: ["data/${item.corpus}/${item.system}"]
"""
_BAD = [
    "x; touch pwned", "x && touch pwned", "$(touch pwned)", "`touch pwned`", "x|y", "x>y", "../x", "/x",
    "x/y", "a b", "a\nb", "a\tb", "it's", '"', "", "-x", ".x", "x*", "~", "${a}", "#x", "\x1b[31mx", "#",
    "x" * 300, "\\",
]  # fmt: skip
"""What is no plain name."""

_STRANGE = [
    "it's",
    "a b",
    "st*r",
    "new\nline",
    "caf\udce9",
    "\x1b[31m",
    "[/x]",
    "[red]",
    "-x",
    "{0}",
    "%s",
    "é",
]
"""What a folder may well be called."""


_USUAL = {"corpora": ["world"], "labelled": [50], "seeds": [0], "systems": ["a"]}
_PARAMS: dict[str, object] = {
    "systems": {"a": {"mode": "baseline"}}, "generations": {}, "harvests": {}, "selections": {},
    "releases": {},
    "ingest": {"world": {}}, "pretrain": {"world": {}}, "train": {"world": {}},
}  # fmt: skip


def _project(experiment: object, params: object = _PARAMS) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / ".dvc").mkdir()
        config = "[core]\n    no_scm = true\n    analytics = false\n"
        (folder / ".dvc/config").write_text(config)
        (folder / "dvc.yaml").write_text(_DVC)
        (folder / "params.yaml").write_text(yaml.safe_dump(params, allow_unicode=True))
        (folder / "experiments").mkdir()
        (folder / "experiments/default.yaml").write_text(
            yaml.safe_dump(experiment, allow_unicode=True)
        )

    return make


def _with_name(bad: object) -> Iterator[tuple[str, object, object]]:
    """Where a name stands in an experiment, or in params.yaml."""
    for key in ("corpora", "labelled", "seeds", "systems", "candidates", "releases"):
        yield key, {**_USUAL, key: [bad]}, _PARAMS
    yield "a system's entry", {**_USUAL, "systems": [{bad: {"labelled": [50]}}]}, _PARAMS
    yield "candidates of a system", _USUAL, {**_PARAMS, "systems": {"a": {"candidates": bad}}}
    yield "systems", _USUAL, {**_PARAMS, "systems": {"a": {"mode": "baseline"}, bad: {}}}
    yield "generations", _USUAL, {**_PARAMS, "generations": {bad: {"lm": "t5"}}}
    yield "base", _USUAL, {**_PARAMS, "pretrain": {"world": {"bert": {"base": f"models/{bad}"}}}}
    chosen = {"a": {"of": "a", "agree": f"data/world/runs/{bad}/50/seed-{{seed}}/predictor"}}
    yield "of", {**_USUAL, "candidates": ["a"]}, {**_PARAMS, "selections": chosen}


_TYPES: list[dict[str, object]] = [
    {"seeds": {}}, {"seeds": 3}, {"seeds": [[1]]}, {"seeds": [None]}, {"lm_seeds": "0"}, {"systems": "x"},
    {"systems": [{"a": 3}]}, {"systems": [{}]}, {"systems": [{"a": {}, "b": {}}]}, {"systems": [[]]},
    {"systems": [{"a": {"labelled": 3}}]}, {"corpora": None}, {"corpora": [[]]}, {"corpora": {"a": 1}},
    {"labelled": True}, {"labelled": {"genia": [5]}}, {"labelled": ["x"]}, {"candidates": {}},
    {"releases": [3]},
    {"ingest": 3}, {"x": 1},
]  # fmt: skip
"""Parts of an experiment of other types than they should be."""

_TABLES: list[dict[str, object]] = [
    {"systems": 3}, {"systems": {"a": 3}}, {"systems": {"a": {"mode": []}}}, {"systems": {3: {}}},
    {"systems": {"a": {"candidates": {"b": 1}}}}, {"generations": []}, {"ingest": {3: 4}}, {"pretrain": 3},
    {"selections": {"a": {"of": 3}}, "systems": {"a": {"candidates": "a"}}},
]  # fmt: skip
"""Parts of params.yaml of other types than they should be."""


def _grids() -> Iterator[Case]:
    for number, bad in enumerate(_BAD):
        places = list(_with_name(bad))
        for where, experiment, params in (places[number % len(places)], places[0]):
            command = ("plan", "repro")[number % 2]
            yield Case(f"{command}: {where} {bad!r}", [command], _project(experiment, params))
        yield Case(
            f"plan {bad!r}", ["plan", "--", bad], _project(_USUAL), "refused" if bad else "any"
        )
    for number, part in enumerate(_TYPES):
        yield Case(f"plan: {part}", ["plan"], _project({**_USUAL, **part}))
        if number % 4 == 0:
            pairs = [f"--set={key}={json.dumps(value)}" for key, value in part.items()]
            yield Case(f"plan --set {pairs}", ["plan", *pairs], _project(_USUAL), "any")
    for part in _TABLES:
        yield Case(f"plan: params {part}", ["plan"], _project(_USUAL, {**_PARAMS, **part}))
    for text in ("a=[", "=", "a.b=1", "corpora=[x y]", "seeds=!!int x", "seeds=*a", "corpora.a=1"):
        yield Case(f"plan --set {text}", ["plan", f"--set={text}"], _project(_USUAL))


def _text(name: str, text: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        _project(_USUAL)(folder)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    return make


_DVC_TEXTS = [
    "[", "- 1", "stages: 3", "3", BOMB, "[" * 3000, "stages: {a: {cmd: [x, y]}}", "a: 2026-99-99",
]  # fmt: skip
_KEPT_TEXTS = [
    "{",
    "[]",
    '{"before": 3}',
    '{"before": "a: 1"}',
    '{"a": NaN}',
    '{"before": "\\ud800"}',
]


def _states() -> Iterator[Case]:
    """Files that DVC, or `repro` itself, left."""
    for name in ("dvc.yaml", "dvc.lock", "experiments/default.yaml"):
        for text in _DVC_TEXTS:
            yield Case(f"{name}: {text[:30]!r}", ["plan", "--no-probe"], _text(name, text), "any")
    kept = ".dvc/tmp/params-over.json"
    for text in _KEPT_TEXTS:
        yield Case(f"params-over.json: {text[:30]!r}", ["plan"], _text(kept, text))


def _folders() -> Iterator[Case]:
    for number, name in enumerate(_STRANGE):
        made = {k.replace("corpus/", f"{name}/"): v for k, v in documents().items()}
        if number % 3 == 0 or "\udce9" in name:
            line = ["report", "--examples", "0", "--", name]
            yield Case(
                f"folder {name!r}",
                line,
                lambda folder, made=made: corpus(folder, made),
                "refused" if "\udce9" in name else "ok",
            )
        command = ("report", "stats", "validate", "audit", "evaluate")[number % 5]
        yield Case(f"no folder {name!r}: {command}", [command, "--", name], lambda _: None)


_SOURCES = {
    "gap": ("conllu", ["gap", "x", "--out", "o"]),
    "agree": ("conllu", ["agree", "f.conllu", "f.conllu", "--like", "x", "--out", "o"]),
    "text": ("txt", ["ingest", "text", "x", "--out", "o"]),
    "ptb": ("mrg", ["ingest", "ptb", "x", "--out", "o"]),
    "treebank": ("mrg", ["ingest", "treebank", "x", "--out", "o"]),
    "pretrain": ("txt", ["pretrain", "corpus", "--texts", "x"]),
}
"""Commands that read every file of a folder: the ending, and the command for the folder ``x``."""

_SOURCE_TEXT = {
    "conllu": "1\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n\n",
    "txt": "We go.\n",
    "mrg": "(S (NP (PRP We)) (VP (VBP go)))\n",
}


def _files() -> Iterator[Case]:
    """A file in a source folder whose name is no text."""
    for name, (ending, command) in _SOURCES.items():

        def make(folder: Path, ending: str = ending) -> None:
            corpus(folder, documents())
            for place in (f"x/caf\udce9.{ending}", f"x/caf\udce9/a.{ending}", f"f.{ending}"):
                (folder / place).parent.mkdir(parents=True, exist_ok=True)
                (folder / place).write_text(_SOURCE_TEXT[ending])

        yield Case(f"{name}: a file's name that is not UTF-8", command, make)


def cases(count: int, seed: int) -> Iterator[Case]:
    """The tables, and ``count`` random names of corpora that are refused."""
    yield from _grids()
    yield from _states()
    yield from _folders()
    yield from _files()
    draw = random.Random(seed)
    for number in range(count):
        bad = "".join(draw.choice("ab.-;$'\"/\\ \n\t*~&|é\x1b") for _ in range(draw.randint(1, 9)))
        bad += draw.choice(";$/ \n*")
        yield Case(f"corpus {number} {bad!r}", ["repro"], _project({**_USUAL, "corpora": [bad]}))
