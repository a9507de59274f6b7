"""The forms of the JSON documents that stages write, one for each: its writer and all its readers use it.

A key that is not required is one that an earlier version did not write, or that only some documents have;
other keys may stand beside those named.
"""
