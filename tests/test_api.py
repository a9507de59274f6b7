"""The Python API: it does what the commands do, on text and on words, and costs nothing to import."""

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tiny
from transformers import BertModel

import conjoin
from conjoin import Predictor, fill, generate
from pipeline.core.errors import InputError, ModelError, SettingsError
from pipeline.core.types import Span
from pipeline.tasks.coordination.consistent import are_consistent
from pipeline.tasks.coordination.model import CoordinationPredictor as Model
from pipeline.trying.fill.command import run
from pipeline.trying.fill.settings import FillSettings

ROOT = Path(__file__).resolve().parents[1]
SENTENCE = "The old man saw a dog near the harbor."
WORDS = ["The", "old", "man", "saw", "a", "dog", "near", "the", "harbor", "."]


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of an untrained predictor."""
    folder = tmp_path_factory.mktemp("predictor")
    tiny.build(folder / "corpus")
    made = Model.create(str(folder / "corpus/models/bert"), mlp_hidden=8, dropout=0.0, seed=0)
    assert isinstance(made.encoder, BertModel)
    made.save(folder / "predictor")
    return folder / "predictor"


def test_import_is_light() -> None:
    """Neither torch nor a command comes in with the package, and its names are known all the same."""
    code = (
        "import sys, conjoin; assert {'fill', 'generate', 'Predictor'} <= set(dir(conjoin)); "
        "print(sorted(m for m in sys.modules if m in {'torch', 'transformers', 'pydantic', 'numpy'}"
        " or m.startswith('pipeline.')))"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout == "[]\n"
    with pytest.raises(AttributeError, match="has no attribute 'fil'"):
        _ = conjoin.fil  # type: ignore[attr-defined]


def test_it_is_found_beside_a_clone_of_its_name(tmp_path: Path) -> None:
    """In the folder above a clone called conjoin, which Python could take for a package without a file."""
    (tmp_path / "conjoin" / "data").mkdir(parents=True)
    code = "import conjoin; print(conjoin.__version__, 'Predictor' in conjoin.__all__)"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        check=True,
    )
    assert done.stdout == f"{conjoin.__version__} True\n"


def test_types_are_known_of_every_name() -> None:
    """Type checkers see the names that the package gives."""
    tree = ast.parse((ROOT / "conjoin/__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    named = [each.name for node in block.body for each in node.names]  # type: ignore[attr-defined]
    assert sorted(named) == sorted({*conjoin.__all__} - {"__version__"})


@pytest.mark.parametrize("family", ["bert", "t5", "causal"])
def test_fill_does_what_the_command_does(
    family: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same fills and scores, with the family read off the model, of text and of words."""
    model: Path = request.getfixturevalue(f"tiny_{family}")
    found = fill(SENTENCE, "a dog", model, decoding="n-best", n=3)
    assert found == fill(WORDS, (4, 6), str(model), decoding="n-best", n=3)
    run(
        FillSettings(
            sentence=SENTENCE, span="a dog", lm=family, model=str(model), decoding="n-best", n=3
        )
    )
    shown = [
        f"{family}: {one.bracketed}  (score {one.score:.2f})"
        + (f"  rejected: {one.reason}" if one.reason else "")
        for one in found
    ]
    assert capsys.readouterr().out.splitlines() == shown
    for one in found:
        if one.conjuncts:
            first, second = one.conjuncts
            assert one.words[first.start : first.end] == ("a", "dog")
            assert one.words[one.coordinator] == "and"
            assert second.start == one.coordinator + 1
            assert one.text.startswith("The old man saw a dog and")


def test_generate_parts_candidates_and_rejects(tiny_bert: Path) -> None:
    """Each says which reference it was made of; nothing depends on the company of a reference."""
    references = [(SENTENCE, "a dog", "NP"), (WORDS, (0, 3)), ("a dog " * 90 + "sat", (0, 2), "NP"),
                  (WORDS, Span(7, 9), "NP")]  # fmt: skip
    made = generate(iter(references), tiny_bert, decoding="sample", n=2, seed=3)
    everything = sorted([*made.candidates, *made.rejects], key=lambda one: one.source)
    assert [one.source for one in everything] == [0, 0, 1, 1, 2, 3, 3]
    assert {one.label for one in everything} == {"NP", "X"}
    assert all(one.reason is None for one in made.candidates)
    assert ("longer than the model allows", -1, ()) in [
        (one.reason, one.coordinator, one.conjuncts) for one in made.rejects
    ]
    alone = generate(references[3:], tiny_bert, decoding="sample", n=2, seed=3)
    words = [one.words for one in [*alone.candidates, *alone.rejects]]
    assert sorted(words) == sorted(one.words for one in everything if one.source == 3)
    assert generate([], tiny_bert).candidates == []


def test_a_model_trained_again_is_read_again(
    tiny_bert: Path, tiny_t5: Path, tmp_path: Path
) -> None:
    """What was loaded of a folder is not taken for what lies there later."""
    folder = tmp_path / "model"
    folder.symlink_to(tiny_bert)
    first = fill(SENTENCE, "a dog", folder)
    folder.unlink()
    folder.symlink_to(tiny_t5)
    assert fill(SENTENCE, "a dog", folder) != first


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((SENTENCE, "a cat", {}), InputError, "'a cat' is not in the sentence at word boundaries"),
        ((SENTENCE, SENTENCE, {}), InputError, "the span is the whole sentence"),
        ((WORDS, (4, 4), {}), InputError, "(4, 4) is not a part of a sentence of 10 words"),
        ((WORDS, (8, 11), {}), InputError, "(8, 11) is not a part of a sentence of 10 words"),
        ((WORDS, (0, 10), {}), InputError, "(0, 10) is not a part"),
        ((["a", "", "b"], (0, 1), {}), InputError, "word 1 is ''"),
        ((["a", "b c"], (0, 1), {}), InputError, "word 1 is 'b c'"),
        (("the man [MASK] a dog", "the man", {}), InputError, "contains a special token"),
        (
            (None, "a dog", {}),
            InputError,
            "the sentence must be text or a list of words, was: None",
        ),
        ((b"a dog", "a", {}), InputError, "the sentence must be text"),
        (([1, 2, 3], (0, 1), {}), InputError, "word 0 must be text, was: 1"),
        (([None, "and"], (0, 1), {}), InputError, "word 0 must be text, was: None"),
        ((["a", "\ud800"], (0, 1), {}), InputError, "word 1 must be text, was: '\\ud800'"),
        (("a \ud800 b", "a", {}), InputError, "the sentence must be text in Unicode"),
        ((SENTENCE, "\ud800", {}), InputError, "the span must be text in Unicode"),
        (
            (SENTENCE, (1, 2, 3), {}),
            InputError,
            "the span must be a part of the text or (start, end)",
        ),
        ((SENTENCE, (1.0, 2.5), {}), InputError, "the span must be a part"),
        ((SENTENCE, (False, True), {}), InputError, "the span must be a part"),
        ((SENTENCE, Span(0, "1"), {}), InputError, "the span must be a part"),  # type: ignore[arg-type]
        ((SENTENCE, 5, {}), InputError, "the span must be a part of the text"),
        (
            (SENTENCE, "a dog", {"family": "x"}),
            SettingsError,
            "family must be bert, t5 or causal, was: 'x'",
        ),
        ((SENTENCE, "a dog", {"n": 3}), SettingsError, "greedy decoding gives one fill"),
        ((SENTENCE, "a dog", {"n": 0}), SettingsError, "decoding.n = 0"),
        ((SENTENCE, "a dog", {"beam": 3}), SettingsError, "decoding.beam = 3: no such setting"),
        ((SENTENCE, "a dog", {"family": "t5"}), ModelError, "an encoder-decoder"),
    ],
)
def test_what_is_wrong_is_reported_in_one_line(
    given: tuple[Any, Any, dict[str, Any]], error: type[Exception], message: str, tiny_bert: Path
) -> None:
    """Spans, words, decodings and models that cannot be; generate names the reference."""
    sentence, span, options = given
    with pytest.raises(error, match=re.escape(message)) as caught:
        fill(sentence, span, tiny_bert, **options)
    assert "\n" not in str(caught.value)
    if error is InputError and "[MASK]" not in str(sentence):
        with pytest.raises(InputError, match="^reference 1: .*" + re.escape(message)):
            generate([(WORDS, (4, 6)), (sentence, span)], tiny_bert)


@pytest.mark.parametrize(
    ("references", "message"),
    [
        ("abc", "references must be a list of (sentence, span)"),
        (None, "references must be a list"),
        ([(WORDS, (4, 6)), (WORDS,)], "reference 1: it has 1 parts"),
        ([(WORDS, (4, 6), "NP", "x")], "reference 0: it has 4 parts"),
        ([5], "reference 0: it must be (sentence, span)"),
        (["ab"], "reference 0: it must be (sentence, span)"),
        ([(WORDS, (4, 6), 3)], "reference 0: the label must be text, was: 3"),
        ([(WORDS, (4, 6), "\ud800")], "reference 0: the label must be text"),
    ],
)
def test_references_that_are_none(references: Any, message: str, tiny_bert: Path) -> None:
    """What is wrong is said with the number of the reference."""
    with pytest.raises(InputError, match="^" + re.escape(message)):
        generate(references, tiny_bert)


@pytest.mark.parametrize("size", [0, -1, 1.5, "x", None, True])
def test_batches_have_tokens(size: Any, tiny_bert: Path) -> None:
    """A size that is none is not taken for another."""
    with pytest.raises(SettingsError, match=f"^batch_tokens must be at least 1, was: {size!r}$"):
        generate([(WORDS, (4, 6))], tiny_bert, batch_tokens=size)


@pytest.mark.parametrize("path", [None, 5, b"x", "a\0b", "x" * 5000])
def test_a_model_is_a_path(path: Any) -> None:
    """Anything else is no place where one could lie."""
    with pytest.raises(ModelError, match=r"^path must be a folder, was: "):
        Predictor.load(path)
    with pytest.raises(ModelError, match=r"^model must be a folder or a name, was: "):
        fill(SENTENCE, "a dog", path)


def test_a_missing_model_is_an_error_of_the_model(tmp_path: Path) -> None:
    """A folder that is not there is not looked for on the hub."""
    with pytest.raises(ModelError, match="no such model folder"):
        fill(SENTENCE, "a dog", tmp_path / "none")
    with pytest.raises(ModelError, match=r"no predictor\.json here"):
        Predictor.load(tmp_path)


def test_predictor_gives_what_the_model_predicts(predictor: Path) -> None:
    """Spans and probabilities of the model, best first, of text and words; what is skipped has its reason."""
    model, words = Model.load(predictor), ["we", "saw", "cats", "and", "dogs", "or", "fish", "here"]
    sentences = [" ".join(words), words, "it was here", [], "and", ["cats"] * 40 + ["and", "dogs"]]
    found = Predictor.load(str(predictor)).predict(iter(sentences), n=3)
    assert len(found) == len(sentences)
    assert found[0] == found[1]
    first, second = found[0].coordinations
    assert (first.coordinator, first.word, second.coordinator, second.word) == (3, "and", 5, "or")
    scored = list(model.scored([words, words], [3, 5]))
    for one, each in zip((first, second), scored, strict=True):
        known = {right.span: right for right in model.best(words, one.coordinator, each, 10**6)}
        assert one.probability == pytest.approx(known[one.span].probability, rel=1e-5)
        assert one.conjuncts == known[one.span].conjuncts
        assert one.alternatives[0] == (one.span, one.probability)
        assert len(one.alternatives) == 3
        assert (one.conjuncts[0].start, one.conjuncts[-1].end) == (one.span.start, one.span.end)
    assert are_consistent(first.conjuncts, second.conjuncts)
    (alone,) = Predictor.load(predictor).predict(["we saw cats and dogs"])
    (right,) = model.predict([words[:5]], [3])
    assert right is not None
    assert alone.coordinations[0].span == right.span
    assert found[0].bracketed[0].count("[") == 2
    assert [[(each.coordinator, each.reason) for each in one.skipped] for one in found[2:]] == [
        [(None, "no coordinator")],
        [(None, "no words")],
        [(0, "coordinator at the edge of the sentence")],
        [(None, "sentence longer than the encoder")],
    ]


def test_predictor_refuses_what_would_be_read_otherwise(predictor: Path) -> None:
    """One text is not taken for a list of letters, and none is no number of alternatives."""
    loaded = Predictor.load(predictor)
    with pytest.raises(InputError, match="put it into a list"):
        loaded.predict("cats and dogs")
    with pytest.raises(SettingsError, match="n must be at least 1, was: 0"):
        loaded.predict([], n=0)
    for n in (1.5, "1", None, True):
        with pytest.raises(SettingsError, match=f"n must be at least 1, was: {n!r}"):
            loaded.predict(["cats and dogs"], n=n)  # type: ignore[arg-type]
    for coordinators in ([1], 5, ["\ud800"], ["as well as"], [" and"], "and,or"):
        with pytest.raises(SettingsError, match="coordinators must be a list of words, was: "):
            loaded.predict(["cats and dogs"], coordinators=coordinators)  # type: ignore[arg-type]
    for sentences in (None, b"cats and dogs", 5):
        with pytest.raises(InputError, match="sentences must be a list of them, was: "):
            loaded.predict(sentences)  # type: ignore[arg-type]
    for sentence in (1, b"a", [1, 2, 3], [None, "and"], "a \ud800 b", ["\ud800"]):
        with pytest.raises(InputError, match=r"^sentence 1: (the sentence|word 0) must be text"):
            loaded.predict(["cats and dogs", sentence])  # type: ignore[list-item]
    for words in (["Plus"], "Plus"):
        (one,) = loaded.predict(["cats plus dogs and fish"], coordinators=words)
        assert [each.word for each in one.coordinations] == ["plus"]


def test_the_example_of_the_docs_runs(
    tiny_t5: Path, predictor: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it is printed, with a model and a predictor; the page is short and names every option."""
    page = (ROOT / "docs/python.md").read_text()
    assert len(page.split()) <= 400
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(example, {"MODEL": tiny_t5, "PREDICTOR": predictor})  # noqa: S102
    assert "and" in capsys.readouterr().out
    api = importlib.import_module("pipeline.api")
    assert all(f"`{name}`" in page for name in api.DecodingOptions.__annotations__)
    for kind in ("Coordinated", "PredictedCoordination"):
        row = next(line for line in page.splitlines() if line.startswith(f"| `{kind}` |"))
        fields = list(getattr(api, kind).__dataclass_fields__)
        assert all(f"`{name}`" in row for name in fields)
