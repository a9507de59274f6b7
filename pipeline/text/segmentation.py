"""Where a source's text files are, and what cuts running text into sentences."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer, PunktTrainer

from pipeline.core.console import tell
from pipeline.core.errors import InputError, ModelError
from pipeline.core.files import files_within, require_regular, utf8_name

PUNKT_SAMPLE = 5_000_000
"""Characters punkt learns abbreviations from: beyond a few million it finds hardly any more."""

_ABBREVIATIONS = frozenset(
    {"al", "cf", "dr", "e.g", "etc", "fig", "figs", "i.e", "jr", "mr", "mrs", "ms", "prof", "rev"}
    | {"sr", "st", "vs"}
)
"""Abbreviations that punkt need not learn: a short text has too few of them."""

_TEXTS = ".txt", ".txt.gz", ".txt.xz"

Segmenter = Callable[[str], list[str]]
"""Sentences of a paragraph."""


def text_files(source: Path) -> list[tuple[str, Path]]:
    """Name and path of a file, or of each .txt, .txt.gz and .txt.xz file at any depth of a folder.

    Names are relative to the folder; files come in the order of their paths, and how many others there are is
    printed.

    Raises:
        InputError: there is no such file or folder, or no text in the folder, a name is not UTF-8, or a
            link leads out of the folder.
    """
    require_regular(source)
    if source.is_file():
        return [(utf8_name(source.name, source), source)]
    if not source.is_dir():
        raise InputError("no such file or folder", path=source, remedy="see `conjoin corpora`")
    paths = files_within(source, _texts(source))
    if not paths:
        raise InputError(
            "no .txt, .txt.gz or .txt.xz file in the folder", path=source, remedy="put one there"
        )
    others = sum(path.is_file() for path in source.rglob("*")) - len(paths)
    if others > 0:
        tell(f"{source}: {others:,} other files are not read; text is in .txt, .txt.gz and .txt.xz")
    return [(utf8_name(path.relative_to(source).as_posix(), path), path) for path in paths]


def _texts(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.name.lower().endswith(_TEXTS))


def has_text(folder: Path) -> bool:
    """Whether a folder has such a file."""
    return any(_texts(folder))


def guarded(cut: Segmenter, text: str, name: str) -> list[str]:
    """What ``cut`` makes of ``text``.

    Raises:
        InputError: nltk gave up on it.
    """
    try:
        return cut(text)
    except TimeoutError as error:  # nltk stops regular expressions after 5 seconds
        raise InputError(
            f"{len(text):,} characters without a break, beginning {text[:30]!r}, are too much",
            path=name,
            remedy="break the text into paragraphs with blank lines",
        ) from error


def learn_punkt(texts: Iterable[str]) -> Segmenter:
    """Punkt, trained on the first ``PUNKT_SAMPLE`` characters of ``texts``."""
    trainer = PunktTrainer()
    trainer.INCLUDE_ABBREV_COLLOCS = True
    left = PUNKT_SAMPLE
    for text in texts:
        trainer.train(text[:left], finalize=False)
        left -= min(left, len(text))
        if not left:
            break
    trainer.finalize_training()
    parameters = trainer.get_params()
    parameters.abbrev_types |= _ABBREVIATIONS
    tokenizer = PunktSentenceTokenizer(parameters)
    return lambda paragraph: [str(sentence) for sentence in tokenizer.tokenize(paragraph)]


def first_sentence(line: str) -> str:
    """The first sentence of a line, by a punkt that knows common abbreviations and has learnt nothing."""
    try:
        return str(next(iter(_untrained().tokenize(line)), ""))
    except TimeoutError:  # as in ``guarded``
        return line


@cache
def _untrained() -> PunktSentenceTokenizer:
    parameters = PunktParameters()
    parameters.abbrev_types |= _ABBREVIATIONS
    return PunktSentenceTokenizer(parameters)


def load_stanza() -> Segmenter:
    """Stanza's English sentence splitter.

    Raises:
        ModelError: its model is not on this machine.
    """
    import stanza  # noqa: PLC0415 (torch comes with it, and only this way of cutting needs it)

    try:
        with warnings.catch_warnings(action="ignore"):
            pipeline = stanza.Pipeline(
                "en", processors="tokenize", download_method=None, use_gpu=False, verbose=False
            )
    except Exception as error:  # stanza raises its own and torch's, by what is missing
        raise ModelError(
            f"stanza's English tokenizer cannot be loaded: {' '.join(str(error).split())[:120]}",
            remedy="run stanza.download('en', processors='tokenize') or use --segment punkt",
        ) from error
    return lambda paragraph: [str(sentence.text) for sentence in pipeline(paragraph).sentences]
