"""What people had annotated for a language model: nothing, but of one that learned from a parser's trees."""

from pathlib import Path

from pipeline.core.annotation import Annotation, place_name, recorded
from pipeline.core.cards.models import PretrainCard
from pipeline.core.documents import read_json

CARD = "pretrain.json"
"""File in a model's folder in which ``pretrain`` says how it was made."""


def annotation_of_model(where: str) -> Annotation:
    """The record of a language model, which is empty where it learned from raw text alone.

    That of one from elsewhere is taken to be so: nobody annotates coordination for it.

    Args:
        where: of ``loading.locate``.

    Raises:
        InputError: what ``pretrain`` wrote about it is damaged.
    """
    path = Path(where) / CARD
    if not path.is_file():
        return ()
    card: PretrainCard = read_json(path, PretrainCard)
    if "annotation" not in card and card.get("objective") != "twins":
        return ()
    return recorded(card, place_name(path.parent))
