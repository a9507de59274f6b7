"""GENIA: each clause of the coordination rule by hand, real sentences, and Table 1."""

import tarfile
from collections import Counter
from pathlib import Path

import pytest

from pipeline.core.errors import InputError
from pipeline.core.schema import read_sentences
from pipeline.core.tally import Tally
from pipeline.core.types import Sentence, is_unlabelled_seed
from pipeline.ingest.readers.genia import SHIPPED_SPLIT, read_genia, read_split_lists
from pipeline.text.trees import leaves, parse_tree

PMID = "1967259"  # a training article of the shipped split


def t(tag: str, word: str) -> str:
    return f'<tok cat="{tag}">{word}</tok>'


def c(cat: str, *children: str, **attributes: str) -> str:
    more = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f'<cons cat="{cat}"{more}>{" ".join(children)}</cons>'


def np(*words: str, **attributes: str) -> str:
    return c("NP", *(t("NN", word) for word in words), **attributes)


AND, COMMA = t("CC", "and"), t("COMMA", ",")


def article(*sentences: str, pmid: str = PMID, top: str = "") -> str:
    body = "\n".join(f'<sentence id="S{i}">{s}</sentence>' for i, s in enumerate(sentences, 1))
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n{top or "<!DOCTYPE Annotation>"}\n<Annotation>'
        f"<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article>"
        f"<ArticleTitle>\n{body}\n</ArticleTitle></Article></MedlineCitation></PubmedArticle>"
        "</PubmedArticleSet></Annotation>"
    )


def read(tmp_path: Path, *sentences: str) -> list[Sentence]:
    (tmp_path / f"{PMID}.xml").write_text(article(*sentences), encoding="utf-8")
    return list(read_genia(tmp_path, Tally()))


def structures(sentence: Sentence) -> list[tuple[str, str, list[str]]]:
    return [
        (k.label, k.word, [" ".join(sentence.words[s.start : s.end]) for s in k.conjuncts])
        for k in sentence.coordinations
    ]


RAISED = c("NP", c("NP", t("NN", "Spi-1"), c("NP", null="RNR", ref="i1")), AND,
           c("NP", t("NN", "Fli-1"), c("NP", null="RNR", ref="i1")), np("genes", id="i1"),
           syn="COOD")  # fmt: skip


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        pytest.param(
            c("NP", np("dogs"), AND, np("cats"), syn="COOD"),
            [("NP", "and", ["dogs", "cats"])], id="two conjuncts",
        ),
        pytest.param(
            c("NP", np("dogs"), COMMA, np("cats"), COMMA, t("CC", "or"), np("red", "hens"), syn="COOD"),
            [("NP", "or", ["dogs", "cats", "red hens"])], id="three, separated by commas",
        ),
        pytest.param(
            c("NP", t("CC", "both"), np("dogs"), AND, np("cats"), syn="COOD"),
            [("NP", "and", ["dogs", "cats"])], id="both is not a coordinator",
        ),
        pytest.param(
            c("NP", np("dogs"), t("CC", "either"), np("cats"), syn="COOD"),
            [], id="either alone does not coordinate",
        ),
        pytest.param(
            c("NP", t("CC", "Neither"), np("dogs"), t("CC", "nor"), np("cats"), syn="COOD"),
            [("NP", "nor", ["dogs", "cats"])], id="neither, in any case",
        ),
        pytest.param(
            c("NP", np("dogs"), c("CONJP", t("CC", "but"), t("RB", "not")), np("cats"), syn="COOD"),
            [], id="a CC inside CONJP is not a coordinator",
        ),
        pytest.param(
            c("NP", np("dogs"), AND, np("cats"), c("CONJP", t("CC", "but"), t("RB", "not")),
              np("hens"), syn="COOD"),
            [("NP", "and", ["dogs", "cats", "hens"])], id="CONJP separates conjuncts",
        ),
        pytest.param(RAISED, [("NP", "and", ["Spi-1", "Fli-1"])], id="raised node stays outside"),
        pytest.param(
            RAISED.replace(' id="i1"', ' id="i2"'), [("NP", "and", ["Spi-1", "Fli-1"])],
            id="nearest of two is the conjunct, raised or not",
        ),
        pytest.param(
            c("NP", c("NP", t("NN", "Spi-1"), c("NP", null="RNR", ref="i1")), AND,
              np("genes", id="i1"), syn="COOD"),
            [], id="a raised node alone is no conjunct",
        ),
        pytest.param(
            c("NP", np("dogs"), AND, c("NP", c("NP", null="NONE")), syn="COOD"),
            [], id="an empty constituent is no conjunct",
        ),
        pytest.param(
            c("NP", t("DT", "the"), t("JJ", "old"), np("dogs"), AND, np("cats"),
              c("PP", t("IN", "of"), np("Rome")), syn="COOD"),
            [("NP", "and", ["dogs", "cats"])], id="shared modifiers stay outside",
        ),
        pytest.param(
            c("VP", c("VP", t("VBD", "bound")), AND, c("ADVP", t("RB", "efficiently")),
              c("VP", t("VBD", "transcribed")), syn="COOD"),
            [("VP", "and", ["bound", "transcribed"])], id="an adverb after CC stays outside",
        ),
        pytest.param(
            c("NP", np("receptors"), np("alpha"), AND, np("beta"), np("chains"), syn="COOD"),
            [("NP", "and", ["alpha", "beta"])], id="nearest to the coordinator",
        ),
        pytest.param(
            c("NP", np("dogs"), AND, np("cats"), t("CC", "or"), np("hens"), syn="COOD"),
            [("NP", "or", ["dogs", "cats", "hens"])], id="two CCs are one instance of the last",
        ),
        pytest.param(
            c("UCP", np("normal"), AND, c("ADJP", t("JJ", "ill")), syn="COOD"),
            [("UCP", "and", ["normal", "ill"])], id="UCP takes any category",
        ),
        pytest.param(
            c("UCP", c("ADJP", t("JJ", "slow")), AND, c("ADVP", t("RB", "then")),
              c("VP", t("VBN", "stopped")), syn="COOD"),
            [("UCP", "and", ["slow", "stopped"])], id="UCP without ADVP",
        ),
        pytest.param(
            c("UCP", c("ADVP", t("RB", "alone")), t("CC", "or"),
              c("PP", t("IN", "with"), np("IL-2")), syn="COOD"),
            [("UCP", "or", ["alone", "with IL-2"])], id="UCP with ADVP alone in its segment",
        ),
        pytest.param(
            c("ADJP", c("ADJP", t("JJ", "rapid")), AND, COMMA, np("strong"), syn="COOD"),
            [("ADJP", "and", ["rapid", "strong"])], id="next sibling of another exchangeable label",
        ),
        pytest.param(
            c("ADJP", c("ADJP", t("JJ", "rapid")), AND, c("S", np("it")), syn="COOD"),
            [], id="S is not exchangeable",
        ),
        pytest.param(
            c("S", c("S", np("it")), AND, np("rest"), syn="COOD"),
            [], id="nor can S be continued by another label",
        ),
        pytest.param(
            c("NP", c("ADJP", t("JJ", "rapid")), AND, np("rest"), syn="COOD"),
            [], id="left of the coordinator it must be the own label",
        ),
        pytest.param(c("NP", np("dogs"), AND, np("cats")), [], id="only what is marked COOD"),
        pytest.param(
            c("S", c("NP", np("dogs"), t("CC", "plus"), np("cats"), syn="COOD"),
              c("VP", c("VP", t("VBD", "ran")), AND, c("VP", t("VBD", "hid")), syn="COOD")),
            [("NP", "plus", ["dogs", "cats"]), ("VP", "and", ["ran", "hid"])],
            id="all coordinators, in order",
        ),
    ],
)  # fmt: skip
def test_rule(tmp_path: Path, tree: str, expected: list[tuple[str, str, list[str]]]) -> None:
    """The conjuncts are those read off by hand."""
    (sentence,) = read(tmp_path, tree)
    assert structures(sentence) == expected


def test_rule_looks_into_nested_structures(tmp_path: Path) -> None:
    """A coordination inside a conjunct is an instance of its own."""
    inner = c("NP", np("cats"), t("CC", "or"), np("hens"), syn="COOD")
    (sentence,) = read(tmp_path, c("NP", np("dogs"), AND, inner, syn="COOD"))
    assert structures(sentence) == [
        ("NP", "and", ["dogs", "cats or hens"]),
        ("NP", "or", ["cats", "hens"]),
    ]


def test_sentence_is_read_off(tmp_path: Path) -> None:
    """Words, tags, bracketing, ids, split and licence of one sentence."""
    tree = c("S", c("NP", t("PRPP", "its"), t("NN", "NF- kappaB")), c("NP", null="NONE"),
             c("VP", c("NP", c("NP", null="T")), t("VBD", "fell")), c("PRN", t("LRB", "("),
             np("IL(2)"), t("RRB", ")")), t("PERIOD", "."), role="SBJ")  # fmt: skip
    (sentence,) = read(tmp_path, tree)
    assert sentence.sentence_id == f"genia/{PMID}/S1"
    assert (sentence.doc_id, sentence.split) == (PMID, "train")
    assert sentence.words == ("its", "NF-kappaB", "fell", "(", "IL(2)", ")", ".")
    assert sentence.tags == ("PRP$", "NN", "VBD", "-LRB-", "NN", "-RRB-", ".")
    assert sentence.tree == (
        "(S1 (S (NP (PRP$ its) (NN NF-kappaB)) (VP (VBD fell)) (PRN (-LRB- -LRB-) "
        "(NP (NN IL-LRB-2-RRB-)) (-RRB- -RRB-)) (. .)))"
    )
    assert sentence.license == "CC-BY-3.0 AND LicenseRef-PubMed"


def test_what_is_not_kept_is_counted(tmp_path: Path) -> None:
    """Articles in no list, sentences without words and absent articles appear in the tally."""
    lists = tmp_path / "lists"
    lists.mkdir()
    for name, ids in (("train", "00000001\n00000002\n"), ("dev", ""), ("test", "00000003\n")):
        (lists / f"{name}.pmids").write_text(ids)
    source = tmp_path / "xml"
    source.mkdir()
    lost = c("NP", t("NN", "gas"), t("HYPH", " "), t("VBN", "powered"))
    (source / "1.xml").write_text(article(np("dogs"), c("NP", null="NONE"), lost, pmid="1"))
    (source / "9.xml").write_text(article(np("cats"), np("hens"), pmid="9"))
    tally = Tally()
    (sentence,) = read_genia(source, tally, split_lists=lists)
    assert sentence.words == ("dogs",)
    assert tally.to_dict()["refused"] == {
        "sentence of an article in no split list": 2,
        "article of a split list that the source lacks (counts articles)": 2,
        "sentence without words": 1,
        "sentence with a token without text": 1,
    }
    assert tally.places["sentence with a token without text"] == [f"{source}/1.xml: sentence S3"]


def test_archive_folder_and_folder_with_archive_agree(tmp_path: Path) -> None:
    """The three forms of the source give the same sentences in the same order."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for pmid in ("2105528", "1967259", "2105167"):
        (folder / f"{pmid}.xml").write_text(article(np("dogs", pmid), pmid=pmid))
    holder = tmp_path / "holder"
    holder.mkdir()
    with tarfile.open(holder / "any.tar.gz", "w:gz") as archive:
        for pmid in ("2105528", "1967259", "2105167"):
            archive.add(folder / f"{pmid}.xml", f"somewhere/{pmid}.xml")
    unpacked = list(read_genia(folder, Tally()))
    assert [s.doc_id for s in unpacked] == ["1967259", "2105167", "2105528"]
    assert unpacked == list(read_genia(holder / "any.tar.gz", Tally()))
    assert unpacked == list(read_genia(holder, Tally()))


def test_raw_text_beside_the_treebank_is_not_read(tmp_path: Path) -> None:
    """What lies below text/ is for language models, whatever its name, with articles or an archive."""
    (tmp_path / "text/more").mkdir(parents=True)
    (tmp_path / "text/words.txt").write_text("Cells grow.")
    (tmp_path / "text/more/notes.xml").write_text("<no article>")
    (sentence,) = read(tmp_path, c("S", np("dogs")))
    (tmp_path / f"{PMID}.xml").rename(tmp_path / "article.xml")
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "article.xml", f"x/{PMID}.xml")
    (tmp_path / "article.xml").unlink()
    assert list(read_genia(tmp_path, Tally())) == [sentence]


def test_malformed_xml_is_reported_with_its_line(tmp_path: Path) -> None:
    """An unclosed element names the file and the line."""
    path = tmp_path / f"{PMID}.xml"
    path.write_text(article(np("dogs")).replace("</sentence>", ""))
    with pytest.raises(InputError, match=rf"{PMID}\.xml:\d+: malformed XML"):
        list(read_genia(tmp_path, Tally()))


def test_entities_are_refused(tmp_path: Path) -> None:
    """An entity declaration is not expanded but refused."""
    top = '<!DOCTYPE Annotation [<!ENTITY a "dogs">]>'
    (tmp_path / "a.xml").write_text(article(t("NN", "&a;"), top=top))
    with pytest.raises(InputError, match=r"a\.xml: XML with entities or external references"):
        list(read_genia(tmp_path, Tally()))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.xml", article(np("dogs"), pmid="none"), "no PubMed id"),
        ("x.xml", article("<tok>dogs</tok>"), r"without cat \(sentence genia/1967259/S1\)"),
        ("x.xml", article("<word cat='NN'>dogs</word>"), "unexpected element <word>"),
        ("x.tar.gz", "no archive", "not a readable archive"),
        ("x.txt", "dogs", "found 0 archives"),
    ],
)
def test_bad_files_are_reported(tmp_path: Path, name: str, content: str, message: str) -> None:
    """What is not GENIA is refused with its path."""
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        list(read_genia(tmp_path, Tally()))
    assert str(tmp_path) in str(caught.value)


def test_missing_source_is_reported(tmp_path: Path) -> None:
    """A path that does not exist is an InputError, not a traceback."""
    with pytest.raises(InputError, match="no such file"):
        list(read_genia(tmp_path / "nothing.tar.gz", Tally()))


def test_split_lists_are_checked(tmp_path: Path) -> None:
    """A missing list, a line that is no number, and an article in two lists are errors."""
    with pytest.raises(InputError, match=r"train\.pmids: missing split list"):
        read_split_lists(tmp_path)
    (tmp_path / "train.pmids").write_text("00000007\n\n")
    (tmp_path / "dev.pmids").write_text("8\nnine\n")
    (tmp_path / "test.pmids").write_text("")
    with pytest.raises(InputError, match=r"dev\.pmids:2: not a PubMed id: 'nine'"):
        read_split_lists(tmp_path)
    (tmp_path / "dev.pmids").write_text("8\n7\n")
    with pytest.raises(InputError, match=r"dev\.pmids:2: article 7 is in two split lists"):
        read_split_lists(tmp_path)


def test_shipped_split_has_its_sizes() -> None:
    """1,551 training, 148 development and 150 test articles."""
    sizes = Counter(read_split_lists(SHIPPED_SPLIT).values())
    assert sizes == {"train": 1551, "dev": 148, "test": 150}


@pytest.fixture(scope="module")
def corpus(genia: tuple[Path, str]) -> tuple[Sentence, ...]:
    """All of GENIA, as it was read and written."""
    return tuple(read_sentences(genia[0] / "sentences.parquet"))


@pytest.mark.long
def test_table_1_is_reproduced(corpus: tuple[Sentence, ...]) -> None:
    """Sentences, sentences with coordination, instances, evaluable instances (issue 2)."""
    found: dict[str, list[int]] = {}
    for sentence in corpus:
        evaluable = len(sentence.evaluable)
        row = found.setdefault(sentence.split, [0, 0, 0, 0])
        row[0] += 1
        row[1] += evaluable > 0
        row[2] += len(sentence.coordinations) if evaluable else 0
        row[3] += evaluable
    assert found == {
        "train": [14326, 8101, 11596, 11530],
        "dev": [1361, 777, 1146, 1136],
        "test": [1360, 773, 1166, 1157],
    }


def test_labels_and_seeds_are_reproduced(corpus: tuple[Sentence, ...]) -> None:
    """Labels of the evaluable test instances, and the sizes of U."""
    sentences = corpus
    labels = Counter(k.label for s in sentences if s.split == "test" for k in s.evaluable)
    assert labels == {
        "NP": 803, "VP": 155, "PP": 71, "S": 65, "ADJP": 27, "SBAR": 14, "ADVP": 13, "UCP": 9,
    }  # fmt: skip
    assert sum(is_unlabelled_seed(s, 1) for s in sentences) == 6225
    assert sum(is_unlabelled_seed(s) for s in sentences) == 5927


@pytest.mark.long
def test_trees_words_tags_and_spans_agree_everywhere(corpus: tuple[Sentence, ...]) -> None:
    """On the whole corpus leaves are words, tags are tags, and conjuncts surround the coordinator."""
    assert len({s.sentence_id for s in corpus}) == len(corpus) == 17047
    for sentence in corpus:
        assert sentence.tree is not None
        tree = parse_tree(sentence.tree)
        assert tuple(leaves(tree)) == sentence.words
        assert tuple(tag for _, tag in tree.pos()) == sentence.tags
        for k in sentence.coordinations:
            assert sentence.words[k.coordinator] == k.word
            assert k.conjuncts[0].end <= k.coordinator < k.conjuncts[-1].start
            assert all(
                len(a) and a.end <= b.start
                for a, b in zip(k.conjuncts, k.conjuncts[1:], strict=False)
            )


@pytest.mark.parametrize(
    ("sentence_id", "expected"),
    [
        # [tether] and [activate]
        ("genia/9170401/S2", [("VP", "and", [(4, 5), (6, 7)])]),
        # [METHODS] AND [RESULTS]; [before] and [daily ...]; [in ...] and [in ...]
        ("genia/9170401/S4", [("NP", "AND", [(0, 1), (2, 3)]), ("PP", "and", [(15, 16), (17, 30)]),
                              ("PP", "and", [(10, 30), (31, 37)])]),
        # [PU.1] , [Ikaros] and [GATA-3] genes; [B] and [T] lymphoid lineages
        ("genia/9099800/S5", [("NP", "and", [(5, 6), (7, 8), (9, 10)]),
                              ("NP", "and", [(26, 27), (28, 29)])]),
        # both [neutrophil] and [monocyte] differentiation; [RA] and [D3]; two VPs; three NPs
        ("genia/8182938/S11", [("NP", "and", [(4, 5), (6, 7)]), ("NP", "and", [(14, 15), (16, 17)]),
                               ("VP", "and", [(8, 21), (22, 35)]),
                               ("NP", "and", [(27, 28), (29, 30), (31, 32)])]),
        # [alone] or [in concert with SLP-76]
        ("genia/10209041/S10", [("UCP", "or", [(16, 17), (18, 22)])]),
        # the [normal] and [fusion] proteins, as UCP between two others
        ("genia/10086725/S13", [("NP", "or", [(11, 12), (13, 14)]), ("UCP", "and", [(19, 20), (21, 22)]),
                                ("VP", "or", [(24, 25), (26, 27)])]),
    ],
)  # fmt: skip
def test_real_sentences(
    corpus: tuple[Sentence, ...],
    sentence_id: str,
    expected: list[tuple[str, str, list[tuple[int, int]]]],
) -> None:
    """Sentences checked by eye: label, coordinator and word spans."""
    (sentence,) = (s for s in corpus if s.sentence_id == sentence_id)
    found = [
        (k.label, k.word, [(s.start, s.end) for s in k.conjuncts]) for k in sentence.coordinations
    ]
    assert found == expected
