"""The miniature world: English-like sentences from a feature grammar, argument pairs and predicates."""

from pipeline.world.causes import generate_pairs
from pipeline.world.grammar import generate_sentences
from pipeline.world.shared_subjects import generate_clauses

__all__ = ["generate_clauses", "generate_pairs", "generate_sentences"]
