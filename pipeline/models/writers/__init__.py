"""Writers: what completes prompts, one module each, behind one protocol."""
