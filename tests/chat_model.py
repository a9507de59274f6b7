"""The tiny causal LM of the tests as instruction-tuned ones are: with a chat template."""

import shutil
from pathlib import Path

from transformers import AutoTokenizer

TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def chat_model(base: Path, folder: Path, *, chat: bool = True, length: int = 512) -> Path:
    """Copy the model into a folder that is there, with a template or without.

    Args:
        base: the model.
        folder: where the copy goes.
        chat: whether it has a template.
        length: most tokens that it takes.
    """
    shutil.copytree(base, folder, dirs_exist_ok=True)
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.model_max_length = length
    tokenizer.chat_template = TEMPLATE if chat else None
    tokenizer.save_pretrained(folder)
    return folder
