"""``conjoin predict``: forms of input and output, n best structures, streaming, and what goes wrong."""

import copy
import gzip
import io
import itertools
import json
import lzma
import math
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from nltk.tree import Tree
from rich.console import Console

from pipeline.core import console
from pipeline.core.errors import ConjoinError, InputError, ModelError, SettingsError
from pipeline.core.files import write_json
from pipeline.core.tally import Tally
from pipeline.core.types import Coordination, Span, bracketed
from pipeline.models.words import TOO_LONG
from pipeline.parsing import card as parser_card
from pipeline.parsing.parser import Parsed
from pipeline.tasks.coordination.consistent import all_consistent
from pipeline.tasks.coordination.examples import CoordinationExample
from pipeline.tasks.coordination.model import CoordinationPredictor, Prediction
from pipeline.text.brat import read_document
from pipeline.text.lines import GivenSentence, open_lines
from pipeline.trying.predict import answers as predict_answers
from pipeline.trying.predict import command as predict
from pipeline.trying.predict.answers import (
    Found,
    ParsedSentence,
    SentenceAnswer,
    Skipped,
    answers,
    conllu,
    jsonl,
    tsv,
)
from pipeline.trying.predict.brat import NOT_FOR_BRAT, UNREAD, write_brat
from pipeline.trying.predict.sentences import format_of, read_sentences
from pipeline.trying.predict.settings import PredictSettings

WORDS = "the old man saw small dog near harbor girl sold lamp zygote".split()  # noqa: SIM905
CONLLU = """\
# newdoc
# sent_id = doc-1
# text = The man and girls didn't.
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tman\tman\tNOUN\tNN\t_\t5\tnsubj\t_\tSpaceAfter=No|Gloss=x
3\tand\tand\tCCONJ\tCC\t_\t4\tcc\t_\tA=1|Coord=9-9
4\tgirls\tgirl\tNOUN\tNNS\t_\t2\tconj\t_\t_
4.1\tbig\tbig\tADJ\tJJ\t_\t_\t_\t2:amod\t_
5-6\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_
5\tdid\tdo\tAUX\tVBD\t_\t0\troot\t_\t_
6\tn't\tnot\tPART\tRB\t_\t5\tadvmod\t_\t_

# sent_id = doc-2
1\tAnd\tand\tCCONJ\tCC\t_\t0\troot\t_\t_
2\tNew York\tx\tPROPN\tNP\t_\t1\tconj\t_\t_

"""
TREES = """\
( (S (NP-SBJ (DT the) (NN man))
     (VP (VBD saw) (NP (NP (-NONE- *T*-1)) (NNS dogs)) (CC and)
         (PRN (-LRB- -LRB-) (NN lamp) (-RRB- -RRB-)))))
(S (NP (-NONE- *)))

(S (NP 1\\/2) (CC or) (NN girl))
"""


@pytest.fixture(scope="module")
def folder(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random predictor's folder."""
    folder = tmp_path_factory.mktemp("predict") / "predictor"
    CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.5, seed=1).save(folder)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> CoordinationPredictor:
    """The same, loaded."""
    return CoordinationPredictor.load(folder)


Ask = Callable[..., list[str]]


@pytest.fixture
def ask(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Lines that `conjoin predict` prints of a file with this content."""

    def lines(content: str | bytes, name: str = "f", **given: Any) -> list[str]:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        capsys.readouterr()
        predict.run(PredictSettings(**{"predictor": folder, "text": path} | given))
        return capsys.readouterr().out.splitlines()

    return lines


def sentences(count: int) -> list[tuple[str, ...]]:
    """Sentences of 3 to 30 words with one or two coordinators inside, and repetitions."""
    found = []
    for number in range(count):
        draw = random.Random(number % 13)
        words = draw.choices(WORDS, k=draw.randint(3, 30))
        for _ in range(draw.randint(1, 2)):
            words[draw.randint(1, len(words) - 2)] = draw.choice(["and", "OR"])
        found.append(tuple(words))
    return found


def test_conllu_words_are_those_with_integer_ids(ask: Ask) -> None:
    """Multiword tokens and empty nodes give no words; sentences have their names and lines."""
    first, second = map(json.loads, ask(CONLLU, "f.conllu", output="jsonl"))
    assert first["words"] == ["The", "man", "and", "girls", "did", "n't"]
    assert (first["sentence_id"], first["line"]) == ("doc-1", 1)
    assert [c["coordinator"] for c in first["coordinations"]] == [2]
    assert (second["sentence_id"], second["line"]) == ("doc-2", 13)
    assert second["words"] == ["And", "New York"]
    assert second["skipped"] == [
        {"coordinator": 0, "word": "And", "reason": "coordinator at the edge of the sentence"}
    ]


def test_conllu_comes_out_as_it_went_in_with_predictions(ask: Ask) -> None:
    """Three attributes of MISC and a comment are new, older ones go, and nothing else changes."""
    found = ask(CONLLU, output="conllu", n_best=2)
    (one,) = json.loads(ask(CONLLU, output="jsonl", n_best=2)[0])["coordinations"]
    best = one["alternatives"]
    coord = ",".join(f"{b['start'] + 1}-{b['end']}" for b in best)
    values = ",".join(str(b["probability"]) for b in best)
    conjuncts = ",".join(f"{start + 1}-{end}" for start, end in one["conjuncts"])
    new = f"A=1|Coord={coord}|CoordConjuncts={conjuncts}|CoordProb={values}"
    expected = CONLLU.replace("A=1|Coord=9-9", new).replace(
        "doc-2\n",
        "doc-2\n# coord_skipped = 1 And: coordinator at the edge of the sentence\n",
    )
    assert found == expected.splitlines()
    assert ask("\n".join(found) + "\n\n", output="conllu", n_best=2) == found


def test_all_conjuncts_come_out(model: CoordinationPredictor) -> None:
    """What a predictor learned of conjuncts' ends is in every form, of each boundary its own."""
    words = tuple("the man , girl , and dog saw lamps".split())  # noqa: SIM905
    conjuncts = (Span(1, 2), Span(3, 4), Span(6, 7))
    known = CoordinationExample(words, (5,), (Span(1, 7),), conjuncts=(conjuncts,))
    learned = copy.deepcopy(model)
    learned.complete([known], [], 0)
    rows = tuple(f"{n}\t{word}" + "\t_" * 8 for n, word in enumerate(words, 1))
    (answer,) = answers(learned, [GivenSentence(words, 1, rows=rows)], n=100)
    (one,) = json.loads(jsonl(answer))["coordinations"]
    assert one["conjuncts"] == one["alternatives"][0]["conjuncts"]
    (right,) = [e["conjuncts"] for e in one["alternatives"] if (e["start"], e["end"]) == (1, 7)]
    assert right == [[1, 2], [3, 4], [6, 7]]
    lines = [line.split("\t")[0] for line in tsv(answer).splitlines()]
    assert lines[0] == bracketed(words, answer.entries[0].conjuncts)  # type: ignore[union-attr]
    assert "the [man] , [girl] , and [dog] saw lamps" in lines
    ids = ",".join(f"{start + 1}-{end}" for start, end in one["conjuncts"])
    assert f"|CoordConjuncts={ids}|" in conllu(answer)


def test_trees_give_their_words(ask: Ask) -> None:
    """Over several lines, without traces, unescaped; a tree of traces only is shown as such."""
    found = [json.loads(line) for line in ask(TREES, output="jsonl")]
    assert [s["words"] for s in found] == [
        ["the", "man", "saw", "dogs", "and", "(", "lamp", ")"], [], ["1/2", "or", "girl"],
    ]  # fmt: skip
    assert [s["line"] for s in found] == [1, 4, 6]
    assert [s["skipped"] for s in found] == [
        [], [{"coordinator": None, "word": None, "reason": "no words"}], [],
    ]  # fmt: skip
    assert [len(s["coordinations"]) for s in found] == [1, 0, 1]


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("f.txt", TREES, "text"),
        ("f.conllu.gz", "x", "conllu"),
        ("f.MRG", "x", "ptb"),
        ("f", TREES, "ptb"),
        ("f", "\n(S1(S (NN a)))", "ptb"),
        ("f", "(S\n (NN a))", "ptb"),
        ("f", "(See Fig. 1 and 2.)", "text"),
        ("f.1", CONLLU, "conllu"),
        ("f", "1-2\ta" + "\t_" * 8, "conllu"),
        ("f", "# Of cats and dogs\nthey are", "text"),
        ("f", "", "text"),
    ],
)
def test_format_is_found(tmp_path: Path, name: str, content: str, form: str) -> None:
    """By suffix, else by the first lines, which are still there afterwards."""
    (tmp_path / name).write_text(content)
    with open_lines(tmp_path / name) as lines:
        assert format_of(lines) == form
        assert [line for _, line in lines] == content.splitlines()


def test_n_best_are_the_most_probable_pairs(model: CoordinationPredictor) -> None:
    """Descending, the first is the prediction, and all k·(n - k - 1) pairs sum to one."""
    asked = [(words, k) for words in sentences(13) for k in range(1, len(words) - 1)]
    words, ks = [w for w, _ in asked], [k for _, k in asked]
    scored = {one.index: one for one in model.scored(words, ks)}
    every, few = (
        [model.best(words[i], k, scored[i], n) for i, k in enumerate(ks)] for n in (10**6, 3)
    )
    for (sentence, k), best, three, one in zip(
        asked, every, few, model.predict(words, ks), strict=True
    ):
        values = [prediction.probability for prediction in best]
        assert best[0] == one
        assert best[:3] == three
        assert values == sorted(values, reverse=True)
        assert sum(values) == pytest.approx(1, abs=1e-4)
        spans = {(p.span.start, p.span.end) for p in best}
        assert spans == {(i, j) for i in range(k) for j in range(k + 2, len(sentence) + 1)}


def test_equals_are_ordered_by_place(tiny_bert: Path) -> None:
    """A scorer that finds all pairs alike gives them by start, then end, as argmax would."""
    model = CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.5, seed=1).eval()
    torch.nn.init.zeros_(model.scorer.second.weight)
    words = (*WORDS, *WORDS)
    (scored,) = model.scored([words], [9])
    best = model.best(words, 9, scored, 200)
    assert len(best) == 9 * 14
    assert [p.span for p in best] == sorted(p.span for p in best)
    assert best[0] == model.predict([words], [9])[0]


def test_sentences_are_read_block_by_block(model: CoordinationPredictor) -> None:
    """An answer comes before the next block is read; a stream without an end is no problem."""
    read = 0

    def endless() -> Iterator[GivenSentence]:
        nonlocal read
        while True:
            read += 1
            yield GivenSentence(("dogs", "and", "cats"), read)

    found = answers(model, endless(), block=3)
    seen = []
    for _ in range(7):
        seen.append((next(found).sentence.line, read))
    assert seen == [(1, 3), (2, 3), (3, 3), (4, 6), (5, 6), (6, 6), (7, 9)]


def test_a_block_ends_where_sentences_are_very_long(model: CoordinationPredictor) -> None:
    """A few megabytes are kept, not a thousand sentences of one megabyte each."""
    read = 0

    def endless() -> Iterator[GivenSentence]:
        nonlocal read
        while read < 50:
            read += 1
            yield (
                GivenSentence(("dogs",), read, rows=("#" * (1 << 20),))
                if read % 2
                else GivenSentence(("a",) * (1 << 19), read)
            )

    assert next(answers(model, endless())).sentence.line == 1
    assert read <= 8


def test_lines_are_read_one_by_one(tmp_path: Path) -> None:
    """What is malformed at the end of a file harms no sentence before it."""
    for form, content in (("conllu", CONLLU), ("ptb", TREES), ("text", "a dog\n" * 3)):
        (tmp_path / "f").write_bytes(content.encode() + b"\xff")
        with open_lines(tmp_path / "f") as lines:
            found = read_sentences(lines, form, Tally())
            for _ in range(2):
                assert isinstance(next(found), GivenSentence)
            with pytest.raises(ConjoinError, match=r"f:\d+: not UTF-8"):
                list(found)


def test_order_is_that_of_the_input(model: CoordinationPredictor) -> None:
    """Whatever the batches and blocks, each sentence has its own predictions, in its place."""
    given = [GivenSentence(words, line) for line, words in enumerate(sentences(40))]
    crossing: set[tuple[str, ...]] = set()
    for block, batch_tokens in ((1000, 2048), (7, 64), (1, 1)):
        found = list(answers(model, iter(given), block=block, batch_tokens=batch_tokens))
        assert [answer.sentence for answer in found] == given
        for answer in found:
            words = answer.sentence.words
            ks = [k for k, word in enumerate(words) if word.lower() in {"and", "or"}]
            assert [entry.coordinator for entry in answer.entries] == ks
            alone = [one for one in model.predict([words] * len(ks), ks) if one]
            entries = [entry for entry in answer.entries if isinstance(entry, Found)]
            assert len(alone) == len(entries) == len(ks)
            if not all_consistent([one.conjuncts for one in alone]):
                crossing.add(words)
                continue
            for entry, one in zip(entries, alone, strict=True):
                assert entry.best[0].span == one.span
                assert entry.best[0].probability == pytest.approx(one.probability, abs=1e-5)
    assert len(crossing) < 20


def test_structures_of_a_sentence_do_not_cross(model: CoordinationPredictor) -> None:
    """Of all consistent ways, found by trying them all, the answers are the most probable one."""
    tried = 0
    given = [GivenSentence(words, 1) for words in sentences(13) if len(words) < 14]
    for answer in answers(model, given, n=3):
        words = answer.sentence.words
        entries = [entry for entry in answer.entries if isinstance(entry, Found)]
        ks = [entry.coordinator for entry in entries]
        scored = list(model.scored([words] * len(ks), ks))
        every = [model.best(words, k, one, 10**6) for k, one in zip(ks, scored, strict=True)]
        ways = [
            (math.prod(one.probability for one in way), way)
            for way in itertools.product(*every)
            if all_consistent([one.conjuncts for one in way])
        ]
        if not ways:
            continue
        tried += len(ks) > 1
        best = max(way[0] for way in ways)
        assert math.prod(e.best[0].probability for e in entries) == pytest.approx(best, rel=1e-4)
        assert all_consistent([entry.conjuncts for entry in entries])
        for entry, own in zip(entries, every, strict=True):
            assert len(entry.best) == min(3, len(own))
            rest = [one.probability for one in entry.best[1:]]
            assert rest == sorted(rest, reverse=True)
    assert tried


def test_batches_keep_to_their_budget(model: CoordinationPredictor) -> None:
    """Padded size stays within it, but for a sentence longer than it; neighbours in length meet."""
    given = list(dict.fromkeys(sentences(13)))
    found = list(model.encoding.batches([*given, ("zygote",) * 200], 60))
    sizes = [[len(encoded.ids) for _, encoded in batch] for batch in found]
    assert all(len(batch) == 1 or len(batch) * max(batch) <= 60 for batch in sizes)
    assert any(len(batch) > 1 for batch in sizes)
    assert [n for batch in sizes for n in batch] == sorted(n for batch in sizes for n in batch)
    for batch, after in itertools.pairwise(sizes):
        assert (len(batch) + 1) * after[0] > 60  # no batch could have taken one more
    assert sorted(words for batch in found for words, _ in batch) == sorted(given)


def test_packed_files_and_standard_input(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Gzip and xz are unpacked whatever the name, from standard input too."""
    text = "\ufeffthe man and a dog\r\na girl saw lamps or\u2028harbors\n"
    plain = ask(text)
    assert len(plain) == 2
    assert plain[0].replace("[", "").replace("]", "").startswith("the man and a dog\tand\t")
    assert ask(gzip.compress(text.encode(), mtime=0), "f.gz") == plain
    assert ask(lzma.compress(text.encode()), "f.packed") == plain
    for content in (text.encode(), gzip.compress(text.encode(), mtime=0)):
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))  # type: ignore[arg-type]
        monkeypatch.setattr(sys, "stdin", stdin)
        assert ask("", text=Path("-")) == plain


def test_chosen_coordinators_count(ask: Ask) -> None:
    """Instead of the usual ones, in any case."""
    found = ask("The man As well and a dog as the girl", coordinators=["as", "PLUS"])
    assert ask("The man As well and a dog as the girl", coordinators=["as, PLUS"]) == found
    assert [line.split("\t")[1] for line in found] == ["As", "as"]


def test_n_best_lines_of_tsv(ask: Ask) -> None:
    """A line each, best first, brackets around the conjuncts of each."""
    found = [line.split("\t") for line in ask("dogs and cats saw", n_best=9)]
    assert {line[0] for line in found} == {
        "[dogs] and [cats] saw", "[dogs] and [cats saw]",
    }  # fmt: skip
    assert float(found[0][2]) >= float(found[1][2])


def test_summary_counts_all(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sentences, coordinators, and what was skipped for which reason, on standard error."""
    text = "a man and a dog\n\nAnd a dog or\na girl\n" + "zygote and " * 60 + "dog\n"
    (tmp_path / "f").write_text(text)
    predict.run(PredictSettings(predictor=folder, text=tmp_path / "f"))
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 1 + 2 + 1 + 1
    last = printed.err.splitlines()[-1]
    assert last.startswith("[predict] read as text: 4 sentences, ")
    assert last.endswith(
        "/s; coordinators predicted: 1; skipped: coordinator at the edge of the sentence 2, blank line "
        "1, no coordinator 1, sentence longer than the encoder 1"
    )


def test_a_sentence_of_many_coordinators_is_one_refusal(
    model: CoordinationPredictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is made for each of them, not even subwords, and the sentence is shown once."""
    monkeypatch.setattr(
        model.encoding, "_tokenize", lambda sentences: [pytest.fail("made") for _ in sentences]
    )
    many = GivenSentence(("x", "and") * 16_000, 1)
    (found,) = answers(model, [many])
    (entry,) = found.entries
    assert (entry.coordinator, entry.reason) == (None, "sentence longer than the encoder")  # type: ignore[union-attr]


def test_progress_takes_no_output_away(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a bar on the terminal of standard error, results still go to standard output."""
    screen = io.StringIO()
    monkeypatch.setattr(console, "_err", Console(file=screen, force_terminal=True))
    assert len(ask("the man and a dog\n")) == 1
    assert "predict" in screen.getvalue()
    assert "the man" not in screen.getvalue()


@pytest.mark.parametrize("output", ["tsv", "jsonl"])
def test_words_do_not_steer_a_terminal(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    """They are shown escaped there, in JSON as JSON has it; a file has them as they are."""
    text = "the m\x9b2Jan and a d\u202eog\n"
    (whole,) = ask(text, output=output)
    assert "m\x9b2Jan" in whole
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    (shown,) = ask(text, output=output)
    assert not set(shown) & set("\x1b\x9b\u202e")
    if output == "jsonl":
        assert json.loads(shown) == json.loads(whole)
    else:
        assert r"m\x9b2Jan" in shown


def test_a_closed_pipe_ends_it_quietly(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As of other commands, the exit code is 141, and nothing is said."""
    (tmp_path / "f").write_text("the man and a dog\n")
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        with pytest.raises(SystemExit) as ended:
            predict.run(PredictSettings(predictor=folder, text=tmp_path / "f"))
        closed.write("what is left is swallowed")
    assert ended.value.code == 141
    assert "[predict] read" not in capsys.readouterr().err


ROW = "{}\ta\ta\tX\tX\t_\t0\troot\t_\t_\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("f", b"", "f: no sentence here; it was read as text"),
        ("f.mrg", b"\n", "f.mrg: no sentence here; it was read as ptb"),
        ("f", b"a dog\n caf\xe9\n", "f:2: not UTF-8 text"),
        ("f", b"\xff", "f:1: not UTF-8 text"),
        ("f", b"dogs\tNNS\nand\tCC\n", "f: words or columns on lines of their own"),
        ("f", b"# S-ID:w-1\n* 1D\n+ 1D <NE>\n", "f: words or columns on lines of their own"),
        ("f", gzip.compress(b"a dog\n" * 9, mtime=0)[:-12], r"f:\d+: cannot be read: .*ended before"),
        ("f", b"x" * (1 << 20) + b"x", "f:1: a line of more than 1,048,576 bytes"),
        ("f.mrg", b"(S (NN a))\n(S (NN a)", "f.mrg:2: the tree that begins here is never closed"),
        ("f.mrg", b"(S (NN a))\ndog", "f.mrg:2: text outside brackets: 'dog'"),
        ("f.mrg", b"(S (NP (NN a) dog))", "f.mrg:1: the word 'dog' has no tag"),
        ("f.mrg", b"(S" * 700_000, "f.mrg:1: a line of more"),
        ("f.mrg", b"(S\n" * 700_000, "f.mrg:1: the tree that begins here is never closed"),
        ("f.conllu", b"1\ta\n", "f.conllu:1: not CoNLL-U: 2 columns where 10 are due"),
        ("f.conllu", ROW.format("x").encode(), "f.conllu:1: not a CoNLL-U ID: 'x'"),
        ("f.conllu", (ROW.format(1) + ROW.format(3)).encode(), "f.conllu:2: ID 3 out of order"),
        ("f.conllu", (ROW.format(1) + ROW.format("0.1")).encode(), "f.conllu:2: ID 0.1 out of"),
        ("f.conllu", (ROW.format("2-1")).encode(), "f.conllu:1: ID 2-1 out of order"),
        ("f.conllu", (ROW.format("1-2") + ROW.format(1)).encode(), "f.conllu:1: multiword token 1-2 of a"),
        ("f.conllu", (ROW.format("1-1") + ROW.format(1)).encode(), "f.conllu:1: multiword token 1-1 of one"),
        ("f.conllu", (ROW.format(1) + ROW.format("1.2")).encode(), "f.conllu:2: empty node 1.2 where 1.1"),
        ("f.conllu", (ROW.format(1) + "# x\n").encode(), "f.conllu:2: a comment inside a sentence"),
        ("f.conllu", b"# text = a\n\n", "f.conllu:2: a sentence without words ends here"),
        ("f.conllu", b"\n" + b"#\n" * (1 << 19) + b"#\n", "the sentence that begins on line 2 has more"),
        ("f.conllu", ROW.format(1).replace("\ta", "\t ", 1).encode(), "1: a word without FORM"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(ask: Ask, name: str, content: bytes, message: str) -> None:
    """What is wrong, in which file and line."""
    with pytest.raises(ConjoinError, match=message) as error:
        ask(content, name)
    assert "\n" not in str(error.value)


def test_packed_input_has_an_allowance(ask: Ask) -> None:
    """What it unpacks to is counted, and the option named."""
    packed = gzip.compress((b"a dog " * 200 + b"\n\n") * (1 << 11))
    with pytest.raises(ConjoinError, match=r"unpack to more than 1MiB; .*--largest-unpacked"):
        ask(packed, largest_unpacked="1MiB")
    assert ask(b"a dog\n" * 3, largest_unpacked="1MiB")


def test_bad_calls_are_one_line(ask: Ask, folder: Path, tmp_path: Path) -> None:
    """A folder, a missing file, a wrong output, no predictor, one of another version."""
    for given, message in (
        ({"text": tmp_path}, "a folder; name a file in it"),
        ({"text": tmp_path / "none"}, "none: no such file"),
        ({"output": "conllu"}, "f: output conllu is for CoNLL-U input, this is text"),
        ({"predictor": tmp_path}, r"no predictor\.json here; name the predictor/ folder of a run"),
    ):
        with pytest.raises(ConjoinError, match=message):
            ask("a dog and a cat", **given)
    card = json.loads((folder / "predictor.json").read_text())
    (tmp_path / "predictor.json").write_text(json.dumps(card | {"version": 2}))
    with pytest.raises(ConjoinError, match=r"'conjoin-predictor' version 2, not .* version 1"):
        ask("a dog and a cat", predictor=tmp_path)
    with pytest.raises(ConjoinError, match="'as well as': no coordinator: it has a space"):
        PredictSettings.build({"predictor": "p", "text": "t", "coordinators": ["as well as"]}, None)


@pytest.fixture
def parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[int]]:
    """A corpus with a parser that finds "man , girl and dog" and nothing else; and what it was asked."""
    asked = []
    found = (
        "(S (XX the) (NP (NP (XX man)) (, ,) (NP (XX girl)) (CC and) (NP (XX dog))) (VP (XX saw)))"
    )

    def outcomes(texts: list[tuple[str, ...]]) -> list[Parsed]:
        asked.append(len(texts))
        trees = [Tree.fromstring(found) if "girl" in words else None for words in texts]
        return [Parsed(tree, None if tree else "no tree found") for tree in trees]

    parser = SimpleNamespace(outcomes=outcomes, needs_tags=False)
    monkeypatch.setattr(parser_card, "corpus_parser", lambda place: parser)
    write_json(tmp_path / "corpus/parser/parser.json", {"source": "ready"})
    return tmp_path / "corpus", asked


def test_a_parsers_structure_stands_where_the_predictor_does_not_object(
    ask: Ask, parsed: tuple[Path, list[int]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Whole, with all its conjuncts and its label; else the predictor's; each line says whose it is."""
    corpus, asked = parsed
    text = "the man , girl and dog saw\nold man or dog saw\nno coordinator here\n"
    plain = ask(text)
    first, second, none = ask(text, parser=corpus, tau=0)
    assert first.startswith("the [man] , [girl] and [dog] saw\tand\t")
    assert first.endswith("\tparser")
    assert second == f"{plain[1]}\tpredictor"
    assert none == plain[2]
    assert asked == [2]  # the sentence without a coordinator is not parsed
    objected = ask(text, parser=corpus, tau=1)
    assert objected[0] == f"{plain[0]}\tpredictor"
    several = ask(text, parser=corpus, tau=0, n_best=3)
    assert several[0] == first
    assert [line.split("\t")[3] for line in several[:6]] == ["parser", *["predictor"] * 5]


def test_forms_say_whose_a_structure_is(ask: Ask, parsed: tuple[Path, list[int]]) -> None:
    """Keys of JSON and an attribute of CoNLL-U, with the predictor's probability of the parser's boundary."""
    corpus, _ = parsed
    words = "the man , girl and dog saw".split()  # noqa: SIM905
    rest = "\t_" * 8
    rows = [f"{n}\t{word}{rest}" for n, word in enumerate(words, 1)]
    text = "\n".join(rows) + "\n\n"
    (line,) = ask(text, "f.conllu", output="jsonl", parser=corpus, tau=0, n_best=2)
    (one,) = json.loads(line)["coordinations"]
    assert one["conjuncts"] == [[1, 2], [3, 4], [5, 6]]
    assert (one["start"], one["end"], one["from"], one["label"]) == (1, 6, "parser", "NP")
    keys = ("start", "end", "probability", "conjuncts")
    assert one["alternatives"][0] == {key: one[key] for key in keys}
    assert len(one["alternatives"]) == 2
    found = ask(text, "f.conllu", output="conllu", parser=corpus, tau=0)
    marks = (
        f"CoordConjuncts=2-2,4-4,6-6|CoordProb={one['probability']}|CoordLabel=NP|CoordFrom=parser"
    )
    assert found[4].endswith(f"Coord=2-6|{marks}")
    # Nothing of another's structure stays beside the predictor's own.
    plain = ask("\n".join(found) + "\n\n", "f.conllu", output="conllu")
    assert plain == ask(text, "f.conllu", output="conllu")
    assert plain[4] != found[4]
    (line,) = ask(text, "f.conllu", output="jsonl", parser=corpus, tau=1)
    (other,) = json.loads(line)["coordinations"]
    assert (other["from"], other["label"]) == ("predictor", None)
    assert other["probability"] >= one["probability"]
    (line,) = ask(text, "f.conllu", output="jsonl")
    assert not {"from", "label"} & json.loads(line)["coordinations"][0].keys()


def test_a_parsers_structures_do_not_depend_on_what_is_asked(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator that nobody asks about still parts conjuncts, and has no answer."""
    tree = Tree.fromstring(
        "(NP (NP (XX dogs)) (, ,) (NP (XX girls)) (XX and) (NP (XX men)) (, ,) (XX or) (NP (XX cats)))"
    )
    parser = SimpleNamespace(
        outcomes=lambda texts: [Parsed(tree, None)] * len(texts), needs_tags=False
    )
    monkeypatch.setattr(parser_card, "corpus_parser", lambda place: parser)
    write_json(tmp_path / "corpus/parser/parser.json", {"source": "ready"})
    text = "dogs , girls and men , or cats\n"
    given = {"parser": tmp_path / "corpus", "tau": 0}
    of_all = [line for line in ask(text, **given) if line.split("\t")[1] == "or"]
    assert ask(text, coordinators=["or"], **given) == of_all
    assert of_all[0].endswith("parser")
    (other,) = ask(text, coordinators=["and"], **given)
    assert other.endswith("predictor")


@pytest.mark.parametrize("choices", [1, 64])
def test_all_alternatives_are_given_where_answers_crossed(
    model: CoordinationPredictor, monkeypatch: pytest.MonkeyPatch, choices: int
) -> None:
    """However few of each are tried to make them consistent."""
    monkeypatch.setattr(predict_answers, "CHOICES", choices)
    monkeypatch.setattr(predict_answers, "all_consistent", lambda conjuncts: False)
    words = tuple("dogs and girls or men saw old lamps".split())  # noqa: SIM905
    (answer,) = answers(model, [GivenSentence(words, 1)], n=5)
    assert [len(each.best) for each in answer.entries if isinstance(each, Found)] == [5, 5]


def test_an_empty_column_of_conllu_is_none(ask: Ask) -> None:
    """It takes no attribute without a name."""
    rows = "".join(
        f"{n}\t{word}" + "\t_" * 7 + "\t\n" for n, word in enumerate(["cats", "and", "dogs"], 1)
    )
    found = ask(rows + "\n", "f.conllu", output="conllu")
    assert found[1].split("\t")[9].startswith("Coord=1-3|")


def test_a_parsers_structure_stands_where_the_predictor_has_no_score(
    ask: Ask, parsed: tuple[Path, list[int]]
) -> None:
    """A sentence too long for it: the parser's structures without probability, the rest left out."""
    corpus, asked = parsed
    words = ["the", "man", ",", "girl", "and", "dog", "saw", *["or", "so"] * 90]
    text = " ".join(words) + "\n" + "old and " * 90 + "man\n"
    plain = ask(text)
    assert [line.split("\t")[1:] for line in plain] == [["-", TOO_LONG]] * 2
    lines = ask(text, parser=corpus, tau=2, n_best=2)
    assert asked == [2]
    assert lines[0].startswith("the [man] , [girl] and [dog] saw or")
    assert lines[0].split("\t")[1:] == ["and", "-", "parser"]
    assert [line.split("\t")[1:] for line in lines[1:91]] == [["or", TOO_LONG]] * 90
    assert lines[91:] == plain[1:]
    (first, _) = ask(text, parser=corpus, output="jsonl")
    found = json.loads(first)
    (one,) = found["coordinations"]
    assert one["conjuncts"] == [[1, 2], [3, 4], [5, 6]]
    assert (one["start"], one["end"], one["from"], one["label"]) == (1, 6, "parser", "NP")
    assert one["probability"] is None
    (only,) = one["alternatives"]
    assert only == {"start": 1, "end": 6, "probability": None, "conjuncts": one["conjuncts"]}
    assert {each["reason"] for each in found["skipped"]} == {TOO_LONG}
    rest = "\t_" * 8
    rows = "".join(f"{n}\t{word}{rest}\n" for n, word in enumerate(words, 1)) + "\n"
    lines = ask(rows, "f.conllu", output="conllu", parser=corpus)
    (line,) = [each for each in lines if each.startswith("5\t")]
    assert line.endswith(
        "Coord=2-6|CoordConjuncts=2-2,4-4,6-6|CoordProb=-|CoordLabel=NP|CoordFrom=parser"
    )


def test_a_boundary_that_is_no_pair_of_the_predictors_stands(
    model: CoordinationPredictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in ``Said.takes_structure``: it cannot object to what it has no probability of."""
    words = tuple("the man , girl and dog saw".split())  # noqa: SIM905
    structure = Coordination(4, "and", "NP", (Span(1, 2), Span(3, 4), Span(5, 6)))
    monkeypatch.setattr(predict_answers, "probability_of", lambda *given: None)
    (answer,) = answers(
        model,
        [GivenSentence(words, 1)],
        n=3,
        parse=lambda texts: [ParsedSentence({4: structure})],
        tau=2,
    )
    (entry,) = answer.entries
    assert isinstance(entry, Found)
    assert entry.source == "parser"
    assert [one.probability is None for one in entry.ranked] == [True, False, False]


def test_a_parser_that_cannot_be_asked_is_one_line(
    ask: Ask, parsed: tuple[Path, list[int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that reads tags, which text has not; a folder without any."""
    corpus, _ = parsed
    with pytest.raises(InputError, match="no parser here"):
        ask("a man and a dog", parser=tmp_path / "none")
    tagged = SimpleNamespace(needs_tags=True)
    monkeypatch.setattr(parser_card, "corpus_parser", lambda place: tagged)
    with pytest.raises(ModelError, match="reads part-of-speech tags"):
        ask("a man and a dog", parser=corpus)


def test_brat_has_the_words_and_each_answer(tmp_path: Path) -> None:
    """The structure that stands at each coordinator."""
    words = ("old", "cats", "and", "dogs", "or", "birds")
    mine = (Span(1, 2), Span(3, 4))
    structure = Coordination(4, "or", "NP", (Span(0, 4), Span(5, 6)))
    entries = (
        Found(2, (Prediction(Span(1, 4), 0.5, mine),)),
        Found(4, (), (structure, None)),
        Skipped(None, "x"),
    )
    write_brat(tmp_path, [SentenceAnswer(GivenSentence(words, 1), entries)])
    tally = Tally()
    text = (tmp_path / "predictions-00000.txt").read_text()
    with open_lines(tmp_path / "predictions-00000.ann") as lines:
        (found,) = read_document(text, lines, tally)
    assert found.words == words
    assert found.structures == (Coordination(2, "and", "X", mine), structure)
    assert "NP" in (tmp_path / "annotation.conf").read_text()


def test_what_no_document_of_brat_has_is_not_counted_as_predicted(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sentence with a word that has a blank is skipped whole."""
    rows = ("New York", "and", "Rome")
    text = "".join(f"{n}\t{word}" + "\t_" * 8 + "\n" for n, word in enumerate(rows, 1))
    (tmp_path / "x.conllu").write_text(text + "\n" + text.replace("New York", "York") + "\n")
    given = {"predictor": folder, "text": tmp_path / "x.conllu", "output": "brat"}
    predict.run(PredictSettings(**given, out=tmp_path / "out"))
    said = capsys.readouterr().err
    assert "coordinators predicted: 1; " in said
    assert f"skipped: {NOT_FOR_BRAT} 1\n" in said
    assert (tmp_path / "out/predictions-00000.txt").read_text() == "York and Rome\n"


def test_what_was_not_read_is_no_document_of_brat(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There its coordinators would join nothing, as if somebody had said so."""
    (tmp_path / "x.txt").write_text(f"cats and dogs\n{'cats and ' * 500}dogs\n")
    given = {"predictor": folder, "text": tmp_path / "x.txt", "output": "brat"}
    predict.run(PredictSettings(**given, out=tmp_path / "out"))
    assert f"skipped: {UNREAD} 1\n" in capsys.readouterr().err
    assert (tmp_path / "out/predictions-00000.txt").read_text() == "cats and dogs\n"


def test_brat_is_a_folder_of_its_own(folder: Path, tmp_path: Path) -> None:
    """It needs a name, replaces nothing, and is none where there is nothing to write."""
    (tmp_path / "x.txt").write_text("cats and dogs\n")
    (tmp_path / "empty.txt").write_text("\n")
    given = {"predictor": folder, "text": tmp_path / "x.txt", "output": "brat"}
    with pytest.raises(SettingsError, match="add --out FOLDER"):
        PredictSettings.build(given, None)
    out = tmp_path / "out"
    with pytest.raises(InputError, match="no sentence here"):
        predict.run(PredictSettings(**given | {"text": tmp_path / "empty.txt"}, out=out))
    assert not out.exists()
    predict.run(PredictSettings(**given, out=out))
    assert {path.name for path in out.iterdir()} == {
        "annotation.conf", "predictions-00000.ann", "predictions-00000.txt",
    }  # fmt: skip
    with pytest.raises(InputError, match="there is something here already"):
        predict.run(PredictSettings(**given, out=out))
