"""Plain text, one sentence per line or running, cut into treebank tokens. All of it is training text."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pipeline.core.console import Meter
from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence
from pipeline.core.words import fault_of_word
from pipeline.text.lines import COLUMNS, begins_phrase, is_of_columns
from pipeline.text.natural import split_words
from pipeline.text.segmentation import Segmenter, guarded, learn_punkt, load_stanza, text_files
from pipeline.text.unpacking import UnpackingAllowance, opened, packing, read_whole

_PACKED = {".gz": "gzip", ".xz": "xz"}
_LONGEST = 1 << 20  # characters of a line that is one sentence


def read_text(
    source: Path,
    tally: Tally,
    *,
    segment: str = "line",
    license_: str,
    allowance: UnpackingAllowance | None = None,
) -> Iterator[Sentence]:
    """Yield the sentences of a text, without tags, trees or coordination, all in ``train``.

    ``doc_id`` is the file's name (below ``source``, where that is a folder), ``sentence_id`` is
    ``text/<doc_id>/<number>``; with ``segment="line"`` the number is that of the line.

    Args:
        source: a file, or a folder with .txt, .txt.gz or .txt.xz files at any depth.
        tally: counts sentences, lines that are blank, and sentences with what no word may be.
        segment: ``line``: one sentence per line. Else ``punkt`` (trained here on the text itself)
            or ``stanza`` finds the sentences in each paragraph: what stands between blank lines,
            or each line of a file without blank lines.
        license_: recorded with every sentence.
        allowance: what packed files may unpack to; None: the usual.

    Raises:
        InputError: missing, empty or damaged file, not UTF-8, more than is allowed, or a line that is too
            long or that nltk gives up on.
        ModelError: stanza's English model is not on this machine.
    """
    found = _raw(text_files(source), tally, segment, allowance or UnpackingAllowance())
    yield from _made(found, tally, license_)


def read_unlabelled(
    sources: Sequence[Path],
    tally: Tally,
    *,
    segment: str,
    license_: str,
    most: int | None,
    allowance: UnpackingAllowance,
) -> Iterator[Sentence]:
    """Yield the sentences of several texts as ``read_text`` does, or ``most`` of them, evenly spread.

    Raises:
        InputError: as of ``read_text``, or two sources have a file of the same name.
    """
    files: dict[str, Path] = {}
    for source in sources:
        for name, path in text_files(source):
            if name in files:
                raise InputError(
                    f"two raw texts are called {name!r}: also {files[name]}", path=path,
                    remedy="give the folder above both, or rename one",
                )  # fmt: skip
            files[name] = path
    found = _raw(list(files.items()), tally, segment, allowance)
    if most is not None:
        # Chosen before they are cut into words, which takes longest and would fill the memory.
        every = list(found)
        taken = min(most, len(every))
        tally.refuse("sentence beyond --most-unlabelled", len(every) - taken)
        found = (every[index * len(every) // taken] for index in range(taken))
    yield from _made(found, tally, license_)


_Raw = tuple[str, int, str]
"""Name of a file, number in it, and text of a sentence."""


def _made(found: Iterable[_Raw], tally: Tally, license_: str) -> Iterator[Sentence]:
    known: dict[str, str] = {}  # one word is one object, however often it is written
    faults: dict[str, str] = {}
    for name, number, sentence in found:
        split = guarded(split_words, sentence, name)
        for word in split:
            if word not in known:
                known[word] = word
                if fault := fault_of_word(word):
                    faults[word] = fault
        fault = next((faults[word] for word in split if word in faults), None)
        if fault is not None:
            tally.refuse(f"sentence with {fault}", place=f"{name}: line or sentence {number}")
            continue
        words = tuple(known[word] for word in split)
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


def _raw(
    files: Sequence[tuple[str, Path]], tally: Tally, segment: str, allowance: UnpackingAllowance
) -> Iterator[_Raw]:
    """The sentences of files as they are written; blank lines are counted."""
    texts = [(name, _read(path, allowance)) for name, path in files]
    cut: Segmenter | None = None
    if segment != "line":
        cut = load_stanza() if segment == "stanza" else learn_punkt([text for _, text in texts])
    with Meter("ingest text", sum(len(text) for _, text in texts)) as meter:
        for name, text in texts:
            for number, sentence in _sentences(text, name, cut, tally, meter):
                if cut is None and len(sentence) > _LONGEST:
                    raise InputError(
                        f"a line of more than {_LONGEST:,} characters", path=name, line=number,
                        remedy="break it into sentences, or let --segment punkt do that",
                    )  # fmt: skip
                yield name, number, sentence


def _read(path: Path, allowance: UnpackingAllowance) -> str:
    kind = _PACKED.get(path.suffix)
    if kind:
        with opened(path) as raw:
            if packing(raw) != kind:
                raise InputError(
                    f"cannot be read: not packed by {kind}", path=path, remedy="check the file"
                )
    text = read_whole(path, allowance if kind else None)
    if not text.strip():
        raise InputError("the file is empty", path=path, remedy="remove it or fill it")
    lines = [line for line in text.split("\n") if line.strip()]
    of_columns = [is_of_columns(line) for line in lines]
    # KNP's words have lines without tabs; after each sentence it says EOS.
    knp = "EOS" in lines and any(map(begins_phrase, lines))
    if knp or 2 * sum(of_columns) > len(lines) > 1:
        first = text.split("\n").index(lines[of_columns.index(True)]) + 1
        raise InputError(COLUMNS, path=path, line=first, remedy="give the text alone")
    return text


def _sentences(
    text: str, name: str, cut: Segmenter | None, tally: Tally, meter: Meter
) -> Iterator[tuple[int, str]]:
    """Number and text of each sentence; without ``cut`` a line is one."""
    # Only "\n" ends a line: other separators (form feed, U+2028) occur inside sentences.
    lines = text.rstrip().split("\n")
    hard_wrapped = any(not line.strip() for line in lines)
    paragraph: list[str] = []
    count, blank, passed = 0, 0, 0  # characters since the meter was told
    for number, line in enumerate(lines, 1):
        passed += len(line) + 1
        if not line or line.isspace():
            blank += 1
            if not paragraph:
                continue  # a file may have millions
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
        meter.advance(passed)
        passed = 0
    tally.refuse("blank line", blank)
