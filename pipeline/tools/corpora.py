"""``conjoin corpora``: where each corpus comes from, and under which licence."""

from dataclasses import dataclass

from pipeline.core.console import say
from pipeline.corpus.licences import UNKNOWN, terms
from pipeline.tools.settings import Corpora


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus conjoin can read.

    Attributes:
        reader, place: the arguments of ``conjoin ingest``.
        name: what it is, and whose.
        source: where it comes from.
        licence: SPDX expression that its rows have; whether their text may be redistributed follows
            from it, here and in ``conjoin release``.
        remark: what the expression does not say.
    """

    reader: str
    name: str
    source: str
    place: str
    licence: str
    remark: str


CORPORA = (
    Corpus(
        reader="world",
        name="the embedded miniature world, English-like sentences from a grammar",
        source="comes with conjoin (data/raw/world/lexicon.yaml); generated here",
        place="data/raw/world",
        licence="Apache-2.0",
        remark="conjoin's own",
    ),
    Corpus(
        reader="genia",
        name="GENIA Treebank v1, 1,999 PubMed abstracts (Tateisi et al., 2005)",
        source="http://www.geniaproject.org/genia-corpus/treebank, GENIA_treebank_v1.tar.gz; "
        "split by D. McClosky, shipped as lists of PubMed ids",
        place="data/raw/genia (the .tar.gz or what is in it; in its folder text/ any English, .txt, "
        ".txt.gz or .txt.xz, that language models may learn from)",
        licence="CC-BY-3.0 AND LicenseRef-PubMed",
        remark="annotation CC BY 3.0, (c) GENIA Project, redistributable with attribution; "
        "text of the abstracts: PubMed terms",
    ),
    Corpus(
        reader="ptb",
        name="Penn Treebank 3, Wall Street Journal (Marcus et al., 1993); "
        "coordination found by a heuristic",
        source="https://catalog.ldc.upenn.edu/LDC99T42, folder parsed/mrg/wsj",
        place="data/raw/ptb (the folders 00 to 24 of .mrg files)",
        licence="LDC-User-Agreement",
        remark="the LDC User Agreement of LDC99T42",
    ),
    Corpus(
        reader="ptb-ext",
        name="PTB.ext, the Penn Treebank with coordination annotated (Ficler & Goldberg, 2016); "
        "the paper's PTB",
        source="made by https://github.com/Jess1ca/CoordinationExtPTB from the trees of LDC99T42 "
        "with the noun phrase bracketing of Vadas & Curran (2007)",
        place="data/raw/ptb-ext/PTB.ext",
        licence="LDC-User-Agreement",
        remark="the LDC User Agreement of LDC99T42",
    ),
    Corpus(
        reader="text",
        name="your own text: one sentence per line, or running (--segment punkt, stanza)",
        source="yours",
        place="data/raw/text (.txt, .txt.gz, .txt.xz)",
        licence=UNKNOWN,
        remark="name it with --license; redistribution is as that licence says",
    ),
)


def run(settings: Corpora) -> None:
    """Print what there is to know of each corpus before reading it."""
    del settings
    for corpus in CORPORA:
        out = f"data/{corpus.reader}"
        say(f"{corpus.reader}: {corpus.name}")
        say(f"  from            {corpus.source}")
        say(f"  put it in       {corpus.place}")
        say(f"  licence         {corpus.licence} ({corpus.remark})")
        say(f"  redistribution  {_redistribution(corpus.licence)}")
        say(
            f"  read it         conjoin ingest {corpus.reader} {corpus.place.split()[0]} --out {out}"
        )
        say("")


def _redistribution(licence: str) -> str:
    """Whether candidates may be handed on with the source's text, and how else."""
    found = terms(licence)
    if found.redistributable:
        return f"yes: {found.why}"
    verdict = "no" if found.known else "not as long as it is unknown"
    return f"{verdict}: {found.why}; without the text: `conjoin release --stand-off`"
