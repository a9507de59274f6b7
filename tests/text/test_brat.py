"""brat's stand-off form: what is written comes back, and what people do to it is taken or named."""

import io
from pathlib import Path

import pytest
import structured

from pipeline.core.errors import InputError
from pipeline.core.tally import Tally
from pipeline.core.types import Coordination, Span
from pipeline.text.brat import OTHER, BratSentence, read_document, write_documents
from pipeline.text.lines import NumberedLines

TEXT = "she sold lamps , chairs and tables\nso do I\n"
ANN = [
    "T1\tCoordination 24 27\tand", "T2\tConjunct 9 14\tlamps", "T3\tConjunct 17 23\tchairs",
    "T4\tConjunct 28 34\ttables", "E1\tCoordination:T1 Conjunct:T2 Conjunct2:T3 Conjunct3:T4",
]  # fmt: skip


def read(text: str, lines: list[str], tally: Tally | None = None) -> list[BratSentence]:
    """A document, as it is read."""
    handle = io.BytesIO("".join(f"{line}\n" for line in lines).encode())
    return read_document(text, NumberedLines("x.ann", handle, handle), tally or Tally())


def test_random_structures_come_back_the_same(tmp_path: Path) -> None:
    """Nested ones, words of other scripts, several documents: sentence by sentence, with labels."""
    sentences = [structured.sentence(number) for number in range(250)]
    written = [
        BratSentence(s.words, s.coordinations, f"sentence {s.sentence_id}") for s in sentences
    ]
    write_documents(tmp_path, "x", written)
    assert len(list(tmp_path.iterdir())) == 6
    found = []
    for path in sorted(tmp_path.glob("*.ann")):
        text = path.with_suffix(".txt").read_text(encoding="utf-8")
        found += read(text, path.read_text(encoding="utf-8").split("\n"))
    assert [(s.words, s.structures) for s in found] == [(s.words, s.structures) for s in written]
    assert sum(len(s.structures) > 1 for s in found) > 50


def test_what_brat_writes_is_read() -> None:
    """In any order, without labels and numbers, with notes; other annotation is counted with its place."""
    tally = Tally()
    more = [
        *reversed(ANN),
        "#1\tAnnotatorNotes E1\thm",
        "T9\tPerson 0 3\tshe",
        "R1\tBuys Arg1:T9 Arg2:T2",
        "",
    ]
    more[0] = "E1\tCoordination:T1 Conjunct:T4 Conjunct:T2 Conjunct:T3"
    first, second = read(TEXT, more, tally)
    spans = (Span(2, 3), Span(4, 5), Span(6, 7))
    assert first.structures == (Coordination(5, "and", "X", spans),)
    assert (second.words, second.structures, second.line) == (("so", "do", "I"), (), 2)
    assert tally.refused == {OTHER: 2}
    assert tally.places[OTHER] == ["x.ann:8", "x.ann:7"]


@pytest.mark.parametrize(
    ("line", "instead", "said"),
    [
        (1, "T2\tConjunct 9 13\tlamp", "2: T2 begins or ends inside a word, or is on two lines"),
        (1, "T2\tConjunct 9 14;15 16\tlamps ,", "2: T2 is in several pieces"),
        (1, "T2\tConjunct 9 14\tlamp", "2: T2 says 'lamp', and the text has 'lamps' there"),
        (1, "T2\tConjunct 9 999\tlamps", "2: T2 says 'lamps', and"),
        (1, "T2 Conjunct 9 14 lamps", "2: T2 Conjunct 9 14 lamps is not of brat's form"),
        (1, "T2\tConjunct 38 40\tdo", "5: T2 is of another sentence than its coordinator"),
        (1, "T2\tConjunct 28 37\ttables\nso", "2: T2 says 'tables'"),
        (4, "E1\tCoordination:T1 Conjunct:T2", "3: T3 is a conjunct of no coordination event"),
        (4, "E1\tCoordination:T1 Conjunct:T2 Conjunct:T3 Conjunct:T4 Shared:T2", "5: a coordination of"),
        (4, "E1\tCoordination:T8 Conjunct:T2 Conjunct:T3 Conjunct:T4", "1: T1 is a coordination of no"),
        (0, "T1\tCoordination 24 34\tand tables", "5: a coordinator of several words"),
        (4, f"{ANN[4]}\nA1\tLabel E1 noun phrase", "6: no label: 'Label E1 noun phrase'"),
        (4, f"{ANN[4]}\nA1\tLabel ", "6: no label: 'Label '"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(line: int, instead: str, said: str) -> None:
    """In one line: stretches that cut words, of other text, of no coordination."""
    lines = "\n".join([*ANN[:line], instead, *ANN[line + 1 :]]).split("\n")
    with pytest.raises(InputError) as caught:
        read(TEXT, lines)
    assert str(caught.value).startswith(f"x.ann:{said}")
    assert "\n" not in str(caught.value)
