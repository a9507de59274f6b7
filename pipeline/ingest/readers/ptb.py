"""The Penn Treebank's Wall Street Journal part as .mrg files, split by section as the paper does."""

import re
from collections.abc import Iterator
from pathlib import Path

from pipeline.core.console import track
from pipeline.core.errors import InputError
from pipeline.core.files import files_within, require_regular, utf8_name
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence
from pipeline.text.coordinations import ptb_coordinations, uncoordinated
from pipeline.text.trees import read_off, read_trees, without_empty


def split_of_section(section: int) -> str | None:
    """``train`` for sections 02-21, ``dev`` for 22, ``test`` for 23, None for the others."""
    return "train" if 2 <= section <= 21 else {22: "dev", 23: "test"}.get(section)


def read_ptb(source: Path, tally: Tally, *, license_: str) -> Iterator[Sentence]:
    """Yield the sentences of sections 02-23, with coordination found by ``ptb_coordinations``.

    The section stands in the file name (``wsj_0201.mrg``), else in that of its folder (``02``).
    ``doc_id`` is the file name without suffix, ``sentence_id`` is ``ptb/<doc_id>/<number>``.

    Args:
        source: a .mrg file, or a folder with .mrg files at any depth.
        tally: counts kept trees, those of other sections or without words, and coordinators in no structure,
            whose trees are kept.
        license_: recorded with every sentence.

    Raises:
        InputError: no .mrg file, one whose name is not UTF-8, a link out of the folder, malformed
            brackets, or a file without trees.
    """
    for path in track(_files(source), "ingest ptb"):
        split = _split(path)
        for number, (line, tree) in enumerate(read_trees(path), 1):
            cleaned = without_empty(tree, path, line)
            if split is None:
                tally.refuse("tree of a file outside sections 02-23")
            elif cleaned is None:
                tally.refuse("tree of empty elements only")
            else:
                tally.keep()
                words, tags, text = read_off(cleaned)
                for reason, count in uncoordinated(cleaned).items():
                    tally.refuse(reason, count, place=f"{path}:{line}")
                yield Sentence(
                    sentence_id=f"ptb/{path.stem}/{number}",
                    doc_id=path.stem,
                    split=split,
                    words=words,
                    tags=tags,
                    tree=text,
                    coordinations=tuple(ptb_coordinations(cleaned)),
                    license=license_,
                )


def _files(source: Path) -> list[Path]:
    require_regular(source)
    if source.is_file():
        utf8_name(source.stem, source)
        return [source]
    files = sorted(files_within(source, source.rglob("*.mrg")), key=lambda path: (path.name, path))
    if not files:
        what = "no .mrg file in the folder" if source.is_dir() else "no such file or folder"
        raise InputError(what, path=source, remedy="see `conjoin corpora`")
    for path in files:
        utf8_name(path.stem, path)
    return files


def _split(path: Path) -> str | None:
    match = re.match(r"wsj_(\d\d)\d\d", path.stem) or re.fullmatch(r"(\d\d)", path.parent.name)
    return split_of_section(int(match[1])) if match else None
