"""The miniature world: English-like sentences from a feature grammar, with trees and coordination."""

from pipeline.world.grammar import generate_sentences

__all__ = ["generate_sentences"]
