"""Names that are none: of corpora, systems and models in params.yaml, of folders and of files."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml
from hostile.case import Case
from hostile.documents import BOMB, corpus, documents

_DVC = """\
stages:
  ingest:
    matrix: {corpus: "${corpora}"}
    cmd: conjoin ingest ${item.corpus} x --out y
    outs: ["data/${item.corpus}"]
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


def _project(params: object) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / ".dvc").mkdir()
        config = "[core]\n    no_scm = true\n    analytics = false\n"
        (folder / ".dvc/config").write_text(config)
        (folder / "dvc.yaml").write_text(_DVC)
        (folder / "params.yaml").write_text(yaml.safe_dump(params, allow_unicode=True))

    return make


def _with_name(bad: object) -> Iterator[tuple[str, dict[str, object]]]:
    """Where a name stands in params.yaml."""
    yield "corpora", {"corpora": [bad]}
    yield "seeds", {"corpora": ["world"], "seeds": [bad]}
    yield "lms", {"corpora": ["world"], "lms": [{"name": bad, "base": "nothing/base"}]}
    yield "base", {"corpora": ["world"], "lms": [{"name": "t5", "base": f"models/{bad}/"}]}
    yield "generations", {"corpora": ["world"], "generations": [{"name": "a", "lm": bad}]}
    yield "mode", {"corpora": ["world"], "systems": [{"name": "a", "mode": bad}]}
    yield "options", {"corpora": ["world"], "systems": [{"name": "a", "options": f"--x {bad};"}]}
    yield "preset", {"corpora": ["world"], "presets": {"p": {"corpora": [bad]}}}


_TYPES: list[dict[str, object]] = [
    {"presets": 3}, {"presets": {"p": 3}}, {"presets": {"p": []}}, {"presets": {"p": {"seeds": {}}}},
    {"presets": {3: {}}}, {"seeds": {}}, {"seeds": 3}, {"seeds": [[1]]}, {"seeds": [None]}, {"lms": None},
    {"systems": "x"}, {"systems": [{"name": 1.5, "options": 3}]},
    {"systems": [{"name": "a", "options": {"b": {"c": 1}}}]}, {"corpora": None}, {"corpora": [[]]},
    {"corpora": {"a": 1}}, {"labelled": True}, {"generations": [{"name": None}]}, {"lm_seeds": "0"},
    {"ingest": {3: 4}, "presets": {"p": {"corpora": ["x"]}}},
]  # fmt: skip
"""Parts of params.yaml of other types than they should be."""


def _grids() -> Iterator[Case]:
    for number, bad in enumerate(_BAD):
        places = list(_with_name(bad))
        where, params = places[number % len(places)]
        command = ("plan", "repro")[number % 2]
        line = [command, *(["p"] if where == "preset" and command == "plan" else [])]
        line += ["--preset", "p"] if where == "preset" and command == "repro" else []
        yield Case(f"{command}: {where} {bad!r}", line, _project(params))
        if where != "corpora":
            yield Case(f"{command}: corpora {bad!r}", [command], _project({"corpora": [bad]}))
    for number, part in enumerate(_TYPES):
        line = ["plan", "p"] if "presets" in part else ["plan"]
        yield Case(f"plan: {part}", line, _project({"corpora": ["world"], **part}))
        if number % 4 == 0:
            given = json.dumps(part)
            pairs = [f"--set={key}={json.dumps(value)}" for key, value in part.items()]
            yield Case(
                f"plan --set {given}", ["plan", *pairs], _project({"corpora": ["world"]}), "any"
            )
    for text in ("a=[", "=", "a.b=1", "corpora=[x y]", "seeds=!!int x", "seeds=*a", "corpora.a=1"):
        yield Case(f"plan --set {text}", ["plan", f"--set={text}"], _project({"corpora": ["a"]}))


def _text(name: str, text: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        _project({"corpora": ["world"]})(folder)
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
    for name in ("dvc.yaml", "dvc.lock"):
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
        for command in ("report", "stats", "validate", "audit", "evaluate"):
            yield Case(f"no folder {name!r}: {command}", [command, "--", name], lambda _: None)


def cases(count: int, seed: int) -> Iterator[Case]:
    """The tables, and ``count`` random names of corpora that are refused."""
    yield from _grids()
    yield from _states()
    yield from _folders()
    draw = random.Random(seed)
    for number in range(count):
        bad = "".join(draw.choice("ab.-;$'\"/\\ \n\t*~&|é\x1b") for _ in range(draw.randint(1, 9)))
        bad += draw.choice(";$/ \n*")
        yield Case(f"corpus {number} {bad!r}", ["repro"], _project({"corpora": [bad]}))
