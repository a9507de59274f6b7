"""The texts of what models and writers answer, in the order of the prompts."""

from collections.abc import Sequence

from pipeline.models.writers.protocol import Answering, Prompt, Writer


def said(model: Answering, prompts: Sequence[Prompt]) -> list[str | None]:
    """By a model, whose answers come in any order."""
    found = dict(model.answers(prompts))
    return [found[place].text for place in range(len(prompts))]


def written(writer: Writer, prompts: Sequence[Prompt]) -> list[str | None]:
    """By a writer."""
    return [answer.text for answer in writer.complete(prompts)]
