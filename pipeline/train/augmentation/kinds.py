"""The kinds of augmentation.

A new kind is a module beside ``copies``, a line in ``KINDS`` and its name among the choices of ``augment`` in
``settings.py``.
"""

from collections.abc import Mapping

from pipeline.train.augmentation.copies import Copies
from pipeline.train.augmentation.fills import Fills
from pipeline.train.augmentation.masks import Masks
from pipeline.train.augmentation.substitutions import Substitutions

KINDS: Mapping[str, type[Copies] | type[Masks] | type[Fills] | type[Substitutions]] = {
    "copy": Copies, "mask": Masks, "fill": Fills, "substitute": Substitutions,
}  # fmt: skip

SETTINGS = frozenset({"augment"}).union(*(kind.takes for kind in KINDS.values()))
"""The settings of ``train`` that have to do with augmentation."""
