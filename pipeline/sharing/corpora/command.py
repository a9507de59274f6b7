"""``conjoin corpora``: where each corpus comes from, and under which licence."""

from pipeline.core.console import say
from pipeline.core.corpora import CORPORA
from pipeline.corpus.licences import terms
from pipeline.sharing.corpora.settings import CorporaSettings


def run(settings: CorporaSettings) -> None:
    """Print what there is to know of each corpus before reading it."""
    del settings
    for corpus in CORPORA.values():
        say(f"{corpus.reader}: {corpus.name}")
        say(f"  from            {corpus.source}")
        say(f"  put it in       {corpus.place}")
        say(f"  licence         {corpus.licence} ({corpus.remark})")
        say(f"  redistribution  {_redistribution(corpus.licence)}")
        place = corpus.place.split()[0].rstrip(",")
        out = f"data/{'NAME' if 'NAME' in place else corpus.reader}"
        options = f"{corpus.options} --out {out}".strip()
        say(f"  read it         conjoin ingest {corpus.reader} {place} {options}")
        say("")


def _redistribution(licence: str) -> str:
    """Whether candidates may be handed on with the source's text, and how else."""
    found = terms(licence)
    if found.redistributable:
        return f"yes: {found.why}"
    verdict = "no" if found.known else "not as long as it is unknown"
    return f"{verdict}: {found.why}; without the text: `conjoin release --stand-off`"
