"""Plain text, one sentence per line or running, cut into treebank tokens. All of it is training text."""

import gzip
import lzma
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from nltk.tokenize.punkt import PunktSentenceTokenizer, PunktTrainer

from pipeline.ground.console import Meter
from pipeline.ground.coordination import Sentence
from pipeline.ground.errors import InputError, ModelError
from pipeline.ground.tally import Tally
from pipeline.mechanisms.naturaltext import split_words

__all__ = ["read_text"]

_OPENERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
    ".txt": bytes,
}

_PUNKT_SAMPLE = 5_000_000
"""Characters punkt learns abbreviations from: beyond a few million it finds hardly any more."""

_ABBREVIATIONS = frozenset(
    {"al", "cf", "dr", "e.g", "etc", "fig", "figs", "i.e", "jr", "mr", "mrs", "ms", "prof", "rev"}
    | {"sr", "st", "vs"}
)
"""Abbreviations that punkt need not learn: a short text has too few of them."""

Segmenter = Callable[[str], list[str]]


def read_text(
    source: Path, tally: Tally, *, segment: str = "line", license_: str
) -> Iterator[Sentence]:
    """Yield the sentences of a text, without tags, trees or coordination, all in ``train``.

    ``doc_id`` is the file's name (below ``source``, where that is a folder), ``sentence_id`` is
    ``text/<doc_id>/<number>``; with ``segment="line"`` the number is that of the line.

    Args:
        source: a file, or a folder with .txt, .txt.gz or .txt.xz files at any depth.
        tally: counts sentences, and lines that are blank.
        segment: ``line``: one sentence per line. Else ``punkt`` (trained here on the text itself)
            or ``stanza`` finds the sentences in each paragraph: what stands between blank lines,
            or each line of a file without blank lines.
        license_: recorded with every sentence.

    Raises:
        InputError: missing or empty file, not UTF-8, or a line that nltk gives up on.
        ModelError: stanza's English model is not on this machine.
    """
    files = _files(source)
    texts = [(name, _read(path)) for name, path in files]
    cut = _segmenter(segment, [text for _, text in texts])
    with Meter("ingest text", sum(len(text) for _, text in texts)) as meter:
        for name, text in texts:
            for number, sentence in _sentences(text, name, cut, tally, meter):
                words = tuple(_guarded(split_words, sentence, name))
                tally.keep()
                yield Sentence(
                    sentence_id=f"text/{name}/{number}",
                    doc_id=name,
                    split="train",
                    words=words,
                    tags=None,
                    tree=None,
                    coordinations=(),
                    license=license_,
                )


def _files(source: Path) -> list[tuple[str, Path]]:
    if source.is_file():
        return [(source.name, source)]
    if not source.is_dir():
        raise InputError("no such file or folder", path=source, remedy="see `conjoin corpora`")
    patterns = ("*.txt", "*.txt.gz", "*.txt.xz")
    paths = sorted(path for pattern in patterns for path in source.rglob(pattern))
    if not paths:
        raise InputError(
            "no .txt, .txt.gz or .txt.xz file in the folder", path=source, remedy="put one there"
        )
    return [(path.relative_to(source).as_posix(), path) for path in paths]


def _read(path: Path) -> str:
    unpack = _OPENERS.get(path.suffix, bytes)
    try:
        text = unpack(path.read_bytes()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8 text", path=path, remedy="convert the file") from error
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise InputError(f"cannot be read: {error}", path=path, remedy="check the file") from error
    if not text.strip():
        raise InputError("the file is empty", path=path, remedy="remove it or fill it")
    return text


def _sentences(
    text: str, name: str, cut: Segmenter | None, tally: Tally, meter: Meter
) -> Iterator[tuple[int, str]]:
    """Number and text of each sentence; without ``cut`` a line is one."""
    # Only "\n" ends a line: other separators (form feed, U+2028) occur inside sentences.
    lines = text.rstrip().split("\n")
    hard_wrapped = any(not line.strip() for line in lines)
    paragraph: list[str] = []
    count = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            tally.refuse("blank line")
        elif cut is None:
            yield number, line
        else:
            paragraph.append(line.strip())
        ends = not hard_wrapped or not line.strip() or number == len(lines)
        if cut is not None and paragraph and ends:
            for sentence in _guarded(cut, " ".join(paragraph), name):
                count += 1
                yield count, sentence
            paragraph = []
        meter.advance(len(line) + 1)


def _guarded(cut: Segmenter, text: str, name: str) -> list[str]:
    try:
        return cut(text)
    except TimeoutError as error:  # nltk stops regular expressions after 5 seconds
        raise InputError(
            f"{len(text):,} characters without a break, beginning {text[:30]!r}, are too much",
            path=name,
            remedy="break the text into paragraphs with blank lines",
        ) from error


def _segmenter(segment: str, texts: list[str]) -> Segmenter | None:
    if segment == "line":
        return None
    if segment == "stanza":
        return _stanza()
    trainer = PunktTrainer()
    trainer.INCLUDE_ABBREV_COLLOCS = True
    left = _PUNKT_SAMPLE
    for text in texts:
        trainer.train(text[:left], finalize=False)
        left -= min(left, len(text))
    trainer.finalize_training()
    parameters = trainer.get_params()
    parameters.abbrev_types |= _ABBREVIATIONS
    tokenizer = PunktSentenceTokenizer(parameters)
    return lambda paragraph: [str(sentence) for sentence in tokenizer.tokenize(paragraph)]


def _stanza() -> Segmenter:
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
