"""The formats of ``conjoin export``, each in a module of its own."""

from pipeline.sharing.export.bioes import BIOES
from pipeline.sharing.export.brat import BRAT
from pipeline.sharing.export.conllu import CONLLU
from pipeline.sharing.export.jsonl import JSONL
from pipeline.sharing.export.protocol import Format
from pipeline.sharing.export.ptb import PTB
from pipeline.sharing.export.ptb_ext import PTB_EXT
from pipeline.sharing.export.spacy_docs import SPACY

FORMATS: dict[str, Format] = {
    "ptb": PTB,
    "ptb-ext": PTB_EXT,
    "conllu": CONLLU,
    "bioes": BIOES,
    "spacy": SPACY,
    "brat": BRAT,
    "jsonl": JSONL,
}
"""The choices of ``--format`` (``settings.py beside it`` lists them again: it must be light to import)."""
