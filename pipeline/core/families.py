"""Families of language models: how one is named, and what settings and tables know of it.

What reads, checks and runs a family's models is its class in ``infill/families``. That needs torch, which
no settings may import, and stands above the rooms that ``report`` and ``release`` are made of; so what
these ask of a family stands here.
"""

import re
from dataclasses import dataclass
from typing import Annotated, TypeGuard

from pydantic import AfterValidator

from pipeline.core.names import nearest


@dataclass(frozen=True, slots=True)
class Pretraining:
    """How ``pretrain`` trains a family's models on raw text.

    ``hides`` is what they learn from, in words; ``settings`` are those of ``pretrain`` that bear on no
    other family's weights.
    """

    hides: str
    settings: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FamilyFacts:
    """What is known of a family without its code.

    ``title`` is its name in tables and prose; ``paper`` the paper's model of it, the end of its name on
    the hub and its name in prose, None where the paper has none; ``pretraining`` is None where ``pretrain``
    cannot train its models, but name a ready one.
    """

    title: str
    paper: tuple[str, str] | None = None
    pretraining: Pretraining | None = None


FAMILY_FACTS: dict[str, FamilyFacts] = {
    "bert": FamilyFacts(
        "BERT",
        paper=("bert-large-cased", "BERT-large-cased"),
        pretraining=Pretraining(
            "masked words", frozenset({"mask_rate", "mask_span", "body_learning_rate"})
        ),
    ),
    "t5": FamilyFacts(
        "T5",
        paper=("t5-large", "T5-large"),
        pretraining=Pretraining("corrupted spans", frozenset({"density", "mean_span"})),
    ),
    "causal": FamilyFacts("causal LM"),
}
"""Each family by its name, in the order of tables. A name has neither a hyphen nor a capital."""


def family_of(name: str) -> str:
    """The family that a model's name begins with: ``t5`` of ``t5-twins``."""
    return name.partition("-")[0]


def is_model_name(name: object) -> TypeGuard[str]:
    """Whether a language model may be called so: a family, or one with a hyphen and a suffix."""
    if not isinstance(name, str) or family_of(name) not in FAMILY_FACTS:
        return False
    return re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) is not None


def family_names() -> str:
    """The families in a message: ``bert or t5``."""
    *others, last = FAMILY_FACTS
    return f"{', '.join(others)} or {last}"


def papers_families() -> tuple[str, ...]:
    """The families that the paper has a model of."""
    return tuple(name for name, facts in FAMILY_FACTS.items() if facts.paper)


MODEL_NAMES = f"{', '.join(FAMILY_FACTS)}, or one called like t5-twins"
"""What a language model may be called, for the help of ``--lm``."""


def naming() -> str:
    """What a language model may be called, for a message that refuses a name."""
    return f"a language model is called {family_names()}, or like t5-twins"


def _model_name(name: str) -> str:
    if not is_model_name(name):
        family = nearest(name, FAMILY_FACTS)
        raise ValueError(naming() + (family and f"; {family}"))
    return name


ModelName = Annotated[str, AfterValidator(_model_name)]
"""``bert``, ``t5``, or ``t5-twins``: the folder below ``models/`` and the section of params.yaml."""
