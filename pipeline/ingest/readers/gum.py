"""GUM, the Georgetown University Multilayer corpus, and GENTLE: constituency trees in brackets.

Its documents are called ``GUM_<genre>_<name>``; splits are GUM's own, and GENTLE, whose genres GUM does not
have, is ``test2``. The licence of a row is that of its text, which goes by genre; the annotation's stands in
the notice of a release (``core/corpora.py``).
"""

from collections.abc import Sequence
from pathlib import Path

from pipeline.core.corpora import CORPORA
from pipeline.ingest.documents import Document

SHIPPED_SPLIT = Path(__file__).resolve().parents[2] / "resources" / "gum_split"

_BY_GENRE = {
    "GUM_academic": "CC-BY-4.0",
    "GUM_bio": "CC-BY-SA-3.0",
    "GUM_court": "CC-BY-4.0",
    "GUM_essay": "CC-BY-NC-SA-4.0",
    "GUM_fiction": "CC-BY-NC-SA-3.0",
    "GUM_interview": "CC-BY-2.5",
    "GUM_letter": "CC-BY-NC-SA-4.0",
    "GUM_news": "CC-BY-2.5",
    "GUM_podcast": "CC-BY-NC-SA-4.0",
    "GUM_voyage": "CC-BY-SA-3.0",
    "GUM_whow": "CC-BY-NC-SA-3.0",
}
"""What GUM's LICENSE.txt says of its texts. It does not name conversation, speech, textbook and vlog, nor the
genres of GENTLE: nobody knows their licence here."""


def gum_licences(
    documents: Sequence[Document], otherwise: str = CORPORA["gum"].licence
) -> dict[str, str]:
    """The licences of GUM's documents, by genre; ``otherwise`` of a genre whose licence is not known."""
    return {
        document.name: _BY_GENRE.get("_".join(document.name.split("_")[:2]), otherwise)
        for document in documents
    }
