"""One module per DVC stage, each with ``run(settings)``: reads files, calls mechanisms, writes files."""
