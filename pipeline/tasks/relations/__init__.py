"""Discourse relations: which sense an argument pair without a connective has."""
