"""The stage `pretrain`: raw text → language models."""
