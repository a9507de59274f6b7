"""Loading Hugging Face models and tokenizers."""
