"""What spaCy imports to know the component ``conjoin``: its name, its settings, what it sets.

spaCy imports this whenever a pipeline is made where conjoin is installed (``spacy_factories`` in
pyproject.toml), whether or not it has the component; so nothing heavy is imported before one is made.
"""

from typing import Any

from spacy.language import Language

from pipeline.trying.predict.settings import ComponentSettings

_USUAL = {name: field.get_default() for name, field in ComponentSettings.model_fields.items()}
_USUAL["coordinators"] = (
    None  # those that the predictor knows; of a list spaCy takes [] for a choice
)


# The settings are checked by ``ComponentSettings``, in one line; spaCy takes any value of what is Any.
@Language.factory(
    "conjoin",
    default_config=_USUAL,
    assigns=[
        "doc.spans",
        "token._.conjuncts",
        "token._.coordination_probability",
        "token._.conjuncts_missing",
    ],
)
def make_component(
    nlp: Language,
    name: str,
    *,
    predictor: Any,
    parser: Any,
    tau: Any,
    coordinators: Any,
    batch_tokens: Any,
    device: Any,
) -> Any:
    """Make the component of a pipeline; ``CoordinationFinder`` says what it does and what is raised."""
    from pipeline.trying.predict.spacy_component import component_of  # noqa: PLC0415 - torch

    given = {
        "predictor": predictor, "parser": parser, "tau": tau, "coordinators": coordinators,
        "batch_tokens": batch_tokens, "device": device,
    }  # fmt: skip
    return component_of(nlp, name, given)
