"""The command line: settings become options, problems become one line."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.cli import COMMANDS, app, main
from pipeline.core.errors import InputError, SettingsError
from pipeline.core.schema import read_sentences
from pipeline.core.settings import flag_of
from pipeline.core.types import Span
from pipeline.ingest.splitting import by_patterns
from pipeline.trying.fill.command import find_span, run
from pipeline.trying.fill.settings import FillSettings

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_every_setting(command: str) -> None:
    """Each field of the settings class is an option or argument with its help text."""
    done = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(app, [command, "--help"])
    assert done.exit_code == 0
    assert "PydanticUndefined" not in done.stdout
    settings, _, _ = COMMANDS[command]
    for name in settings.model_fields:
        assert (name.upper() if name in settings.arguments else f"--{flag_of(name)}") in done.stdout


def help_of(*command: str) -> str:
    """A command's help on a terminal of 80 columns, its white space as single blanks."""
    done = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(app, [*command, "--help"])
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    return " ".join(done.stdout.split())


def test_an_option_that_is_given_twice_is_said_to_be() -> None:
    """Whoever wants three seeds gets the last; of those that hold several all count."""
    for given, said in (
        (["train", "x", "--seed", "0", "--seed", "1", "--mode", "baseline"], "--seed"),
        (["generate", "x", "--lm", "bert", "--sync", "--no-sync"], "--sync"),
        (["ingest", "text", "x", "--labelled", "1", "--labelled", "2"], None),
    ):
        done = CliRunner(env={"COLUMNS": "200"}).invoke(app, given)
        assert done.exit_code == 2, given
        assert (f"warning: {said} is there 2 times, and the last counts" in done.stderr) == bool(
            said
        )


def test_splits_in_the_help_are_those_of_the_error() -> None:
    """Whoever misspells one is shown the same four."""
    assert "documents of train, dev, test or test2" in help_of("ingest")
    with pytest.raises(SettingsError, match="SPLIT one of train, dev, test, test2"):
        by_patterns(["training=*"])


def test_help_groups_commands_by_purpose() -> None:
    """Every command stands in the box of its purpose, in the order of COMMANDS, and nowhere else."""
    shown = help_of()
    assert "<bool>" not in shown
    purposes = list(dict.fromkeys(panel for _, _, panel in COMMANDS.values()))
    boxes = re.split(r"╭─ ([\w ]+) ─+╮", shown)
    assert boxes[3::2] == purposes  # after the options
    for purpose, box in zip(purposes, boxes[4::2], strict=True):
        own = [name for name, (_, _, panel) in COMMANDS.items() if panel == purpose]
        assert [word for word in re.findall(r"│ (\w+) ", box) if word in COMMANDS] == own


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("ingest", "[repeatable; default: 250] --validation"),
        ("ingest", "--segment line|punkt|stanza text, and --unlabelled: one sentence per line"),
        ("ingest", "Usage: conjoin ingest [OPTIONS] READER SOURCE Read"),
        ("ingest", "One of: world, genia, ptb"),
        ("merge", "Usage: conjoin merge [OPTIONS] PLACES... Unite"),
        ("plan", "Usage: conjoin plan [OPTIONS] [EXPERIMENT] Print"),
        ("plan", "[default: --probe]"),
        ("train", "[default: --no-resume]"),
        ("train", "(its seed-SEED, if any)"),
        ("train", "linearly decreased after --warm-up. [default: 2e-5]"),
        ("train", "--clip X Gradient norm clipping threshold. [default: 1] --eval-every N"),
        (
            "train",
            "unset: the mode, and what --augment and --mask-tags add. Its entry of `systems`",
        ),
        ("fill", "--corpus PATH Corpus folder whose models to use. [default: data/world]"),
        (
            "fill",
            "--beams N n-best, but with BERT: width of the search; unset: max(N, 4). --coordinator",
        ),
        (
            "predict",
            "[repeatable]",
        ),
    ],
)
def test_help_shows_defaults_as_one_types_them(command: str, shown: str) -> None:
    """Lists, paths, flags and numbers as they go on the command line; nothing where there is none."""
    assert shown in help_of(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_nothing_of_python(command: str) -> None:
    """No brackets of a list, no type in angle brackets, no default in brackets of its own."""
    text = help_of(command)
    assert not re.search(r"<\w+>|default: [(\['\"]|None|True|False|\{[A-Z]", text)


def test_it_starts_as_a_program() -> None:
    """`python -m pipeline` is the command, and a typo in it comes back as exit code 2."""
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "gnerate"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "No such command 'gnerate'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "x", "--mode", "baseline", "--delta", "1.5"], "train.delta = 1.5: "),
        (
            ["train", "x", "--mode", "baseline", "--k", "17"],
            "K must not exceed N_batch, was 17 > 16",
        ),
        (["train", "x"], "mode filter needs --candidates"),
        (["release", "x"], "release: --out is required"),
        (["release", "x", "--out", "y", "--version", "1.0"], "must be MAJOR.MINOR.PATCH"),
        (["release", "x", "--out", "y", "--url", "here"], "must be an address on the web"),
        (["push", "x", "jdoe"], "must be OWNER/NAME"),
        (
            ["generate", "no-such-corpus"],
            "no corpus here: there is no sentences.parquet; run `conjoin ingest`",
        ),
        (["generate", "x", "--params", "no.yaml"], "no.yaml: no such file"),
        (["train", "x", "--dleta", "1"], "No such option: --dleta"),
        (["train", "x", "--params", "pipeline"], "pipeline: a folder, not a file"),
        (
            ["generate", "x", "--lm", "brt"],
            "generate.lm = 'brt': a language model is called bert, t5 or causal, or like t5-twins; "
            "did you mean 'bert'?",
        ),
        (
            ["ingest", "treebnk", "x"],
            "ingest.reader = 'treebnk': no such reader; there are: world, genia, ptb, ptb-ext, gum, "
            "treebank, conllu, text, corrected, pdtb, wac, world-relations, world-arguments, ecare, kuci, "
            "asked, world-questions; did you mean 'treebank'? A section of params.yaml needs --params",
        ),
        (
            ["ingest", "figure4", "x"],
            "world-arguments, ecare, kuci, asked, world-questions; a section of params.yaml needs --params",
        ),
        (["generate", "x", "--coordinator", "as well as"], "generate.coordinator = 'as well as'"),
    ],
)
def test_a_problem_is_reported_with_exit_code_2(
    tmp_path: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is wrong is named on standard error, without a traceback."""
    arguments = [str(tmp_path / a) if a in {"x", "no-such-corpus"} else a for a in arguments]
    monkeypatch.setattr(sys, "argv", ["conjoin", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said


def test_fill_prints_both_families_with_brackets(
    tmp_path: Path, tiny_bert: Path, tiny_t5: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line per family, the reference span in brackets as it stood."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "bert").symlink_to(tiny_bert)
    (tmp_path / "models" / "t5").symlink_to(tiny_t5)
    sentence = "The old man saw a dog near the harbor."
    run(FillSettings(sentence=sentence, span="a dog", corpus=tmp_path))
    bert, t5 = capsys.readouterr().out.splitlines()
    assert bert.startswith("bert: The old man saw [a dog] and [")
    assert t5.startswith("t5: The old man saw [a dog] and [")


def test_fill_asks_a_model_by_its_name(
    tmp_path: Path, tiny_t5: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An adapted model has a folder of its own; a name of no family is refused."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "t5-twins").symlink_to(tiny_t5)
    sentence = "The old man saw a dog near the harbor."
    run(FillSettings(sentence=sentence, span="a dog", corpus=tmp_path, lm="t5-twins"))
    assert capsys.readouterr().out.startswith("t5-twins: The old man saw [a dog] and [")
    with pytest.raises(
        SettingsError, match=r"fill\.lm = 'gpt': must be bert, t5, causal, both, or a name"
    ):
        FillSettings.build({"sentence": sentence, "span": "a dog", "lm": "gpt"}, None)


def test_fill_prints_several_fills(
    tmp_path: Path, tiny_bert: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line per fill, best first, from the seed's own model where there is one."""
    folder = tmp_path / "models" / "bert"
    folder.mkdir(parents=True)
    (folder / "seed-1").symlink_to(tiny_bert)
    sentence = "The old man saw a dog near the harbor."
    run(
        FillSettings(
            sentence=sentence, span="a dog", corpus=tmp_path, lm="bert", decoding="n-best", n=4,
            seed=1,
        )
    )  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    assert len(set(lines)) == 4
    assert all(line.startswith("bert: The old man saw [a dog] and [") for line in lines)


def test_fill_chooses_among_constituents(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the label given, by each family; the line says where the words stand."""
    sentence = "The old man saw a dog near the harbor."
    given = {"sentence": sentence, "span": "a dog", "corpus": corpus, "fills": "attested"}
    run(FillSettings.build({**given, "label": "NP"}, None))
    bert, t5 = capsys.readouterr().out.splitlines()
    for line in (bert, t5):
        found = re.search(r"a dog\] and \[(.*?)\] near .* from (c/\d\d), words (\d) to (\d)", line)
        assert found
        (words,) = [
            s.words
            for s in read_sentences(corpus / "sentences.parquet")
            if s.sentence_id == found[2]
        ]
        assert " ".join(words[int(found[3]) : int(found[4]) + 1]) == found[1]
    several = {**given, "label": "NP", "lm": "bert", "decoding": "n-best", "n": 3, "pool": 3}
    run(FillSettings.build(several, None))
    chosen = re.findall(r"and \[(.*?)\]", capsys.readouterr().out)
    assert sorted(chosen) == ["the harbor", "the lamp"]  # all that are as long as the span


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({}, SettingsError, "add --label, e.g. --label NP"),
        ({"label": "np"}, SettingsError, "fill.label = 'np'"),
        ({"label": "QP"}, InputError, "has the label 'QP'; name one of: NP, VP"),
        ({"label": "NP", "match": "head"}, SettingsError, "leave it at --match label"),
        (
            {"label": "NP", "fills": "free"},
            SettingsError,
            "add --fills attested, or leave --label out",
        ),
    ],
)
def test_fill_says_what_attested_fills_lack(
    corpus: Path, change: dict[str, object], error: type[Exception], message: str
) -> None:
    """A label, one that the corpus has, and nothing that a bare sentence cannot have."""
    given = {
        "sentence": "The old man saw a dog.", "span": "a dog", "corpus": corpus, "lm": "bert",
        "fills": "attested",
    }  # fmt: skip
    with pytest.raises(error, match=re.escape(message)):
        run(FillSettings.build({**given, **change}, None))


def test_fill_refuses_a_sentence_the_model_cannot_take(tmp_path: Path, tiny_bert: Path) -> None:
    """A sentence longer than the model, or with its mask string, is an error and no reject."""
    for sentence, reason in (
        ("a dog " * 90 + "sat near the man", "longer than the model allows"),
        ("the man [MASK] a dog", "source contains a special token"),
    ):
        wanted = FillSettings(
            sentence=sentence, span="the man", corpus=tmp_path, lm="bert", model=str(tiny_bert)
        )
        with pytest.raises(InputError, match=reason):
            run(wanted)


@pytest.mark.parametrize(
    ("span", "message"),
    [
        ("a cat", "not in the sentence at word boundaries"),
        ("do", "not in the sentence at word boundaries"),
        ("He saw a dog.", "the span is the whole sentence"),
    ],
)
def test_wrong_span_says_what_the_sentence_is(span: str, message: str) -> None:
    """A span that is no proper part of the sentence at word boundaries is refused."""
    with pytest.raises(InputError, match=message):
        find_span(("He", "saw", "a", "dog", "."), span)


def test_span_is_found_in_natural_spelling() -> None:
    """Clitics and punctuation are matched as the user writes them."""
    words = ("They", "did", "n't", "sell", "(", "old", ")", "lamps", ".")
    span = find_span(words, "didn't sell (old)")
    assert (span.start, span.end) == (1, 7)
    words = ("The", "dog", "'s", "bone", "can", "not", "swim", ".")
    assert find_span(words, "The dog\u2019s bone") == Span(0, 4)
    assert find_span(words, "cannot swim") == Span(4, 7)
