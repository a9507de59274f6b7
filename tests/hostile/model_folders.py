"""Folders of models and predictors with damage of every kind: taken, or refused in one line."""

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hostile.case import Case, damaged

VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    3,
    10**9,
    1 << 62,
    0.5,
    1e308,
    "",
    "x",
    "\0",
    [],
    {},
    [1],
    {"a": 1},
]


def _damage(folder: Path, number: int, seed: int) -> None:
    """Change a file of a folder, by number and seed."""
    draw = random.Random(f"{seed}/{number}")
    path = draw.choice(sorted(p for p in folder.iterdir() if p.is_file()))
    match draw.randrange(8):
        case 0:
            path.unlink()
        case 1:
            path.unlink()
            os.mkfifo(path)
        case 2:
            path.unlink()
            path.mkdir()
        case 3:
            path.write_text(draw.choice(["", "[]", "{}", "3", "{", '"x"', "null", "[" * 5000]))
        case 4 | 5 | 6 if path.suffix == ".json":
            value = json.loads(path.read_text())
            keys = sorted(value)
            if keys:
                value[draw.choice(keys)] = draw.choice(VALUES)
            path.write_text(json.dumps(value))
        case _:
            path.write_bytes(damaged(path.read_bytes(), number, seed))


def cases(n: int, seed: int, predictor: Path, model: Path) -> list[Case]:
    """``n`` of them, of a good predictor's and a good BERT's folder."""

    def copied(source: Path, number: int, *, known: bool) -> Callable[[Path], None]:
        def make(folder: Path) -> None:
            shutil.copytree(source, folder / "folder")
            if not known and (card := folder / "folder/predictor.json").is_file():
                values = json.loads(card.read_text())
                values.pop("files", None)  # of an older one, whose digests hide nothing
                card.write_text(json.dumps(values))
            _damage(folder / "folder", number, seed)
            (folder / "text").write_text("the man and a dog saw the old harbor\n")

        return make

    found = []
    for number in range(n):
        if number % 2:
            command = ["predict", "folder", "text"]
            make = copied(predictor, number, known=number % 8 == 1)
        else:
            fill = ["--span=a small dog", "--lm=bert", "--model=./folder"]
            command = ["fill", *fill, "--", "the man saw a small dog near the harbor"]
            make = copied(model, number, known=True)
        found.append(Case(f"{command[0]} {number}", command, make, "any"))
    return found
