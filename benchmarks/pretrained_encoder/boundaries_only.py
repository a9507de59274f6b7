"""Take the trees of L away, which nobody has at level 1: there L is annotated with boundaries alone.

So ``train --brackets`` learns the constituents of the other corpus's trees there, and of no others. All draws
of a corpus folder lose the trees of their labelled and validation sentences, in ``sentences.parquet``, whose
new facts go into the record of ``ingest``. Once it is done nothing is left to do.

    python benchmarks/pretrained_encoder/boundaries_only.py data/study/genia-level-1-brackets
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from pipeline.core.corpus_folder import INGEST_RECORD, SENTENCES_FILE, require_ingested
from pipeline.core.draws import every_draw
from pipeline.core.files import FileFacts, digest_of, write_json
from pipeline.core.parquet import read_rows, write_rows


def withhold(corpus: Path) -> int:
    """Take away the trees of every draw's sentences; how many sentences still had one.

    Raises:
        InputError: there is no corpus, or it is not as ``ingest`` wrote it.
    """
    require_ingested(corpus)
    drawn = frozenset[str]().union(*every_draw(corpus).values())
    path = corpus / SENTENCES_FILE
    schema = pq.read_schema(path)
    rows = list(read_rows(path, schema))
    parsed = [row for row in rows if row["sentence_id"] in drawn and row["tree"] is not None]
    for row in parsed:
        row["tree"] = None
    facts = FileFacts.of(path, write_rows(path, schema, rows))
    record = json.loads((corpus / INGEST_RECORD).read_text("utf-8"))
    del record["digest"]
    record["files"][SENTENCES_FILE] = asdict(facts)
    write_json(corpus / INGEST_RECORD, {**record, "digest": digest_of(record)})
    return len(parsed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="+", type=Path)
    for folder in parser.parse_args().corpora:
        print(f"{folder}: {withhold(folder):,} trees of its draws' sentences are gone")
