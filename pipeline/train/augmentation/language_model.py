"""The language model of an augmentation: the encoder's own checkpoint, unless another is named."""

from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.core.errors import ModelError


@contextmanager
def needed_by(kind: str, what: str) -> Iterator[None]:
    """Where a model cannot be used in this block, say what for, and how to name another.

    Args:
        kind: of augmentation, as ``--augment`` names it.
        what: it needs.

    Raises:
        ModelError: the model cannot be used.
    """
    try:
        yield
    except ModelError as error:
        raise ModelError(
            f"--augment {kind} needs {what}: {error.what}", remedy="name one by --augment-lm"
        ) from error
