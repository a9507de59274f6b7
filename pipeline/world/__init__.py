"""The miniature world: sentences from a feature grammar, argument pairs, predicates and questions."""

from pipeline.world.causes import generate_pairs
from pipeline.world.contingency import generate_questions, generate_text
from pipeline.world.grammar import generate_sentences
from pipeline.world.shared_subjects import generate_clauses

__all__ = [
    "generate_clauses", "generate_pairs", "generate_questions", "generate_sentences", "generate_text",
]  # fmt: skip
