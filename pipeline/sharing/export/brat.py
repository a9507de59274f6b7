"""brat's stand-off form (``text/brat.py``), in a folder."""

from collections.abc import Iterable
from itertools import count
from pathlib import Path

from pipeline.core.claims import Listed
from pipeline.core.tally import Tally
from pipeline.core.types import REFERENCE_LABELS
from pipeline.sharing.export.protocol import (
    Format,
    Item,
    Unwritable,
    donors_of,
    is_value,
    written,
)
from pipeline.text.brat import (
    CONFIGURATION,
    SUFFIXES,
    BratSentence,
    configuration,
    document_name,
    write_documents,
)

_MARK = "# Written by conjoin export."
_STEM = "candidates"


class Brat:
    """A folder of documents of a hundred sentences, each on a line, with stand-off annotations."""

    trees, dependencies, caution = False, False, ""
    folder = True

    def require_writer(self) -> None:
        """See ``Format``: Python is enough."""

    def earlier(self, out: Path, formats: Iterable[Format]) -> Listed:
        """See ``Format``: a configuration that was written here, and the documents from 0 on."""
        del formats  # no other is a folder
        mark = out / CONFIGURATION
        if not mark.is_file() or not mark.read_text("utf-8", "replace").startswith(_MARK):
            return None
        listed = [CONFIGURATION]
        for number in count():
            pair = [document_name(_STEM, number, suffix) for suffix in SUFFIXES]
            if not all((out / name).is_file() for name in pair):
                return listed
            listed += pair
        raise AssertionError  # there is no end to numbers

    def write(self, out: Path, items: Iterable[Item], tally: Tally) -> None:
        """See ``Format``."""
        labels = dict.fromkeys(REFERENCE_LABELS)

        def for_brat(item: Item) -> BratSentence:
            if any(set(word) & set("\t\n\r") for word in item.words):
                raise Unwritable("a word with a tab or line end")
            if not all(is_value(each.label) for each in item.structures):
                raise Unwritable("a label that brat cannot have")
            labels.update(dict.fromkeys(each.label for each in item.structures))
            return BratSentence(item.words, item.structures, _origin(item))

        write_documents(out, _STEM, written(items, for_brat, tally))
        (out / CONFIGURATION).write_text(configuration(_MARK, labels), encoding="utf-8")


def _origin(item: Item) -> str:
    origin = f"sentence {item.name}, {item.license}"
    if "candidate_id" in item.columns:
        origin = f"candidate {item.name} of {item.columns['sentence_id']}, {item.license}"
    for donor in donors_of(item):
        start, end = donor["span"]
        origin += f", fill from {donor['sentence_id']} [{start}, {end})"
    return " ".join(origin.split())


BRAT = Brat()
