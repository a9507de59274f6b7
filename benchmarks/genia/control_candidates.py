"""Candidates of known worth: what would Algorithm 1 gain from perfect fills and spans, or from mere English?

Four folders beside those of ``generate``, which ``conjoin train --candidates`` reads like any other:

- ``control-real``: coordinations of the training split as the treebank has them, without those of L and
  of the validation sentences: nothing that generation makes can be better;
- ``control-borrowed``: a generation's own sentences and reference spans, each filled with the
  reference of another candidate of the same label and of as many words, as near as there is one: good
  English in itself, with the label that was meant, which does not know the sentence it stands in;
- ``control-chance``: the same sentences and as many words, taken anywhere from another sentence.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from pipeline.core.candidates import candidate_shards
from pipeline.core.console import table
from pipeline.core.documents import read_json
from pipeline.core.files import digest_of
from pipeline.core.parquet import write_rows
from pipeline.core.schema import CANDIDATES, candidate_row, read_candidates, read_sentences
from pipeline.core.tally import Tally
from pipeline.core.types import Candidate, Reference, Sentence
from pipeline.infill import Fill
from pipeline.infill.candidates import make_candidate
from pipeline.text.natural import join_words

Words = tuple[str, ...]


def real(corpus: Path, seed: int, labelled: str) -> Iterator[Candidate]:
    """Evaluable coordinations of training sentences that the draw does not have."""
    drawn = read_json(corpus / "draws" / f"seed-{seed}" / f"{labelled}.json")
    taken = {*drawn["labelled"], *drawn["validation"]}

    def is_free(sentence: Sentence) -> bool:
        return sentence.split == "train" and sentence.sentence_id not in taken

    for sentence in read_sentences(corpus / "sentences.parquet", is_free):
        for found in sentence.evaluable:
            if len(found.conjuncts) > 1:
                last = found.conjuncts[-1]
                yield Candidate(
                    candidate_id=digest_of([sentence.sentence_id, found.coordinator])[:24],
                    sentence_id=sentence.sentence_id,
                    words=sentence.words,
                    coordinator=found.coordinator,
                    conjuncts=found.conjuncts,
                    label=found.label,
                    reference=found.conjuncts[0],
                    fill=join_words(sentence.words[last.start : last.end]).text,
                    score=None,
                    score_append=None,
                    score_prepend=None,
                    license=sentence.license,
                )


def like_generated(found: Sequence[Candidate], count: int, seed: int) -> list[Candidate]:
    """At most ``count`` of the coordinations "X and Y", drawn by the hash of the seed and their ids."""
    pairs = [c for c in found if len(c.conjuncts) == 2 and c.words[c.coordinator].lower() == "and"]
    return sorted(pairs, key=lambda c: digest_of([str(seed), c.candidate_id]))[:count]


def _refilled(
    made: Sequence[Candidate], donor: Callable[[int], Words], tally: Tally
) -> Iterator[Candidate]:
    """The references of candidates with other fills; what generation would refuse is counted."""
    for number, candidate in enumerate(made):
        head, tail = candidate.words[: candidate.coordinator], candidate.conjuncts[-1].end
        reference = Reference(
            candidate.sentence_id,
            head + candidate.words[tail:],
            candidate.reference,
            candidate.label,
            candidate.license,
        )
        fill = Fill(join_words(donor(number)).text)
        outcome = make_candidate(reference, fill, candidate.words[candidate.coordinator])
        if isinstance(outcome, Candidate):
            tally.keep()
            yield outcome
        else:
            tally.refuse(outcome.reason)


def borrower(made: Sequence[Candidate], draw: np.random.Generator) -> Callable[[int], Words]:
    """For each candidate the reference of another: its label, and the nearest number of words."""
    of: dict[str, list[int]] = {}
    for number, candidate in enumerate(made):
        of.setdefault(candidate.label, []).append(number)
    lengths = np.array([len(candidate.reference) for candidate in made])

    def donor(number: int) -> Words:
        others = np.array([n for n in of[made[number].label] if n != number] or [number])
        apart = np.abs(lengths[others] - lengths[number])
        chosen = made[int(draw.choice(others[apart == apart.min()]))]
        return chosen.words[chosen.reference.start : chosen.reference.end]

    return donor


def scavenger(made: Sequence[Candidate], draw: np.random.Generator) -> Callable[[int], Words]:
    """For each candidate as many words as its reference has, from anywhere in another's sentence."""

    def donor(number: int) -> Words:
        asked = len(made[number].reference)
        while True:
            source = made[int(draw.integers(len(made)))].words
            if len(source) >= asked:
                start = int(draw.integers(len(source) - asked + 1))
                return source[start : start + asked]

    return donor


def main() -> None:
    """Write the folders and say how many candidates each has, and what was refused."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("generation", help="whose references are filled anew, e.g. t5-sync")
    parser.add_argument("--labelled", default="250")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    args = parser.parse_args()
    folder = args.corpus / "candidates"
    for seed in args.seeds:
        shards = candidate_shards(folder / args.generation / f"seed-{seed}")
        made = [candidate for shard in shards for candidate in read_candidates(shard)]
        treebank = list(real(args.corpus, seed, args.labelled))
        kinds = {
            "control-real": (treebank, Tally()),
            "control-real-and": (like_generated(treebank, len(made), seed), Tally()),
        }
        for name, maker in (("control-borrowed", borrower), ("control-chance", scavenger)):
            tally = Tally()
            donor = maker(made, np.random.default_rng([seed, len(made)]))
            kinds[name] = (list(_refilled(made, donor, tally)), tally)
        for name, (candidates, tally) in kinds.items():
            out = folder / name / f"seed-{seed}" / "candidates-00000.parquet"
            out.parent.mkdir(parents=True, exist_ok=True)
            write_rows(out, CANDIDATES, (candidate_row(candidate) for candidate in candidates))
            rows = [("candidates", len(candidates)), *sorted(tally.refused.items())]
            table(str(out.parent), ("", "count"), rows)


if __name__ == "__main__":
    main()
