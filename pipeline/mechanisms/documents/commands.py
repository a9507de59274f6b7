"""The commands behind a release, as its card shows them."""

import shlex
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from pipeline.settings.base import flag_of
from pipeline.settings.generate import Generate

__all__ = ["commands"]

_ALWAYS = {"lm", "sync", "decoding", "spans", "seed"}  # worth reading even if they are usual


def commands(manifest: Mapping[str, Any]) -> list[str]:
    """Commands that make such rows again: ``generate`` for each run, ``merge`` if need be, ``release``.

    A manifest records what rows depend on, not where things lay, so the corpus is the source's name.
    """
    place = f"data/{manifest['sources'][0]['corpus'] if manifest['sources'] else 'CORPUS'}"
    lines = [
        line
        for generation in manifest["generations"].values()
        if (line := _generate(generation.get("settings", {}), place))
    ]
    if merged := [str(each["place"]) for each in manifest.get("merged", [])]:
        lines.append(shlex.join(["conjoin", "merge", *merged, "--out", "MERGED"]))
    return [*dict.fromkeys(lines), manifest["command"]]


def _generate(settings: Mapping[str, Any], place: str) -> str | None:
    known = {
        key: v for key, v in settings.items() if key in Generate.model_fields and v is not None
    }
    try:
        made = Generate(**{**known, "corpus": place})
    except ValidationError:
        return None  # a run of another version of conjoin, with settings of its own
    usual = Generate.model_fields
    words = ["conjoin", "generate", place]
    for name in usual:
        if name not in known or (name not in _ALWAYS and known[name] == usual[name].default):
            continue
        flag = flag_of(name)
        switch = isinstance(value := getattr(made, name), bool)
        words += [f"--{flag}" if value else f"--no-{flag}"] if switch else [f"--{flag}", str(value)]
    return shlex.join(words)
