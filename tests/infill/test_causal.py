"""Causal LMs against plain loops: the library's forward pass on one text at a time, no padding."""

import copy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    JambaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MptConfig,
    PretrainedConfig,
    Qwen3_5TextConfig,
)

from pipeline.core.errors import ModelError, SettingsError
from pipeline.core.types import Attested, Donor, PlacedConjunct, Reference, Span, Structure
from pipeline.infill import Decoding, Fill, InfillRequest, fill, load_infiller, load_ranker
from pipeline.infill.base import SOURCE_HAS_SPECIAL, TOO_LONG
from pipeline.infill.causal import CausalInfiller, CausalLockstep
from pipeline.infill.prompts import BLANK, around_blank, twin_prompts
from pipeline.infill.rankings.known import ranking_called
from pipeline.infill.rankings.protocol import ReferenceOptions
from pipeline.infill.synchronize import Synchronizer
from pipeline.models.causal import attention_window, ending_tokens

SENTENCES = [
    ("the old man saw a small dog near the harbor .", 4, 7),
    ("a girl sold the lamp yesterday", 0, 2),
    ("a dog saw the girl", 3, 5),
    ("the old man and the girl", 0, 3),
    ("unfathomable harbors saw small lamps quickly ( today ) .", 3, 5),
]
REFERENCES = [
    Reference(f"s{i}", tuple(text.split()), Span(start, end), "NP", "CC0-1.0")
    for i, (text, start, end) in enumerate(SENTENCES)
]
CHAT = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}<assistant>"
MIDDLE = ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"]


WINDOW = 24
"""Tokens, fewer than a prompt has."""

CONFIGS: dict[str, PretrainedConfig] = {
    "gpt2": GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=1024, initializer_range=0.3),
    "mistral": MistralConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
        intermediate_size=32, max_position_embeddings=1024, initializer_range=0.3, sliding_window=WINDOW,
    ),
    "qwen3.5": Qwen3_5TextConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=16,
        intermediate_size=32, max_position_embeddings=1024, initializer_range=0.3,
        linear_num_key_heads=2, linear_num_value_heads=2, linear_key_head_dim=8, linear_value_head_dim=8,
        layer_types=["linear_attention", "full_attention"],
    ),
    "jamba": JambaConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
        intermediate_size=32, initializer_range=0.3, num_experts=1, num_experts_per_tok=1,
        attn_layer_period=2, attn_layer_offset=1, use_mamba_kernels=False,
    ),
    "mpt": MptConfig(d_model=32, n_layers=2, n_heads=4),
}  # fmt: skip


def made(kind: str, tiny_causal: Path, folder: Path, window: int | None = None) -> Path:
    """A random model of a kind, maybe with another window, with the tiny one's tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(tiny_causal)
    config = copy.deepcopy(CONFIGS[kind])
    if window is not None:
        config.sliding_window = window
    config.vocab_size, config.bos_token_id, config.eos_token_id = len(tokenizer), 0, 0
    torch.manual_seed(3)
    model = AutoModelForCausalLM.from_config(config)
    if kind == "mpt":
        for weights in model.parameters():
            torch.nn.init.normal_(weights, std=0.3)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session", params=["llama", "gpt2", "mistral", "qwen3.5"])
def causal(
    request: pytest.FixtureRequest, tiny_causal: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Rotary positions and learnt ones, a window shorter than prompts, a state that sums up what was read."""
    kind = request.param
    if kind == "llama":
        return tiny_causal
    return made(kind, tiny_causal, tmp_path_factory.mktemp(f"tiny-{kind}"))


def loaded(where: Path) -> tuple[Any, Any]:
    return AutoModelForCausalLM.from_pretrained(where).eval(), AutoTokenizer.from_pretrained(where)


def prompts_of(tokenizer: Any, reference: Reference, form: str) -> list[list[int]]:
    """What the model reads for both twins, by hand."""
    if form == "fim":
        pre, suf, mid = tokenizer.convert_tokens_to_ids(MIDDLE)
        return [
            [
                pre,
                *tokenizer(twin.before)["input_ids"],
                suf,
                *tokenizer(twin.after)["input_ids"],
                mid,
            ]
            for twin in around_blank(reference, "and")
        ]
    begun = [
        f"{each.user}\n{each.begins}"
        if form == "plain"
        else f"<user>{each.user}\n<assistant>{each.begins}"
        for each in twin_prompts(reference, "and")
    ]
    return [tokenizer(text)["input_ids"] for text in begun]


@torch.inference_mode()
def plain_loop(
    where: Path,
    reference: Reference,
    combine: str,
    form: str = "plain",
    *,
    cached: bool = False,
    sync: bool = True,
) -> tuple[list[int], bool]:
    """Tokens of the fill, and whether it was cut: a pass a step for each twin."""
    model, tokenizer = loaded(where)
    prompts = prompts_of(tokenizer, reference, form)[: 2 if sync else 1]
    after = [tokenizer(twin.after)["input_ids"][:1] for twin in around_blank(reference, "and")]
    lines = [i for i in range(len(tokenizer)) if "\n" in tokenizer.decode([i])]
    own = reference.words[reference.span.start : reference.span.end]
    blank = "" if reference.span.start == 0 else " "
    count = len(tokenizer(blank + " ".join(own))["input_ids"])
    written: list[int] = []
    caches: list[Any] = [None, None]
    while len(written) < 3 * count:
        both = []
        for k, prompt in enumerate(prompts):
            if cached:
                new = written[-1:] or prompt
                out = model(torch.tensor([new]), past_key_values=caches[k], use_cache=True)
                caches[k] = out.past_key_values
            else:
                out = model(torch.tensor([[*prompt, *written]]), use_cache=False)
            both.append(out.logits[0, -1])
        joined = torch.stack(both).amin(0) if combine == "min" else sum(both) / len(both)
        ends = [
            max(float(logits[i]) for i in [tokenizer.eos_token_id, *lines, *first])
            for logits, first in zip(both, after, strict=False)
        ]
        end = min(ends) if combine == "min" else sum(ends) / len(ends)
        same = after[0] if not sync or after[0] == after[1] else []
        joined[[tokenizer.eos_token_id, *lines, *same]] = -torch.inf
        token = int(joined.argmax())
        if len(written) * 3 >= count and end >= float(joined[token]):
            return written, False
        written.append(token)
    return written, True


def scores_of(fills: Sequence[Fill]) -> list[float]:
    every = [(each.score, each.score_append, each.score_prepend) for each in fills]
    return [score for scores in every for score in scores if score is not None]


def infiller(where: Path, request: InfillRequest) -> Any:
    return load_infiller("causal", str(where), request)


@pytest.mark.parametrize("combine", ["min", "mean"])
@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("sync", [True, False])
def test_lockstep_equals_a_plain_loop(causal: Path, combine: Any, cached: bool, sync: bool) -> None:
    """Token for token, in any batch, with and without a cache in the loop."""
    model = infiller(causal, InfillRequest(synchronizer=Synchronizer(combine), sync=sync))
    _, tokenizer = loaded(causal)
    together = [fills[0] for fills in fill(model, REFERENCES)]
    alone = [fill(model, [one])[0][0] for one in REFERENCES]
    assert [each.text for each in together] == [each.text for each in alone]
    assert scores_of(together) == pytest.approx(scores_of(alone), abs=1e-4)
    for reference, found in zip(REFERENCES, together, strict=True):
        tokens, cut = plain_loop(causal, reference, combine, cached=cached, sync=sync)
        assert found.text == tokenizer.decode(tokens).strip()
        assert found.cut == cut


@torch.inference_mode()
def fond_of_ends(causal: Path, reference: Reference, ends: str, folder: Path) -> Path:
    """A copy that wants to end the fill of a reference after two tokens, as a random model hardly does.

    Args:
        causal: the model.
        reference: its own.
        ends: of ``twins``, what each goes on with is likely there; of ``answers``, the end of a text.
        folder: where the copy is to be.
    """
    model, tokenizer = loaded(causal)
    written, _ = plain_loop(causal, reference, "min")
    states = torch.stack(
        [
            model(torch.tensor([[*prompt, *written[:step]]]), output_hidden_states=True)
            .hidden_states[-1][0, -1]
            for prompt in prompts_of(tokenizer, reference, "plain")
            for step in range(3)
        ]
    )  # fmt: skip
    tokens = [tokenizer.eos_token_id] * 2
    if ends == "twins":
        tokens = [tokenizer(each.after)["input_ids"][0] for each in around_blank(reference, "and")]
    head = model.get_output_embeddings().weight.detach().clone()
    for token in tokens:
        # Scores after no token, one, and two, for each twin: where another stands it has none.
        wanted = [
            score for own in tokens for score in (-50.0, -50.0, 50.0 if own == token else 0.0)
        ]
        head[token] = torch.linalg.lstsq(states, torch.tensor(wanted)[:, None]).solution[:, 0]
    model.config.tie_word_embeddings = False
    model.lm_head.weight = torch.nn.Parameter(head)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("combine", ["min", "mean"])
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("ends", ["twins", "answers"])
@pytest.mark.parametrize("which", [0, 3])
@pytest.mark.parametrize("causal", ["llama", "gpt2"], indirect=True)
def test_a_fill_ends_where_its_twins_do(
    *, causal: Path, combine: Any, sync: bool, ends: str, which: int, tmp_path: Path
) -> None:
    """As in the plain loop; what ends an answer, or goes on with every twin, is no token of a fill."""
    reference = REFERENCES[which]
    where = fond_of_ends(causal, reference, ends, tmp_path / "fond")
    model = infiller(where, InfillRequest(synchronizer=Synchronizer(combine), sync=sync))
    ((found,),) = fill(model, [reference])
    tokens, cut = plain_loop(where, reference, combine, sync=sync)
    assert (found.text, found.cut) == (model.tokenizer.decode(tokens).strip(), cut)
    assert not found.cut
    every = infiller(
        where,
        InfillRequest(
            sync=sync, decoding=Decoding("sample", 8), synchronizer=Synchronizer(combine)
        ),
    )
    (drawn,) = fill(every, [reference])
    assert not any(model.tokenizer.eos_token in each.text for each in drawn)


@pytest.fixture
def talking(tiny_causal: Path, tmp_path: Path) -> Path:
    """The tiny model with a chat template and tokens of fill-in-the-middle."""
    model, tokenizer = loaded(tiny_causal)
    tokenizer.chat_template = CHAT
    tokenizer.add_special_tokens({"additional_special_tokens": MIDDLE})
    model.resize_token_embeddings(len(tokenizer))
    model.save_pretrained(tmp_path / "talking")
    tokenizer.save_pretrained(tmp_path / "talking")
    return tmp_path / "talking"


@pytest.mark.parametrize("form", [None, "chat", "plain", "fim"])
def test_the_form_of_a_prompt_is_what_the_model_reads(talking: Path, form: Any) -> None:
    """Unnamed it is that of the chat template, where there is one."""
    model = infiller(talking, InfillRequest(prompt=form))
    for reference in REFERENCES[:2]:
        tokens, cut = plain_loop(talking, reference, "min", form or "chat")
        found = fill(model, [reference])[0][0]
        assert (found.text, found.cut) == (model.tokenizer.decode(tokens).strip(), cut)


@torch.inference_mode()
def brute_force(
    where: Path, choice: ReferenceOptions, combine: str, *, sync: bool = True
) -> tuple[list[float], list[list[float]]]:
    """Of each option what ranks it, and its scores: whole sentences, one at a time."""
    model, tokenizer = loaded(where)
    ranks, scores = [], []
    for option in choice.tokens:
        rests, logits = [], []
        for twin in around_blank(choice.reference, "and")[: 2 if sync else 1]:
            before = (
                tokenizer(twin.before)["input_ids"] if twin.before else [tokenizer.eos_token_id]
            )
            ids = torch.tensor([*before, *option, *tokenizer(twin.after)["input_ids"]])
            said = model(ids[None]).logits[0, len(before) - 1 : -1].double()
            follows = ids[len(before) :, None]
            rests.append(float(said.log_softmax(-1).gather(-1, follows).mean()))
            logits.append(said[: len(option)])
        fused = torch.minimum(*logits) if combine == "min" and sync else sum(logits) / len(logits)
        own = torch.tensor(option)[:, None]
        scores.append([float(x.log_softmax(-1).gather(-1, own).mean()) for x in (fused, *logits)])
        ranks.append(min(rests) if combine == "min" else sum(rests) / len(rests))
    return ranks, scores


def choices_of(where: Path) -> list[ReferenceOptions]:
    _, tokenizer = loaded(where)
    texts = ["the dog", "a very old dog", "a girl who saw the lamp", "harbors", "the old man"]
    options = tuple(
        Attested(tuple(text.split()), Donor(f"d{k}", k, k + 2), "CC0-1.0")
        for k, text in enumerate(texts)
    )
    ids = tuple(tuple(tokenizer(" " + text)["input_ids"]) for text in texts)
    return [
        ReferenceOptions(reference, options[k % 2 :], ids[k % 2 :])
        for k, reference in enumerate(REFERENCES)
    ]


@pytest.mark.parametrize("combine", ["min", "mean"])
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("room", [None, 8000])
def test_options_rank_as_by_a_plain_loop(
    causal: Path, combine: Any, sync: bool, room: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the sentence's rest in both orders; also where a pass has room for few options."""
    if room:
        monkeypatch.setattr("pipeline.infill.causal_ranker._PASS", {"cpu": room})
    request = InfillRequest(
        synchronizer=Synchronizer(combine), sync=sync, decoding=Decoding("n-best", 5)
    )
    choices = choices_of(causal)
    ranker = load_ranker("causal", str(causal), request)
    for choice, fills in zip(choices, fill(ranker, choices), strict=True):
        ranks, scores = brute_force(causal, choice, combine, sync=sync)
        order = sorted(range(len(ranks)), key=lambda k: -ranks[k])
        assert [each.attested for each in fills] == [choice.options[k] for k in order]
        for each, k in zip(fills, order, strict=True):
            assert scores_of([each]) == pytest.approx(scores[k], abs=2e-4)


def test_options_rank_by_their_own_tokens_where_that_is_asked(tiny_causal: Path) -> None:
    """Ranking mean is that of every family."""
    choices = choices_of(tiny_causal)
    request = InfillRequest(ranking=ranking_called("mean"))
    ranker = load_ranker("causal", str(tiny_causal), request)
    for choice, (best,) in zip(choices, fill(ranker, choices), strict=True):
        means = [each[0] for each in brute_force(tiny_causal, choice, "min")[1]]
        assert best.attested == choice.options[means.index(max(means))]


def test_ranking_rest_is_refused_of_a_model_that_does_not_read_on(tiny_bert: Path) -> None:
    """A masked LM looks at its masks alone."""
    request = InfillRequest(ranking=ranking_called("rest"))
    with pytest.raises(SettingsError, match="--lm causal"):
        load_ranker("bert", str(tiny_bert), request)


def test_several_fills_are_the_best_of_a_search(tiny_causal: Path) -> None:
    """Best first, and the first no worse than what greedy decoding writes."""
    greedy = fill(infiller(tiny_causal, InfillRequest()), REFERENCES)
    several = fill(infiller(tiny_causal, InfillRequest(decoding=Decoding("n-best", 3))), REFERENCES)
    for (one,), three in zip(greedy, several, strict=True):
        assert len(three) == 3
        scores = scores_of(three)[::3]
        assert scores == sorted(scores, reverse=True)
        assert one.cut or scores[0] >= one.score - 1e-5


def test_samples_do_not_depend_on_the_batch(tiny_causal: Path) -> None:
    """A draw is a function of seed and reference."""
    model = infiller(tiny_causal, InfillRequest(decoding=Decoding("sample", 4, seed=5)))
    together = fill(model, REFERENCES)
    alone = [fill(model, [each])[0] for each in REFERENCES]
    assert [[f.text for f in fills] for fills in together] == [
        [f.text for f in fills] for fills in alone
    ]
    assert len({each.text for each in together[0]}) > 1


def test_further_conjuncts_stand_in_the_question() -> None:
    """S′(1) and S′(2) of a structure with a conjunct placed already."""
    placed = PlacedConjunct(("a", "lamp"), None, None, None, None)
    reference = Reference(
        "s", ("we", "saw", "a", "dog", "today"), Span(2, 4), "NP", "CC0-1.0",
        structure=Structure("or", conjuncts=3), placed=(placed,),
    )  # fmt: skip
    first, second = around_blank(reference, "and")
    assert first.text == f"we saw a dog, a lamp or {BLANK} today"
    assert (second.before, second.after) == ("we saw", ", a dog or a lamp today")


def test_a_form_that_the_model_has_no_tokens_for_is_refused(
    tiny_causal: Path, tiny_bert: Path
) -> None:
    """Each in one line."""
    for form, said in (
        ("chat", "has no chat template"),
        ("fim", "no tokens of fill-in-the-middle"),
    ):
        with pytest.raises(ModelError, match=said):
            infiller(tiny_causal, InfillRequest(prompt=form))
    with pytest.raises(SettingsError, match="--prompt is for causal LMs"):
        load_infiller("bert", str(tiny_bert), InfillRequest(prompt="plain"))


@pytest.mark.parametrize("named", ["x", 10**9, -1, [0, "x"]])
def test_an_end_that_is_no_token_is_refused(tiny_causal: Path, named: Any) -> None:
    """A checkpoint's settings may say anything."""
    model, tokenizer = loaded(tiny_causal)
    model.generation_config.eos_token_id = named
    with pytest.raises(ModelError, match="which is no token of its"):
        ending_tokens(model, tokenizer)


def test_a_full_stop_with_the_end_of_a_line_ends_an_answer(tiny_causal: Path) -> None:
    """Llama 3 and Qwen have one token for both; the letter that byte-level BPE writes so ends nothing."""
    model, tokenizer = loaded(tiny_causal)
    before = ending_tokens(model, tokenizer)
    tokenizer.add_tokens([".\n"])
    model.resize_token_embeddings(len(tokenizer) + 1)
    assert ending_tokens(model, tokenizer) == (*before, tokenizer.convert_tokens_to_ids(".\n"))
    tokenizer.add_tokens(["\u010a"])
    assert tokenizer.convert_tokens_to_ids("\u010a") not in ending_tokens(model, tokenizer)[-1:]


def test_special_tokens_without_an_embedding(tiny_causal: Path, tmp_path: Path) -> None:
    """Such as end an answer never do; prompts that would hold one are refused in one line."""
    model, tokenizer = loaded(tiny_causal)
    before = ending_tokens(model, tokenizer)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_end|>", *MIDDLE]})
    assert ending_tokens(model, tokenizer) == before
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    fill(infiller(tmp_path, InfillRequest(prompt="plain")), REFERENCES[:1])
    fim = infiller(tmp_path, InfillRequest(prompt="fim"))
    said = r"hold the token '<.*embeddings.*another --prompt"
    with pytest.raises(ModelError, match=said) as raised:
        fill(fim, REFERENCES[:1])
    assert "\n" not in str(raised.value)
    tokenizer.chat_template = "<|im_end|>{{ messages[0]['content'] }}"
    tokenizer.save_pretrained(tmp_path)
    load_ranker("causal", str(tmp_path), InfillRequest())  # reads no prompt


def test_a_text_that_nothing_can_begin(tiny_causal: Path) -> None:
    """Without a token of a beginning, of an end or of a line; one without an embedding does not."""
    model, tokenizer = loaded(tiny_causal)
    tokenizer.eos_token = None
    tokenizer.add_special_tokens({"bos_token": "<beginning>"})
    model.generation_config.eos_token_id = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.infill.causal.ending_tokens", lambda *_: ())
        with pytest.raises(ModelError, match="no token that a text could begin with"):
            CausalInfiller(model, tokenizer, InfillRequest())


def test_a_model_that_does_not_ignore_padding_is_refused(
    tiny_causal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it writes would depend on the longest prompt of a batch."""
    forward = LlamaForCausalLM.forward

    def blind(self: Any, *args: Any, attention_mask: Any = None, **options: Any) -> Any:
        return forward(self, *args, **options)

    monkeypatch.setattr(LlamaForCausalLM, "forward", blind)
    with pytest.raises(ModelError, match="goes on from a cache otherwise than alone"):
        infiller(tiny_causal, InfillRequest())


@pytest.mark.parametrize(
    ("kind", "window", "room"),
    [
        ("gpt2", None, sys.maxsize),
        ("mistral", 512, 512),
        ("mistral", WINDOW, 0),
        ("qwen3.5", None, 0),
        ("mpt", None, 0),
    ],
)
def test_what_prompts_begin_with_is_read_once_where_padding_may_stand_behind_it(
    kind: str, window: int | None, room: int, tiny_causal: Path, tmp_path: Path
) -> None:
    """Not where places of the cache count instead of positions, or padding is summed up with the text."""
    where = made(kind, tiny_causal, tmp_path, window)
    model = infiller(where, InfillRequest())
    assert model._shared_within == room
    (twins,) = model.encode(REFERENCES[:1])
    longest = twins.tokens + twins.limits.longest
    read = [
        len(CausalLockstep(model.model, [twins], (), some)._shared)
        for some in (longest, longest - 1)
    ]
    assert read[0] > 0 == read[1]


@pytest.mark.parametrize(
    ("named", "window"),
    [
        ({}, None),
        ({"window_size": 7, "sliding_window": 9}, 7),
        ({"attention_chunk_size": 8}, 8),
        ({"sliding_window": 0}, None),
        ({"sliding_window": 9, "use_sliding_window": False}, None),
        ({"sliding_window": 9, "use_sliding_window": True}, 9),
    ],
)
def test_an_attention_window_is_what_a_configuration_uses(
    named: dict[str, Any], window: int | None, tiny_causal: Path
) -> None:
    """Qwen 1.5's mixture of experts names one of 0 tokens."""
    model, _ = loaded(tiny_causal)
    for name, value in named.items():
        setattr(model.config, name, value)
    assert attention_window(model) == window


def test_sources_that_cannot_be_asked_about_are_refused(tiny_causal: Path) -> None:
    """Longer than the context with the prompt; or with the model's own tokens."""
    long = Reference("s", ("the", "dog") * 400, Span(0, 2), "NP", "CC0-1.0")
    marked = Reference("s", ("the", "<|endoftext|>", "dog"), Span(2, 3), "NP", "CC0-1.0")
    found = fill(infiller(tiny_causal, InfillRequest()), [long, marked])
    assert [fills[0].reason for fills in found] == [TOO_LONG, SOURCE_HAS_SPECIAL]
    model = infiller(tiny_causal, InfillRequest())
    (twins,) = model.encode(REFERENCES[:1])
    model.limit = twins.tokens + twins.limits.longest  # there is room for the longest fill
    assert model.encode(REFERENCES[:1]) == [twins]
    model.limit -= 1
    assert model.encode(REFERENCES[:1]) == [TOO_LONG]


def test_a_model_that_reads_options_otherwise_than_alone_does_not_rank(
    tiny_causal: Path, tmp_path: Path
) -> None:
    """Jamba's layers without attention forget, of several tokens at once, what was read before."""
    model = infiller(made("jamba", tiny_causal, tmp_path), InfillRequest())
    tokens, _ = plain_loop(tmp_path, REFERENCES[0], "min")
    assert fill(model, REFERENCES[:1])[0][0].text == model.tokenizer.decode(tokens).strip()
    with pytest.raises(ModelError, match="with several tokens otherwise than alone"):
        load_ranker("causal", str(tmp_path), InfillRequest())
