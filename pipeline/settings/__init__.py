"""One frozen pydantic model per command: its fields are the CLI options and params.yaml keys."""
