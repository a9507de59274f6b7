"""``conjoin export`` of what was read from CoNLL-U: heads that are right, in CoNLL-U and for spaCy."""

import io
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from damaged import identified
from treebank import conllu

from pipeline.core.errors import InputError
from pipeline.core.parquet import write_rows
from pipeline.core.schema import CANDIDATES, candidate_of, candidate_row, read_sentences
from pipeline.core.structures import laid_out
from pipeline.core.types import Candidate, Donor, Gap, Sentence, Span, Structure
from pipeline.ingest.settings import IngestSettings
from pipeline.ingest.stage import run as ingest
from pipeline.sharing.export import command as export
from pipeline.sharing.export.conllu import NO_HEADS
from pipeline.sharing.export.dependencies import (
    GAPPED,
    NO_ROWS,
    WRITTEN,
    CandidateDependencies,
)
from pipeline.sharing.export.settings import ExportSettings
from pipeline.text.dependencies import read_trees
from pipeline.text.lines import open_lines
from pipeline.text.natural import join_words
from pipeline.text.splicing import OTHER_CONJUNCTS, OTHER_WORDS
from pipeline.text.trees import constituents_of, parse_tree

EWT = Path(__file__).resolve().parents[2] / "../shared/data/ud-ewt"

CATS = (
    "The the DET 2 det", "cat cat NOUN 3 nsubj", "saw see VERB 0 root", "dogs dog NOUN 3 obj",
    "in in ADP 6 case", "France France PROPN 3 obl _ SpaceAfter=No 3:obl:in", ". . PUNCT 3 punct",
)  # fmt: skip
BIRDS = (
    "We we PRON 2 nsubj", "fed feed VERB 0 root", "small small ADJ 4 amod", "birds bird NOUN 2 obj",
    "on on ADP 6 case", "Mondays Monday PROPN 2 obl _ SpaceAfter=No 2:obl:on", "! ! PUNCT 2 punct",
)  # fmt: skip
TEA = (
    "tea tea NOUN 0 root Number=Sing", "and and CCONJ 3 cc", "milk milk NOUN 1 conj _ SpaceAfter=No",
    ". . PUNCT 1 punct",
)  # fmt: skip


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A corpus of three sentences, and one that came parsed."""
    (tmp_path / "ud").mkdir()
    sentences = conllu("cats", *CATS), conllu("birds", *BIRDS), conllu("tea", *TEA)
    (tmp_path / "ud/toy-ud-train.conllu").write_text("".join(sentences))
    (tmp_path / "parsed.conllu").write_text(conllu("u", *BIRDS[:4], enhanced=False))
    ingest(IngestSettings(
        reader="conllu", source=tmp_path / "ud", name="toy", out=tmp_path / "corpus",
        license="CC0-1.0", unlabelled=[tmp_path / "parsed.conllu"], unlabelled_license="CC0-1.0",
    ))  # fmt: skip
    return tmp_path / "corpus"


@cache
def known(corpus: Path) -> dict[str, Sentence]:
    """The sentences of a corpus by the end of their ids."""
    found = read_sentences(corpus / "sentences.parquet")
    return {each.sentence_id.rpartition("/")[2]: each for each in found}


def made(
    corpus: Path, name: str, span: tuple[int, int], *donors: tuple[str, int, int], label: str = "NP"
) -> Candidate:
    """A candidate: a span of a sentence beside those of others."""
    sentences = known(corpus)
    source, reference = sentences[name], Span(*span)
    pieces = [sentences[each].words[start:end] for each, start, end in donors]
    own = source.words[reference.start : reference.end]
    structure = Structure("and", conjuncts=len(donors) + 1, comma=len(donors) > 1)
    laid = laid_out(structure, [own, *pieces], reference.start)
    from_ = [Donor(sentences[each].sentence_id, start, end) for each, start, end in donors]
    words = (*source.words[: reference.start], *laid.words, *source.words[reference.end :])
    row = candidate_row(Candidate(
        "", source.sentence_id, words, laid.coordinator, laid.conjuncts, label, reference,
        join_words(pieces[-1]).text, None, None, None, "CC0-1.0", from_[-1], tuple(from_[:-1]) or None,
    ))  # fmt: skip
    return candidate_of(identified(row))


def natural(corpus: Path) -> Candidate:
    """The coordination that stands in a sentence."""
    tea = known(corpus)["tea"]
    row = candidate_row(Candidate(
        "", tea.sentence_id, tea.words, 1, (Span(0, 1), Span(2, 3)), "NP", Span(0, 1), "milk",
        None, None, None, "CC0-1.0",
    ))  # fmt: skip
    return candidate_of(identified(row))


def exported(place: Path, form: Any, out: Path, **more: Any) -> Path:
    export.run(ExportSettings(place=place, format=form, out=out, **more))
    return out


def write(path: Path, *candidates: Candidate) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_rows(path, CANDIDATES, map(candidate_row, candidates))
    return path


def test_candidates_have_heads(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the coordination in MISC and the text as written; natural text has its own tree."""
    one = made(corpus, "cats", (3, 4), ("birds", 2, 4))
    two = made(corpus, "cats", (3, 4), ("birds", 2, 4), ("tea", 0, 1))
    place = write(corpus / "candidates/x/candidates.parquet", one, two, natural(corpus))
    out = exported(place, "conllu", tmp_path / "made.conllu")
    with open_lines(out) as lines:
        trees = list(read_trees(lines))
    assert [t.name for t in trees] == [
        one.candidate_id,
        two.candidate_id,
        natural(corpus).candidate_id,
    ]
    assert [f"{w.form} {w.head} {w.deprel} {w.deps}" for w in trees[0].words[3:7]] == [
        "dogs 3 obj 3:obj", "and 7 cc 7:cc", "small 7 amod 7:amod", "birds 4 conj 3:obj|4:conj:and",
    ]  # fmt: skip
    assert trees[0].word(5).misc == "Coord=4-7|CoordConjuncts=4-4,6-7|CoordLabel=NP"
    assert trees[1].text == "The cat saw dogs, small birds, and tea in France."
    assert f"# text = {trees[1].text}" in trees[1].comments
    assert [w.deps for w in trees[2].words] == ["0:root", "3:cc", "1:conj", "1:punct"]
    assert not any(c.startswith("# heads") for t in trees for c in t.comments)
    shown = capsys.readouterr()
    assert "no dependencies" not in shown.out + shown.err
    back = tmp_path / "back"
    ingest(IngestSettings(reader="conllu", source=out, name="back", out=back))
    found = known(back)
    for each in (one, two, natural(corpus)):
        assert each.coordination in found[each.candidate_id].coordinations


def test_what_has_no_tree_is_left_out_with_its_reason(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never with heads that say nothing, among others that are right."""
    good = made(corpus, "cats", (3, 4), ("birds", 2, 4))
    shared = made(corpus, "cats", (0, 2), ("tea", 0, 1))
    written = replace(good, donor=None)
    with CandidateDependencies(corpus) as trees:
        made_ = trees.of([
            good, written, shared, replace(good, gap=Gap(5, 2, 3)), replace(good, sentence_id="other/1"),
            replace(good, donor=Donor("other/1", 2, 4)), replace(good, donor=Donor(good.sentence_id, 5, 50)),
        ])  # fmt: skip
    assert [each.reason for each in made_] == [
        "", WRITTEN, OTHER_CONJUNCTS, GAPPED, NO_ROWS, NO_ROWS, OTHER_WORDS,
    ]  # fmt: skip
    assert made_[0].tree is not None
    assert all(each.tree is None for each in made_[1:])
    place = write(corpus / "candidates/x/candidates.parquet", good, shared)
    exported(place, "conllu", tmp_path / "made.conllu")
    assert f"left out: 1 with {OTHER_CONJUNCTS}" in " ".join(capsys.readouterr().out.split())


def test_parsed_text_gives_candidates_heads(corpus: Path) -> None:
    """As a source or a donor; beside a treebank's sentence there is no enhanced layer then."""
    with CandidateDependencies(corpus) as trees:
        found = trees.of([
            made(corpus, "u", (2, 4), ("birds", 2, 4)), made(corpus, "cats", (3, 4), ("u", 2, 4)),
        ])  # fmt: skip
    for each in found:
        assert each.tree is not None
        assert {word.deps for word in each.tree.words} == {"_"}
    assert found[1].tree is not None
    assert [word.head for word in found[1].tree.words] == [2, 3, 0, 3, 7, 7, 4, 9, 3, 3]


def test_sentences_have_their_own_rows(corpus: Path, tmp_path: Path) -> None:
    """With their coordinations; parsed text too, whose parse is no annotation."""
    out = exported(corpus, "conllu", tmp_path / "made.conllu")
    with open_lines(out) as lines:
        trees = {(t.name or "").rpartition("/")[2]: t for t in read_trees(lines)}
    assert trees.keys() == {"cats", "birds", "tea", "u"}
    assert trees["tea"].word(1).feats == "Number=Sing"
    assert trees["tea"].word(2).misc == "Coord=1-3|CoordConjuncts=1-1,3-3|CoordLabel=NP"
    assert [w.line for w in trees["birds"].words] == conllu("birds", *BIRDS).strip().split("\n")[1:]


def test_a_corpus_without_dependencies_says_so(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As ever: heads that say nothing, and a caution; a corpus that is named must have them."""
    place = write(
        tmp_path / "alone/candidates.parquet", made(corpus, "cats", (3, 4), ("birds", 2, 4))
    )
    out = exported(place, "conllu", tmp_path / "made.conllu")
    assert f"# heads = {NO_HEADS}" in out.read_text()
    assert "no dependencies" in " ".join("".join(capsys.readouterr()).split())
    with_heads = exported(place, "conllu", out, corpus=corpus, overwrite=True)
    assert "# heads" not in with_heads.read_text()
    (tmp_path / "b.mrg").write_text("(S (NN tea) (VBZ cools))\n")
    ingest(IngestSettings(reader="treebank", source=tmp_path / "b.mrg", out=tmp_path / "brackets"))
    with pytest.raises(InputError, match=r"no dependencies\.parquet"):
        exported(place, "conllu", out, corpus=tmp_path / "brackets", overwrite=True)


def test_dependencies_that_were_changed_are_refused(corpus: Path, tmp_path: Path) -> None:
    """Before anything is written."""
    place = write(
        corpus / "candidates/x/candidates.parquet", made(corpus, "cats", (3, 4), ("birds", 2, 4))
    )
    path = corpus / "dependencies.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    with pytest.raises(InputError, match="not as ingest wrote it"):
        exported(place, "conllu", tmp_path / "made.conllu")
    assert not (tmp_path / "made.conllu").exists()


def test_spacy_has_the_analysis(corpus: Path, tmp_path: Path) -> None:
    """All that its tagger, morphologizer, lemmatizer and parser learn from; sentences too."""
    import spacy  # noqa: PLC0415 - an extra of the package, of which the tests have all
    from spacy.tokens import DocBin  # noqa: PLC0415 - an optional extra

    vocabulary = spacy.blank("en").vocab
    place = write(
        corpus / "candidates/x/candidates.parquet", made(corpus, "cats", (3, 4), ("birds", 2, 4))
    )
    for source, wanted in ((place, 1), (corpus, 4)):
        out = exported(source, "spacy", tmp_path / "made.spacy", overwrite=True)
        docs = list(DocBin().from_disk(out).get_docs(vocabulary))
        assert len(docs) == wanted
        for name in ("DEP", "TAG", "POS", "LEMMA", "MORPH", "SENT_START"):
            assert all(doc.has_annotation(name) or name == "MORPH" for doc in docs), name
    candidate = next(
        DocBin().from_disk(exported(place, "spacy", tmp_path / "c.spacy")).get_docs(vocabulary)
    )
    assert [(t.text, t.dep_, t.head.text, t.pos_, t.lemma_) for t in candidate][2:7] == [
        ("saw", "ROOT", "saw", "VERB", "see"), ("dogs", "obj", "saw", "NOUN", "dog"),
        ("and", "cc", "birds", "CCONJ", "and"), ("small", "amod", "birds", "ADJ", "small"),
        ("birds", "conj", "dogs", "NOUN", "bird"),
    ]  # fmt: skip
    assert [span.text for span in candidate.spans["sc"]] == ["dogs", "small birds"]
    assert len(list(candidate.sents)) == 1


@pytest.mark.long
@pytest.mark.skipif(not EWT.exists(), reason="needs ../shared/data/ud-ewt")
def test_candidates_of_english_ewt_are_valid(tmp_path: Path) -> None:
    """Each passes the validator of Universal Dependencies, and comes back with the same conjuncts."""
    corpus = tmp_path / "ewt"
    with redirect_stdout(io.StringIO()):
        ingest(IngestSettings(
            reader="conllu", source=EWT / "en_ewt-ud-dev.conllu.xz", name="ewt", out=corpus,
            license="CC0-1.0", split=["train=*"],
        ))  # fmt: skip
    sentences = known(corpus)
    plain = [s for s in sentences.values() if not s.coordinations and len(s.words) > 9]
    spans: dict[str, list[tuple[str, int, int]]] = {}
    for each in plain:
        tree = parse_tree(each.tree or "")
        for node, found in constituents_of(tree):
            if (label := node.label()) in ("NP", "VP", "PP"):
                name = each.sentence_id.rpartition("/")[2]
                spans.setdefault(label, []).append((name, found[0].start, found[-1].end))
    candidates = []
    for label, own in sorted(spans.items()):
        for (name, start, end), donor in islice(zip(own, own[37:], strict=False), 200):
            if name != donor[0]:
                candidates.append(made(corpus, name, (start, end), donor, label=label))
    place = write(corpus / "candidates/x/candidates.parquet", *candidates)
    with redirect_stdout(io.StringIO()):
        out = exported(place, "conllu", tmp_path / "made.conllu")
        ingest(IngestSettings(reader="conllu", source=out, name="back", out=tmp_path / "back"))
    back = known(tmp_path / "back")
    assert len(back) > 300
    by_id = {each.candidate_id: each for each in candidates}
    for name, sentence in back.items():
        conjuncts = [each.conjuncts for each in sentence.coordinations]
        assert by_id[name].conjuncts in conjuncts
    done = subprocess.run(  # noqa: S603 - our own arguments
        [Path(sys.executable).with_name("udvalidate"), "--lang", "en", "--level", "3", "--no-warnings", out],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
