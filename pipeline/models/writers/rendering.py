"""A prompt as the text that a causal LM reads: in its chat template, or plainly."""

from transformers import PreTrainedTokenizerBase

from pipeline.core.errors import ModelError
from pipeline.models.writers.protocol import Prompt

_MOST = 2**20  # characters that a template may add
_REMEDY = "mend it in chat_template.jinja or tokenizer_config.json, or fetch the model again"


def chats(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether a tokenizer has a chat template, as those of instruction-tuned models do."""
    return tokenizer.chat_template is not None


def plain(prompt: Prompt) -> str:
    """A prompt as a text for models without a template: the answer follows on the next line."""
    return f"{prompt.user}\n{prompt.begins}"


def rendered(tokenizer: PreTrainedTokenizerBase, prompt: Prompt, *, chat: bool) -> str:
    """The text that a model continues with its answer.

    Args:
        tokenizer: the model's.
        prompt: what is asked, and how the answer begins.
        chat: whether the template puts it into a conversation; else it is ``plain``.

    Raises:
        ModelError: the template is none, leaves out what is asked, or grows without measure.
    """
    if not chat:
        return plain(prompt)
    asked = [{"role": "user", "content": prompt.user}]
    # The library would cut blanks at the end of a begun answer, and looks it up in what the template made.
    where = tokenizer.name_or_path
    try:
        before = tokenizer.apply_chat_template(asked, add_generation_prompt=True, tokenize=False)
    except Exception as error:  # a template is a program of any make
        said = (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
        raise ModelError(f"its chat template fails: {said}", path=where, remedy=_REMEDY) from error
    if not isinstance(before, str) or prompt.user.strip() not in before:
        raise ModelError("its chat template leaves out what is asked", path=where, remedy=_REMEDY)
    if len(before) > len(prompt.user) + _MOST:
        raise ModelError(
            f"its chat template adds {len(before) - len(prompt.user):,} characters",
            path=where, remedy=_REMEDY,
        )  # fmt: skip
    return f"{before}{prompt.begins}"
