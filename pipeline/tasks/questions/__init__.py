"""Questions with choices as a task, and how event pairs of a text become such (thesis, chapters 2 and 3)."""
