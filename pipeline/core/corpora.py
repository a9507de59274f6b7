"""The corpora that conjoin can read: where each comes from, its licence, and its notice in a release."""

from dataclasses import dataclass

COORDINATION, RELATIONS, ARGUMENTS = "coordination", "relations", "arguments"
QUESTIONS = "questions"
"""Tasks."""


@dataclass(frozen=True, slots=True)
class SourceNotice:
    """How a release names a source.

    Attributes:
        source: what it is, with its reference.
        url: where it can be had.
        attribution: the sentence that its terms ask for, or its authors' wish; empty if there is none.
    """

    source: str
    url: str = ""
    attribution: str = ""


@dataclass(frozen=True, slots=True)
class CorpusDescription:
    """A corpus, as ``conjoin corpora`` describes it.

    Attributes:
        reader: its reader's name, which its sentence ids begin with if the corpus is called so.
        name: what it is, and whose.
        source: where it comes from.
        place: where to put it, the second argument of ``conjoin ingest``.
        licence: SPDX expression that its rows have, if no other is named; whether their text may be
            redistributed follows from it.
        remark: what the expression does not say.
        notice: how a release of its candidates names it.
        by_document: it is read by documents, which ``ingest --split`` and ``--licenses`` may split and
            license in any way, and which raw text may join where sentences are read.
        task: what it is annotated for.
        raw: the folder of data/raw that it comes with; "": one of the corpus's own name.
        options: without which it is not read.
        language: of its text, as BCP 47 has it.
    """

    reader: str
    name: str
    source: str
    place: str
    licence: str
    remark: str
    notice: SourceNotice
    by_document: bool = False
    task: str = COORDINATION
    raw: str = ""
    options: str = ""
    language: str = "en"


_LDC = "https://catalog.ldc.upenn.edu/LDC99T42"
_DOW_JONES = (
    "Text (c) 1987-1989 Dow Jones & Company, Inc.; annotation (c) Trustees of the University of "
    "Pennsylvania. Available to licensees of the Linguistic Data Consortium (LDC99T42)."
)
_ALL = (
    CorpusDescription(
        reader="world",
        name="the embedded miniature world, English-like sentences from a grammar",
        source="comes with conjoin (data/raw/world/lexicon.yaml); generated here",
        place="data/raw/world",
        licence="Apache-2.0",
        remark="conjoin's own",
        notice=SourceNotice(
            "the miniature world that comes with conjoin (English-like sentences that a grammar made)",
            attribution="(c) the conjoin authors, under the Apache License 2.0.",
        ),
    ),
    CorpusDescription(
        reader="genia",
        name="GENIA Treebank v1, 1,999 PubMed abstracts (Tateisi et al., 2005)",
        source="http://www.geniaproject.org/genia-corpus/treebank, GENIA_treebank_v1.tar.gz; "
        "split by D. McClosky, shipped as lists of PubMed ids",
        place="data/raw/genia (the .tar.gz or what is in it; in its folder text/ any English, .txt, "
        ".txt.gz or .txt.xz, that language models may learn from)",
        licence="CC-BY-3.0 AND LicenseRef-PubMed",
        remark="annotation CC BY 3.0, (c) GENIA Project, redistributable with attribution; "
        "text of the abstracts: PubMed terms",
        notice=SourceNotice(
            "the GENIA Treebank v1, abstracts of PubMed (Tateisi et al., 2005)",
            "http://www.geniaproject.org/genia-corpus/treebank",
            "GENIA Treebank: (c) GENIA Project, under CC BY 3.0. Abstracts: from PubMed of the U.S. "
            "National Library of Medicine, each (c) its authors or publisher.",
        ),
    ),
    CorpusDescription(
        reader="ptb",
        name="Penn Treebank 3, Wall Street Journal (Marcus et al., 1993); "
        "coordination found by a heuristic",
        source=f"{_LDC}, folder parsed/mrg/wsj",
        place="data/raw/ptb (the folders 00 to 24 of .mrg files)",
        licence="LDC-User-Agreement",
        remark="the LDC User Agreement of LDC99T42",
        notice=SourceNotice(
            "the Wall Street Journal section of the Penn Treebank 3 (Marcus et al., 1993)",
            _LDC,
            _DOW_JONES,
        ),
    ),
    CorpusDescription(
        reader="ptb-ext",
        name="PTB.ext, the Penn Treebank with coordination annotated (Ficler & Goldberg, 2016); "
        "the paper's PTB",
        source="made by https://github.com/Jess1ca/CoordinationExtPTB from the trees of LDC99T42 "
        "with the noun phrase bracketing of Vadas & Curran (2007)",
        place="data/raw/ptb-ext/PTB.ext",
        licence="LDC-User-Agreement",
        remark="the LDC User Agreement of LDC99T42",
        notice=SourceNotice(
            "PTB.ext (Ficler and Goldberg, 2016), which annotates coordination in the Penn Treebank",
            "https://github.com/Jess1ca/CoordinationExtPTB",
            _DOW_JONES,
        ),
    ),
    CorpusDescription(
        reader="gum",
        name="GUM, 237 documents of 15 genres of English, and GENTLE's 26 (Zeldes, 2017)",
        source="https://gucorpling.org/gum/, constituency trees (folder const); GUM's own split, shipped as "
        "lists of documents; GENTLE, of other genres, is its split test2",
        place="data/raw/gum (the archive or what is in it; in its folder text/ any English, as for genia)",
        licence="unknown",
        remark="by genre: academic and court CC-BY-4.0, bio and voyage CC-BY-SA-3.0, interview and news "
        "CC-BY-2.5, fiction and whow CC-BY-NC-SA-3.0, essay, letter and podcast CC-BY-NC-SA-4.0; others "
        "(conversation, speech, textbook, vlog, GENTLE) unknown; annotation CC BY 4.0",
        notice=SourceNotice(
            "GUM, the Georgetown University Multilayer corpus (Zeldes, 2017)",
            "https://gucorpling.org/gum/",
            "Annotation: (c) Amir Zeldes and the annotators of GUM, under CC BY 4.0. Texts: of their "
            "authors, each under the licence that its row names.",
        ),
        by_document=True,
    ),
    CorpusDescription(
        reader="treebank",
        name="your own treebank, in Penn Treebank brackets",
        source="yours: a folder, an archive (.tar, also packed, or .zip) or a file, of any extension",
        place="data/raw/NAME, with `reader: treebank` in the section NAME of params.yaml",
        licence="unknown",
        remark="name it with --license, or by document with --licenses; redistribution is as that licence "
        "says",
        notice=SourceNotice("a treebank that whoever made the corpus supplied"),
        by_document=True,
    ),
    CorpusDescription(
        reader="conllu",
        name="a treebank of Universal Dependencies, or your own, in CoNLL-U",
        source="https://universaldependencies.org, or yours",
        place="data/raw/NAME (.conllu, .conllu.gz, .conllu.xz), with `reader: conllu` in the section NAME of "
        "params.yaml",
        licence="unknown",
        remark="name it with --license, or by document with --licenses; redistribution is as that licence "
        "says",
        notice=SourceNotice("a treebank of dependencies that whoever made the corpus supplied"),
        by_document=True,
    ),
    CorpusDescription(
        reader="text",
        name="your own text: one sentence per line, or running (--segment punkt, stanza)",
        source="yours",
        place="data/raw/text (.txt, .txt.gz, .txt.xz)",
        licence="unknown",
        remark="name it with --license; redistribution is as that licence says",
        notice=SourceNotice("plain text that whoever made the corpus supplied"),
    ),
    CorpusDescription(
        reader="corrected",
        name="sentences of a corpus with coordinations that people decided on",
        source="yours: what `conjoin annotate` saved, or corrected output of predict or export (.jsonl, "
        ".conllu, brat), a file or a folder",
        place="CORPUS/annotated.jsonl, or anywhere",
        licence="unknown",
        remark="each row has that of the sentence in the corpus",
        notice=SourceNotice("sentences whose coordinations whoever made the corpus annotated"),
        options="--of CORPUS",
    ),
    CorpusDescription(
        reader="pdtb",
        name="discourse relations in the form of the PDTB 3 (Prasad et al., 2019), as GDTB has them, the "
        "relations of GUM (Liu et al., 2024)",
        source="https://github.com/amir-zeldes/gum, folder rst/gdtb/pdtb; the PDTB 3 itself: LDC2019T05",
        place="data/raw/pdtb (the archive or what is in it: folders gold and raw beside each other)",
        licence="unknown",
        remark="of GUM's documents by genre, as for gum; of wsj_*: LDC-User-Agreement; name others with "
        "--license, or by document with --licenses",
        notice=SourceNotice(
            "discourse relations in the form of the Penn Discourse Treebank 3",
            attribution="If they are those of GUM, GDTB (Liu et al., 2024, https://gucorpling.org/gum/): "
            "annotation (c) Amir Zeldes and the annotators of GUM, under CC BY 4.0. Texts: of their authors, "
            "each under the licence that its row names.",
        ),
        by_document=True,
        task=RELATIONS,
    ),
    CorpusDescription(
        reader="wac",
        name="the Wikipedia Annotated Corpus, Japanese predicates with their arguments (Hangyo et al., 2014)",
        source="https://github.com/ku-nlp/WikipediaAnnotatedCorpus, folders knp and id",
        place="data/raw/wac (the archive or what is in it), or other files in the KNP format; for pretrain "
        "more Japanese in its folder text/ (.txt, .gz, .xz: a sentence a line, blanks between words)",
        licence="unknown",
        remark="of its own documents, wiki*: CC-BY-SA-4.0, text and annotation; name others with "
        "--license, or by document with --licenses",
        notice=SourceNotice(
            "the Wikipedia Annotated Corpus (Hangyo et al., 2014)",
            "https://github.com/ku-nlp/WikipediaAnnotatedCorpus",
            "(c) Kyoto University, Language Media Processing Lab, and the authors of Wikipedia, under CC "
            "BY-SA 4.0.",
        ),
        by_document=True,
        task=ARGUMENTS,
        language="ja",
    ),
    CorpusDescription(
        reader="world-relations",
        name="argument pairs of the embedded miniature world, of six senses",
        source="comes with conjoin (data/raw/world/lexicon.yaml); generated here",
        place="data/raw/world",
        licence="Apache-2.0",
        remark="conjoin's own",
        notice=SourceNotice(
            "the miniature world that comes with conjoin (English-like argument pairs that a grammar made)",
            attribution="(c) the conjoin authors, under the Apache License 2.0.",
        ),
        task=RELATIONS,
        raw="world",
    ),
    CorpusDescription(
        reader="world-arguments",
        name="predicates of the embedded miniature world, some of which share a subject",
        source="comes with conjoin (data/raw/world/lexicon.yaml); generated here",
        place="data/raw/world",
        licence="Apache-2.0",
        remark="conjoin's own",
        notice=SourceNotice(
            "the miniature world that comes with conjoin (English-like predicates that a grammar made)",
            attribution="(c) the conjoin authors, under the Apache License 2.0.",
        ),
        task=ARGUMENTS,
        raw="world",
    ),
    CorpusDescription(
        reader="ecare",
        name="e-CARE, causal questions of two choices (Du et al., 2022)",
        source="https://github.com/Waste-Wood/e-CARE, files train_full.jsonl and dev_full.jsonl",
        place="data/raw/ecare (files that are called train, dev or test, .jsonl, .jsonl.gz or .jsonl.xz)",
        licence="MIT",
        remark="labels of the test split are not published",
        notice=SourceNotice(
            "e-CARE (Du et al., 2022)",
            "https://github.com/Waste-Wood/e-CARE",
            "e-CARE: (c) 2022 HIT-SCIR, under the MIT License.",
        ),
        task=QUESTIONS,
    ),
    CorpusDescription(
        reader="kuci",
        name="questions of four choices in the form of KUCI, Japanese commonsense inference "
        "(Omura et al., 2020)",
        source="https://github.com/ku-nlp/KUCI",
        place="data/raw/kuci (files that are called train, dev or test, .jsonl, .jsonl.gz or .jsonl.xz)",
        licence="unknown",
        remark="name it with --license; redistribution is as that licence says",
        notice=SourceNotice("questions in the form of KUCI (Omura et al., 2020)"),
        task=QUESTIONS,
        language="ja",
    ),
    CorpusDescription(
        reader="asked",
        name="questions that `conjoin ask` made of event pairs",
        source="yours: a folder of candidates that `conjoin ask` finished",
        place="CORPUS/candidates/NAME/seed-SEED",
        licence="unknown",
        remark="each row has that of the text its question was made of",
        notice=SourceNotice("questions that `conjoin ask` made of text"),
        task=QUESTIONS,
    ),
    CorpusDescription(
        reader="world-questions",
        name="questions about the embedded miniature world, and text that says what brings what about",
        source="comes with conjoin (data/raw/world/lexicon.yaml); generated here",
        place="data/raw/world",
        licence="Apache-2.0",
        remark="conjoin's own",
        notice=SourceNotice(
            "the miniature world that comes with conjoin (English-like questions that a program made)",
            attribution="(c) the conjoin authors, under the Apache License 2.0.",
        ),
        task=QUESTIONS,
        raw="world",
    ),
)
CORPORA = {corpus.reader: corpus for corpus in _ALL}
"""By the name of their reader."""
