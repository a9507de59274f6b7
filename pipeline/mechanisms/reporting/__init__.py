"""What the report is made of: tables, figures, examples, provenance; pure functions of run files."""
