"""The formats of ``conjoin export``, each in a module of its own."""

from pipeline.tools.export.bioes import BIOES
from pipeline.tools.export.brat import BRAT
from pipeline.tools.export.conllu import CONLLU
from pipeline.tools.export.jsonl import JSONL
from pipeline.tools.export.protocol import Format
from pipeline.tools.export.ptb import PTB
from pipeline.tools.export.ptb_ext import PTB_EXT
from pipeline.tools.export.spacy_docs import SPACY

FORMATS: dict[str, Format] = {
    "ptb": PTB,
    "ptb-ext": PTB_EXT,
    "conllu": CONLLU,
    "bioes": BIOES,
    "spacy": SPACY,
    "brat": BRAT,
    "jsonl": JSONL,
}
"""The choices of ``--format`` (``tools/settings.py`` lists them again: it must be light to import)."""
