"""``conjoin play``: the card game Kotoba-musubi, made of event pairs (thesis, chapter 5)."""
