"""Facts and their sentences: Python computes the facts, templates hold the English.

``resources/report/sentences`` has a file of macros for each part of the report, and a macro for each thing
that may be said there. Macros print plain text; what shows it, a page or a terminal, escapes it.
"""

from collections.abc import Sequence
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from pipeline.core.markdown import percent, points
from pipeline.report.results import (
    Result,
    certainty,
    label_name,
    short_name,
    system_phrase,
)


class Fact:
    """Something that a report says; as ``str`` it is a sentence or a paragraph, on one line.

    Attributes:
        sentence: what says it, a file of templates and a macro in it: ``missing.ablation``.
        about: the macro's arguments.
    """

    __slots__ = ("about", "sentence")

    def __init__(self, sentence: str, /, **about: object) -> None:
        self.sentence, self.about = sentence, about

    def __str__(self) -> str:
        name, _, macro = self.sentence.partition(".")
        said = getattr(_sentences().get_template(f"{name}.jinja").module, macro)(**self.about)
        return " ".join(str(said).split())

    def __repr__(self) -> str:
        return f"Fact({self.sentence!r}, {self.about!r})"


def templates(folder: str = "", *, html: bool = False) -> Environment:
    """The templates of a folder of ``resources/report``.

    Args:
        folder: below it.
        html: whether every value is escaped. In Markdown corpus text stands in code spans.
    """
    environment = Environment(
        loader=PackageLoader("pipeline", f"resources/report/{folder}".rstrip("/")),
        autoescape=html,  # noqa: S701
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(capfirst=lambda text: text[:1].upper() + text[1:])
    return environment


@cache
def _sentences() -> Environment:
    environment = templates("sentences")
    environment.filters.update(
        certainty=certainty, label=label_name, listed=_listed, number=_number, phrase=system_phrase,
        points=points, seeds=_seeds, share=_share, short=short_name,
    )  # fmt: skip
    return environment


def _listed(words: Sequence[str]) -> str:
    """``50, 100 and 250``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def _number(value: float, digits: int = 0) -> str:
    """With thousands separators."""
    return f"{value:,.{digits}f}"


def _seeds(count: int) -> str:
    return f"{count} seed{'' if count == 1 else 's'}"


def _share(result: Result) -> str:
    """The outer boundaries that a system finds."""
    return f"{percent(result.mean['overall'])} %"
