"""Plain text, one sentence per line or running, cut into treebank tokens. All of it is training text."""

import gzip
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path

from pipeline.core.console import Meter
from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence
from pipeline.text.natural import split_words
from pipeline.text.segmentation import Segmenter, guarded, learn_punkt, load_stanza, text_files

_OPENERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
    ".txt": bytes,
}


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
    files = text_files(source)
    texts = [(name, _read(path)) for name, path in files]
    cut: Segmenter | None = None
    if segment != "line":
        cut = load_stanza() if segment == "stanza" else learn_punkt([text for _, text in texts])
    with Meter("ingest text", sum(len(text) for _, text in texts)) as meter:
        for name, text in texts:
            for number, sentence in _sentences(text, name, cut, tally, meter):
                words = tuple(guarded(split_words, sentence, name))
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
            for sentence in guarded(cut, " ".join(paragraph), name):
                count += 1
                yield count, sentence
            paragraph = []
        meter.advance(len(line) + 1)
