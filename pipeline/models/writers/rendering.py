"""A prompt as the text that a causal LM reads: in its chat template, or plainly."""

from transformers import PreTrainedTokenizerBase

from pipeline.models.writers.protocol import Prompt


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
    """
    if not chat:
        return plain(prompt)
    asked = [{"role": "user", "content": prompt.user}]
    # The library would cut blanks at the end of a begun answer, and looks it up in what the template made.
    before = tokenizer.apply_chat_template(asked, add_generation_prompt=True, tokenize=False)
    return f"{before}{prompt.begins}"
