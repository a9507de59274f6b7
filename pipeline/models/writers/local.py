"""A causal LM that runs here, through the library's ``generate``."""

from collections.abc import Generator, Sequence

import torch
from torch import LongTensor, Tensor
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from pipeline.models.loading import length_limit
from pipeline.models.sampling import draw, uniform
from pipeline.models.tokenizers import token_batch
from pipeline.models.writers.protocol import (
    TOO_LONG,
    Answering,
    Begun,
    Prompt,
    Sampling,
    WrittenAnswer,
)
from pipeline.models.writers.rendering import chats, rendered


class LocalWriter(Answering):
    """Completes prompts in batches, those of about one length together.

    A sample depends on its prompt and seed; on the batch only as far as sums round otherwise.

    Args:
        model: any causal LM of the library; its own settings of ``generate`` are put aside.
        tokenizer: the model's; its chat template is used if it has one.
        name: what identifies the model.
        sampling: how it chooses tokens.
        batch: prompts of a batch; unset: 16, on a GPU 128.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        name: str,
        sampling: Sampling,
        *,
        batch: int | None = None,
    ) -> None:
        self._model, self._tokenizer = model, tokenizer
        self._batch = batch or (128 if model.device.type == "cuda" else 16)
        self._name, self._sampling = name, sampling
        self._begun: Begun = "templated" if chats(tokenizer) else "plain"
        self._limit = length_limit(model.config, tokenizer)
        ends = getattr(model.generation_config, "eos_token_id", None)
        ends = tokenizer.eos_token_id if ends is None else ends
        self._ends = ends if isinstance(ends, list) else [] if ends is None else [ends]
        # Of the checkpoint's own settings only the end counts: others would change what is drawn.
        model.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
            do_sample=False, eos_token_id=self._ends or None, pad_token_id=(self._ends or [0])[0]
        )

    @property
    def model(self) -> str:
        """See ``Answering``."""
        return self._name

    @property
    def sampling(self) -> Sampling:
        """See ``Answering``."""
        return self._sampling

    def answers(self, prompts: Sequence[Prompt]) -> Generator[tuple[int, WrittenAnswer]]:
        """See ``Answering``; nothing comes of a prompt that is too long."""
        chat = self._begun == "templated"
        # A template brings the tokens with which a text begins; without one the tokenizer does.
        ids = [
            self._tokenizer(rendered(self._tokenizer, each, chat=chat), add_special_tokens=not chat)
            for each in prompts
        ]
        lengths = [len(each["input_ids"]) for each in ids]
        fitting = []
        for place, prompt in enumerate(prompts):
            if lengths[place] + prompt.tokens > self._limit:
                yield place, WrittenAnswer(None, self._begun, TOO_LONG)
            else:
                fitting.append(place)
        fitting.sort(key=lambda place: (prompts[place].tokens, lengths[place], place))
        for start in range(0, len(fitting), self._batch):
            places = fitting[start : start + self._batch]
            texts = self._written(
                [prompts[place] for place in places], [ids[place]["input_ids"] for place in places]
            )
            for place, (text, cut) in zip(places, texts, strict=True):
                yield place, WrittenAnswer(text, self._begun, cut=cut)

    @torch.inference_mode()
    def _written(
        self, prompts: Sequence[Prompt], ids: Sequence[Sequence[int]]
    ) -> list[tuple[str, bool]]:
        """Each answer, and whether it was cut."""
        # On the left, so that all go on at one place; what stands there nobody sees.
        inputs, mask = token_batch(ids, 0, self._model.device, left=True)
        width = inputs.shape[1]
        chosen = [_Seeded(prompts, self._sampling, width)] if self._sampling.temperature else []
        written = self._model.generate(  # type: ignore[operator]
            inputs, attention_mask=mask, logits_processor=chosen,
            max_new_tokens=max(prompt.tokens for prompt in prompts),
        )  # fmt: skip
        found = []
        for prompt, row in zip(prompts, written[:, width:].tolist(), strict=True):
            tokens = row[: prompt.tokens]  # those of a batch are written to the most of any
            own = _until(tokens, self._ends)
            text = str(self._tokenizer.decode(own, skip_special_tokens=True))
            found.append((text, len(own) == prompt.tokens))
        return found


class _Seeded(LogitsProcessor):
    """Leaves of each row's next tokens the one that is drawn for its prompt and seed."""

    def __init__(self, prompts: Sequence[Prompt], sampling: Sampling, width: int) -> None:
        self._prompts, self._sampling, self._width = prompts, sampling, width

    def __call__(self, input_ids: LongTensor, scores: Tensor) -> Tensor:
        position = input_ids.shape[1] - self._width
        numbers = [
            [uniform(each.seed, f"{each.user}\0{each.begins}", 0, position)]
            for each in self._prompts
        ]
        uniforms = torch.tensor(numbers, dtype=torch.float64, device=scores.device)
        taken = draw(scores.float(), uniforms, self._sampling.temperature, self._sampling.top_p)
        return torch.full_like(scores, -torch.inf).scatter(-1, taken, 0.0)


def _until(tokens: Sequence[int], ends: Sequence[int]) -> list[int]:
    """The tokens before the first that ends the answer."""
    end = next((place for place, token in enumerate(tokens) if token in ends), len(tokens))
    return list(tokens[:end])
