"""Questions with choices, as a task, and how they are made of the event pairs in a text (thesis, chapters 2 and 3)."""
