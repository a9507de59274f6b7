"""The miniature world: English-like sentences from a feature grammar, and argument pairs of its events."""

from pipeline.world.causes import generate_pairs
from pipeline.world.grammar import generate_sentences

__all__ = ["generate_pairs", "generate_sentences"]
