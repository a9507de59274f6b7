"""The stage ``pair``: sentences with a causal or conditional connective → pairs of events."""
