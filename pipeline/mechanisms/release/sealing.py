"""Text that only whoever has the source can read: encrypted under the words of its source sentence.

A language model may write the source's own words into a gap. A stand-off release must not hand them
on, and yet be rebuilt exactly. So they are encrypted with a key that is the source sentence itself:
a licence holder has it, nobody else does.

    key    = SHAKE-256("conjoin stand-off 1" ␟ candidate_id ␟ word ␟ word …), 32 bytes; ␟ is U+001F
    tag    = SHAKE-256("tag" + key + text), 16 bytes
    sealed = tag + (text XOR SHAKE-256("text" + key + tag))

The tag makes two texts of one row's id use different streams, and tells a wrong source from the right
one. It depends on the key, so it does not help to guess a short text.
"""

from collections.abc import Sequence
from hashlib import shake_256

__all__ = ["seal", "unseal"]

_WHAT = "conjoin stand-off 1"
_TAG = 16  # bytes


def seal(text: bytes, candidate_id: str, source: Sequence[str]) -> bytes:
    """Encrypt a text under the words of its source sentence."""
    key = _key(candidate_id, source)
    tag = _tag(key, text)
    return tag + _xor(text, key, tag)


def unseal(sealed: bytes, candidate_id: str, source: Sequence[str]) -> bytes | None:
    """The text that was sealed; None if these are not the words it was sealed under."""
    key = _key(candidate_id, source)
    tag, rest = sealed[:_TAG], sealed[_TAG:]
    text = _xor(rest, key, tag)
    return text if _tag(key, text) == tag else None


def _key(candidate_id: str, source: Sequence[str]) -> bytes:
    return shake_256("\x1f".join((_WHAT, candidate_id, *source)).encode()).digest(32)


def _tag(key: bytes, text: bytes) -> bytes:
    return shake_256(b"tag" + key + text).digest(_TAG)


def _xor(text: bytes, key: bytes, tag: bytes) -> bytes:
    stream = shake_256(b"text" + key + tag).digest(len(text))
    return bytes(a ^ b for a, b in zip(text, stream, strict=True))
