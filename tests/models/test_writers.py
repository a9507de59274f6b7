"""Writers: what is kept of their answers, what is asked again, and the one that runs here."""

import json
import os
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from asked import said, written
from chat_model import chat_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from pipeline.core.errors import InputError, ModelError
from pipeline.models.writers.asking import AskedModel
from pipeline.models.writers.keeping import EmptyShare, KeepingScorer, KeepingWriter
from pipeline.models.writers.kept import EarlierAnswers, KeptAnswers
from pipeline.models.writers.local import LocalWriter
from pipeline.models.writers.protocol import (
    TOO_LONG,
    Prompt,
    Sampling,
    TextScore,
    WrittenAnswer,
    text_question_of,
)
from pipeline.models.writers.rendering import rendered
from pipeline.models.writers.replay import ReplayWriter

SAMPLING = Sampling(1.0, 0.9)
PROMPTS = [Prompt(f"question {n}", "The", n) for n in range(6)]


@dataclass
class Loud:
    """Answers in capitals, in reverse order, and remembers what it was asked; stops after some."""

    model: str = "loud"
    sampling: Sampling = SAMPLING
    most: int = 1000
    silent: frozenset[str] = frozenset()
    silence: str | None = None
    asked: list[str] = field(default_factory=list)

    def answers(self, prompts: Sequence[Prompt]) -> Generator[tuple[int, WrittenAnswer]]:
        """See ``Answering``."""
        for place in reversed(range(len(prompts))):
            if len(self.asked) == self.most:
                raise KeyboardInterrupt
            user = prompts[place].user
            self.asked.append(user)
            silent = user in self.silent
            text = self.silence if silent else user.upper()
            yield place, WrittenAnswer(text, "asked", "no" * silent)

    def scores(self, texts: Sequence[str]) -> Generator[tuple[int, TextScore | None]]:
        """See ``Scoring``: a token a word."""
        for place, text in enumerate(texts):
            self.asked.append(text)
            yield place, None if text in self.silent else TextScore(-0.1, len(text.split()))


def users(prompts: Sequence[Prompt] = PROMPTS) -> list[str]:
    return [prompt.user for prompt in prompts]


def capitals(prompts: Sequence[Prompt] = PROMPTS) -> list[str]:
    return [prompt.user.upper() for prompt in prompts]


def test_only_what_is_missing_is_asked(tmp_path: Path) -> None:
    """After a kill amid a unit, with half a line at the end of the file."""
    path = tmp_path / "kept.jsonl"
    with pytest.raises(KeyboardInterrupt):
        written(KeepingWriter(Loud(most=3), KeptAnswers.going_on(path), EmptyShare()), PROMPTS)
    whole = path.read_text()
    assert whole.count("\n") == 3
    path.write_text(whole[:-20])
    rest = Loud()
    kept = KeptAnswers.going_on(path)
    assert written(KeepingWriter(rest, kept, EmptyShare()), PROMPTS) == capitals()
    assert sorted(rest.asked) == users()[:4]
    kept.settle()
    again = Loud()
    assert (
        written(KeepingWriter(again, KeptAnswers.going_on(path), EmptyShare()), PROMPTS)
        == capitals()
    )
    assert not again.asked
    assert [json.loads(line)["completion"] for line in path.read_text().splitlines()] == capitals()


def test_a_last_line_that_nothing_ends_counts(tmp_path: Path) -> None:
    """An editor may leave it so; half a line is none."""
    path = tmp_path / "mine.jsonl"
    written(KeepingWriter(Loud(), KeptAnswers.going_on(path), EmptyShare()), PROMPTS[:2])
    whole = path.read_bytes()
    for content, known in ((whole[:-1], 2), (whole[:-2], 1), (whole + b"\xc3", 2)):
        path.write_bytes(content)
        asked = Loud()
        written(KeepingWriter(asked, EarlierAnswers.read(path), EmptyShare()), PROMPTS[:2])
        assert len(asked.asked) == 2 - known


@pytest.mark.parametrize(
    ("reason", "remedy"), [(TOO_LONG, "fewer --tokens"), ("status 503", "the server's log")]
)
def test_most_answers_empty_is_said_with_what_to_do(reason: str, remedy: str) -> None:
    """Of a model here the prompt may be too long; fewer than twenty answers say nothing."""
    share = EmptyShare()
    for _ in range(19):
        share.add(empty=True, reason=reason)
        share.require_few()
    share.add(empty=True, reason=reason)
    with pytest.raises(ModelError, match=f"20 of 20 .*{reason}.*{remedy}"):
        share.require_few()


def test_what_came_empty_of_a_broken_server_is_asked_for_again(tmp_path: Path) -> None:
    """The run that it ended goes on when it is mended, and what had come is not asked for again."""
    path = tmp_path / "kept.jsonl"
    prompts = [Prompt(f"q{n}") for n in range(30)]
    written(KeepingWriter(Loud(), KeptAnswers.going_on(path), EmptyShare()), prompts[:2])
    mute = Loud(silent=frozenset(users(prompts)), silence="")
    with pytest.raises(ModelError, match="18 of 20 completions came back empty"):
        KeepingWriter(mute, KeptAnswers.going_on(path), EmptyShare()).complete(prompts)
    mended = Loud()
    again = KeepingWriter(mended, KeptAnswers.going_on(path), EmptyShare())
    assert written(again, prompts) == capitals(prompts)
    assert sorted(mended.asked) == sorted(users(prompts[2:]))


def test_an_empty_answer_of_a_server_that_works_is_one(tmp_path: Path) -> None:
    """A unit that is made again has the same rows, and nothing is asked."""
    path = tmp_path / "kept.jsonl"
    quiet = Loud(silent=frozenset(users()[:1]), silence="")
    first = written(KeepingWriter(quiet, KeptAnswers.going_on(path), EmptyShare()), PROMPTS)
    again = Loud()
    kept = KeptAnswers.going_on(path)
    assert written(KeepingWriter(again, kept, EmptyShare()), PROMPTS) == first
    assert first[0] == ""
    assert not again.asked


def test_scores_that_do_not_come_say_what_would_score(tmp_path: Path) -> None:
    """No --model is at fault."""
    asked = AskedModel("loud", SAMPLING, "asked", None)
    asked.keep_in(tmp_path / "kept.jsonl")
    mute = Loud(silent=frozenset(f"t{n}" for n in range(30)))
    asked.connect(mute, mute)
    with pytest.raises(ModelError, match=r"scores of texts .*--scorer"):
        asked.scored([f"t{n}" for n in range(30)])


def test_a_score_that_did_not_come_is_asked_for_once_in_a_run(tmp_path: Path) -> None:
    """Else a replay, which knows the last answer alone, would have other rows."""
    path = tmp_path / "kept.jsonl"
    mute = Loud(silent=frozenset(["a"]))
    scorer = KeepingScorer(mute, KeptAnswers.going_on(path), EmptyShare())
    assert scorer.scored(["a"]) == scorer.scored(["a"]) == [None]
    assert mute.asked == ["a"]
    rerun = KeepingScorer(Loud(), KeptAnswers.going_on(path), EmptyShare())
    assert rerun.scored(["a"]) == [TextScore(-0.1, 1)]


def test_units_are_replayed_each_from_its_own_file(tmp_path: Path) -> None:
    """A server does not score the same text the same each time, and may once have said nothing."""
    text, scores = "a b", [TextScore(-1.0, 2), None, TextScore(-1.5, 2), None]
    for n, score in enumerate(scores):
        kept = KeptAnswers.going_on(tmp_path / f".units/completions-{n:05}-of-00004.jsonl")
        kept.add_score(text_question_of("loud", text), score)
    asked = AskedModel("loud", SAMPLING, "asked", EarlierAnswers.read(tmp_path))
    for n in (2, 0, 3, 1):
        asked.keep_in(tmp_path / f"again/.units/completions-{n:05}-of-00009.jsonl")
        assert asked.scored([text]) == [scores[n]]
    asked.keep_in(tmp_path / "again/.units/completions-00008-of-00009.jsonl")
    assert asked.scored([text]) == [scores[2]]  # one that came


def test_equal_runs_have_equal_files(tmp_path: Path) -> None:
    """Whatever the order of arrival, and what else had been kept."""
    files = []
    for name, before in (("one", []), ("two", [*PROMPTS[::2], Prompt("another")])):
        path = tmp_path / name
        for prompts in (before, PROMPTS):
            kept = KeptAnswers.going_on(path)
            written(KeepingWriter(Loud(), kept, EmptyShare()), prompts)
            KeepingScorer(Loud(), kept, EmptyShare()).scored(["a b", "c"])
        kept.settle()
        files.append(path.read_bytes())
    assert files[0] == files[1]


def test_what_did_not_come_is_asked_again(tmp_path: Path) -> None:
    """The last answer counts."""
    path = tmp_path / "kept.jsonl"
    first = Loud(silent=frozenset(users()[:2]))
    assert (
        written(KeepingWriter(first, KeptAnswers.going_on(path), EmptyShare()), PROMPTS)[:2]
        == [None] * 2
    )
    second = Loud()
    assert (
        written(KeepingWriter(second, KeptAnswers.going_on(path), EmptyShare()), PROMPTS)
        == capitals()
    )
    assert sorted(second.asked) == users()[:2]


def test_another_model_or_sampling_is_asked_anew(tmp_path: Path) -> None:
    """Its name, temperature and nucleus are part of a question; so are seed and length."""
    path = tmp_path / "kept.jsonl"
    written(KeepingWriter(Loud(), KeptAnswers.going_on(path), EmptyShare()), PROMPTS)
    others = [
        Loud(model="other"), Loud(sampling=Sampling(0.5, 0.9)), Loud(sampling=Sampling(1.0, 0.8)),
    ]  # fmt: skip
    for other in others:
        written(KeepingWriter(other, KeptAnswers.going_on(path), EmptyShare()), PROMPTS[:1])
        assert other.asked == users()[:1]
    same = Loud()
    changed = [Prompt("question 0", "The", 9), Prompt("question 0", "The", 0, 9), PROMPTS[1]]
    written(KeepingWriter(same, KeptAnswers.going_on(path), EmptyShare()), changed)
    assert same.asked == ["question 0"] * 2


def test_one_question_is_asked_once() -> None:
    """Equal prompts with equal seeds have one answer."""
    loud = Loud()
    found = written(
        KeepingWriter(loud, KeptAnswers(), EmptyShare()), [PROMPTS[0], PROMPTS[1], PROMPTS[0]]
    )
    assert found == ["QUESTION 0", "QUESTION 1", "QUESTION 0"]
    assert len(loud.asked) == 2


def test_replay_says_the_same_without_a_server(tmp_path: Path) -> None:
    """From the folder of an output or from its file; also that nothing came."""
    path = tmp_path / "out/.units/completions-00000-of-00001.jsonl"
    kept = KeptAnswers.going_on(path)
    loud = Loud(silent=frozenset({"question 3", "not scored"}))
    found = KeepingWriter(loud, kept, EmptyShare()).complete(PROMPTS)
    scores = KeepingScorer(loud, kept, EmptyShare()).scored(["a b c", "not scored"])
    assert (found[3].text, scores) == (None, [TextScore(-0.1, 3), None])
    for place in (tmp_path / "out", path):
        replay = ReplayWriter(EarlierAnswers.read(place), "loud", SAMPLING)
        assert replay.complete(PROMPTS) == found
        assert replay.scored(["a b c", "not scored"]) == scores
        with pytest.raises(InputError, match="not among those kept"):
            written(replay, [Prompt("never asked")])
        with pytest.raises(InputError, match="not among those kept"):
            replay.scored(["never scored"])
    with pytest.raises(InputError, match="not among those kept"):
        written(ReplayWriter(EarlierAnswers.read(path), "other", SAMPLING), PROMPTS)


def test_that_an_answer_was_cut_is_kept(tmp_path: Path) -> None:
    """Of others nothing more is in the file than there used to be."""
    kept = KeptAnswers.going_on(tmp_path / "kept.jsonl")
    answers = [WrittenAnswer("one an", "chat", cut=True), WrittenAnswer("one .", "chat")]
    for question, answer in zip("ab", answers, strict=True):
        kept.add_answer(question, answer)
    again = KeptAnswers.going_on(tmp_path / "kept.jsonl")
    assert [again.answer("a"), again.answer("b")] == answers
    assert '"cut"' not in (tmp_path / "kept.jsonl").read_text().splitlines()[1]


@pytest.mark.parametrize("place", ["nowhere", "empty"])
def test_replay_of_nothing(place: str, tmp_path: Path) -> None:
    """A folder without completions, or none."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no completions"):
        EarlierAnswers.read(tmp_path / place)


@pytest.mark.parametrize("place", ["completions-0.jsonl", "."])
def test_a_pipe_is_not_waited_for(place: str, tmp_path: Path) -> None:
    """Named, or among the completions of a folder; nor is a link to itself followed."""
    (tmp_path / ".units").mkdir()
    pipe = tmp_path / ".units/completions-0.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="not a regular file; replace it"):
        EarlierAnswers.read(pipe if place != "." else tmp_path)
    pipe.unlink()
    pipe.symlink_to(pipe.name)
    with pytest.raises(InputError, match=r"cannot be read: Too many levels .*; name what"):
        EarlierAnswers.read(tmp_path)


@pytest.mark.parametrize(
    "line",
    ['{"question": 1}', "[]", "no JSON", '{"question": "a", "score": [1]}', b"\xff"],
)  # fmt: skip
def test_a_line_that_is_none(line: str | bytes, tmp_path: Path) -> None:
    """Said with file and what to do."""
    path = tmp_path / "kept.jsonl"
    path.write_bytes((line if isinstance(line, bytes) else line.encode()) + b"\n")
    with pytest.raises(InputError, match=r"kept.jsonl.*remove the file"):
        KeptAnswers.going_on(path)


@pytest.mark.parametrize(("empty", "ends"), [(10, False), (11, True)])
def test_most_empty_ends_the_run(empty: int, ends: bool, tmp_path: Path) -> None:
    """More than half of at least twenty; what was answered stays kept, but what came empty then."""
    prompts = [Prompt(f"{n:02d}") for n in range(20)]
    silent = frozenset(users(prompts)[:empty])
    writer = KeepingWriter(
        Loud(silent=silent), KeptAnswers.going_on(tmp_path / "kept"), EmptyShare()
    )
    if ends:
        with pytest.raises(ModelError, match=r"11 of 20 completions came back empty"):
            written(writer, prompts)
    else:
        assert written(writer, prompts).count(None) == 10
    assert (tmp_path / "kept").read_text().count("\n") == 20 - empty * ends


def test_a_few_empty_ones_end_nothing() -> None:
    """Nineteen of nineteen are too few to say so, a twentieth in another unit is not."""
    prompts, share = [Prompt(f"{n:02d}") for n in range(20)], EmptyShare()
    loud = Loud(silent=frozenset(users(prompts)))
    written(KeepingWriter(loud, KeptAnswers(), share), prompts[:19])
    with pytest.raises(ModelError, match="20 of 20"):
        written(KeepingWriter(loud, KeptAnswers(), share), prompts[19:])


@pytest.fixture(scope="module")
def causal(tiny_causal: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a small causal LM with a chat template."""
    return chat_model(tiny_causal, tmp_path_factory.mktemp("chat"))


def local(folder: Path, sampling: Sampling, batch: int = 16) -> LocalWriter:
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    return LocalWriter(model, AutoTokenizer.from_pretrained(folder), "tiny", sampling, batch=batch)


ASKED = [Prompt("Where?", "near the", n, 3 + n) for n in range(5)] + [
    Prompt("Who saw it?", "", 3, 6)
]


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.0, 0.9)])
def test_batches_change_nothing(causal: Path, sampling: Sampling) -> None:
    """One by one or together, in any order, with other lengths beside them."""
    together = said(local(causal, sampling), ASKED)
    assert said(local(causal, sampling, batch=1), ASKED) == together
    assert said(local(causal, sampling, batch=2), ASKED[::-1]) == together[::-1]
    assert None not in together


def test_greedy_is_the_best_token_each_time(causal: Path) -> None:
    """A plain loop over the template that the answer begins in."""
    model = AutoModelForCausalLM.from_pretrained(causal).eval()
    tokenizer = AutoTokenizer.from_pretrained(causal)
    ids = tokenizer("<|user|>Where?\n<|assistant|>near the", add_special_tokens=False)["input_ids"]
    start = len(ids)
    for _ in range(6):
        best = int(model(torch.tensor([ids])).logits[0, -1].argmax())
        if best == tokenizer.eos_token_id:
            break
        ids.append(best)
    found = said(local(causal, Sampling()), [Prompt("Where?", "near the", tokens=6)])
    assert found == [tokenizer.decode(ids[start:])]


def test_whoever_is_not_done_when_the_tokens_are_over_is_cut(causal: Path) -> None:
    """Whoever is not has the same answer with more tokens; an eighth of them end one here."""
    model = AutoModelForCausalLM.from_pretrained(causal).eval()
    model.generation_config.eos_token_id = list(range(0, model.config.vocab_size, 8))
    tokenizer = AutoTokenizer.from_pretrained(causal)
    writer = LocalWriter(model, tokenizer, "tiny", Sampling(1.0))
    short, long = (
        dict(writer.answers([Prompt("Where?", "near the", n, tokens) for n in range(24)]))
        for tokens in (4, 5)
    )
    assert {answer.cut for answer in short.values()} == {True, False}
    for n in range(24):
        assert short[n].cut or not long[n].cut
        assert short[n].cut or short[n].text == long[n].text


def test_samples_are_of_the_seed(causal: Path) -> None:
    """Equal seeds have equal samples, others hardly ever."""
    same = [Prompt("Where?", "near the", 7, 8)] * 2
    others = [Prompt("Where?", "near the", n, 8) for n in range(8)]
    writer = local(causal, Sampling(1.0))
    one, two = said(writer, same)
    assert one == two
    assert len(set(said(writer, others))) > 4


def test_a_checkpoints_own_sampling_is_put_aside(causal: Path) -> None:
    """Such as a penalty for repeating, which most of them bring."""
    usual = said(local(causal, Sampling()), ASKED)
    model = AutoModelForCausalLM.from_pretrained(causal).eval()
    model.generation_config.update(repetition_penalty=50.0, do_sample=True, temperature=9.0)
    tokenizer = AutoTokenizer.from_pretrained(causal)
    assert said(LocalWriter(model, tokenizer, "tiny", Sampling()), ASKED) == usual


def test_a_prompt_too_long_has_no_completion(tiny_causal: Path, tmp_path: Path) -> None:
    """One reason, and the others are answered."""
    folder = chat_model(tiny_causal, tmp_path, chat=False, length=40)
    prompts = [Prompt("a " * 60, "b", tokens=4), Prompt("a", "b", tokens=4), Prompt("a", tokens=40)]
    found = dict(local(folder, Sampling()).answers(prompts))
    assert [found[n].text is None for n in range(3)] == [True, False, True]
    assert {found[n].reason for n in (0, 2)} == {TOO_LONG}
    assert found[1].begun == "plain"


@pytest.mark.parametrize(
    ("template", "what"),
    [
        ("{% endfor %}", "fails: Encountered unknown tag 'endfor'"),
        ("{{ 1 / 0 }}", "fails: division by zero"),
        ("{{ messages[0].nonesuch.content }}", "fails: 'dict object' has no attribute 'nonesuch'"),
        ("Hello!", "leaves out what is asked"),
        ("{{ messages[0].content }}{{ 'x' * 2000000 }}", "adds 2,000,000 characters"),
    ],
)
def test_a_chat_template_of_any_make_is_one_line(
    tiny_causal: Path, tmp_path: Path, template: str, what: str
) -> None:
    """It is a program that comes with the model."""
    tokenizer = AutoTokenizer.from_pretrained(chat_model(tiny_causal, tmp_path))
    tokenizer.chat_template = template
    with pytest.raises(ModelError, match=f"its chat template {what}"):
        rendered(tokenizer, PROMPTS[0], chat=True)
