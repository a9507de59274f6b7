"""A word and its label on each line: conjuncts as spans in the BIOES scheme, for sequence labellers."""

from pipeline.core.types import Coordination
from pipeline.sharing.export.protocol import Item, Unwritable, is_value, require_plain
from pipeline.sharing.export.text_file import TextFile

COORDINATOR = "S-CC"
_HEAD = "-DOCSTART-\tO\n\n"  # as in CoNLL 2003: what readers of this form pass over


def bioes(item: Item) -> str:
    """Lines of a word and, after a tab, its label in each structure; an empty line after a sentence.

    A conjunct of the structure ℓ is ``B-ℓ I-ℓ … E-ℓ``, of one word ``S-ℓ``; the coordinator is ``S-CC``, all
    else ``O``. Structures may stand in each other, so each has a column of its own, by the position of its
    coordinator; a sentence without any has one column of ``O``.

    Raises:
        Unwritable: a word has a blank in it or no characters; the label cannot be a value.
    """
    if not all(is_value(each.label) for each in item.structures):
        raise Unwritable("a label that BIOES cannot have")
    require_plain(item.words, " \t\n\r", "a word with a blank in it, or without characters")
    columns = [_labels(each, len(item.words)) for each in item.structures]
    columns = columns or [["O"] * len(item.words)]
    return "".join("\t".join(line) + "\n" for line in zip(item.words, *columns, strict=True)) + "\n"


def _labels(structure: Coordination, words: int) -> list[str]:
    labels = ["O"] * words
    labels[structure.coordinator] = COORDINATOR
    for span in structure.conjuncts:
        marks = "S" if len(span) == 1 else "B" + "I" * (len(span) - 2) + "E"
        for place, mark in enumerate(marks, span.start):
            labels[place] = f"{mark}-{structure.label}"
    return labels


BIOES = TextFile(bioes, (_HEAD,), head=_HEAD)
