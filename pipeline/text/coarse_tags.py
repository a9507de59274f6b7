"""Coarse classes of parts of speech, and sets of them by name: S of linguistically controlled masking.

The paper (Konno et al., 2020) has nouns, verbs, particles and symbols of Japanese; English has prepositions
where Japanese has particles.
"""

COARSE: dict[str, tuple[str, ...]] = {
    "NOUN": ("NN", "NNS", "NNP", "NNPS"),
    "PRON": ("PRP", "PRP$", "WP", "WP$", "EX"),
    "VERB": ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "MD"),
    "ADP": ("IN", "TO", "RP", "POS"),  # adpositions and particles
    "SYM": (
        ",", ".", ":", "``", "''", '"', "-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-", "(", ")",
        "HYPH", "NFP", "SYM", "$", "#",
    ),
    "ADJ": ("JJ", "JJR", "JJS", "AFX"),
    "ADV": ("RB", "RBR", "RBS", "WRB"),
    "DET": ("DT", "PDT", "WDT"),
    "NUM": ("CD",),
    "CONJ": ("CC",),
    "X": ("FW", "LS", "UH", "ADD", "GW", "XX"),
}  # fmt: skip
"""Penn tags of each class; ``X`` has every other tag, too."""

JUMAN: dict[str, tuple[str, ...]] = {
    "NOUN": ("名詞",),
    "VERB": ("動詞",),
    "ADP": ("助詞",),
    "SYM": ("特殊",),
    "ADJ": ("形容詞",),
    "ADV": ("副詞",),
    "X": (
        "助動詞", "判定詞", "接続詞", "連体詞", "指示詞", "感動詞", "接頭辞", "接尾辞", "未定義語",
    ),
}  # fmt: skip
"""Word classes of JUMAN, likewise."""

_CLASS_OF = {tag: name for table in (COARSE, JUMAN) for name, tags in table.items() for tag in tags}

ALL = "all"


def is_known(tag: str) -> bool:
    """Whether a tag is one that the classes list, so that its class is known and not just ``X``."""
    return tag in _CLASS_OF


def coarse(tag: str) -> str:
    """The class of a tag of the Penn Treebank, or of JUMAN."""
    return _CLASS_OF.get(tag, "X")


def classes_of(wanted: str) -> frozenset[str] | None:
    """The classes that a text names: ``all``, ``all-VERB-SYM`` (all but these), ``NOUN``, ``NOUN+ADJ``.

    Returns:
        The classes; None: all, so that no tag need be known.

    Raises:
        ValueError: it names no class, or one that there is not.
    """
    head, *less = wanted.split("-")
    if head != ALL:
        head, less = "", []
    names = less if head else wanted.split("+")
    unknown = [name for name in names if name not in COARSE]
    if unknown:
        raise ValueError(
            f"say all, all-VERB, NOUN or NOUN+ADJ, with classes of {', '.join(COARSE)}"
        )
    if not head:
        return frozenset(names)
    return frozenset(COARSE) - set(less) if less else None
