"""Small dependency trees in CoNLL-U, for tests of what reads treebanks."""

from pipeline.text.dependencies import DependencyTree, tree_of
from pipeline.text.lines import GivenSentence

PAST = "Mood=Ind|Tense=Past|VerbForm=Fin"


def row(number: str, text: str, *, enhanced: bool = True) -> str:
    """A line of ten columns: ``form lemma UPOS head deprel``, and FEATS, MISC and DEPS if given."""
    form, lemma, upos, head, deprel, *rest = text.split()
    feats, misc, deps = (*rest, *["_"] * 3)[:3]
    if deps == "_" and enhanced:
        deps = f"{head}:{deprel}"
    return "\t".join((number, form, lemma, upos, "_", feats, head, deprel, deps, misc))


def conllu(name: str, *words: str, enhanced: bool = True) -> str:
    """A sentence of such words, with a ``sent_id``; what has a tab is a line as it stands."""
    lines = [f"# sent_id = {name}"]
    number = 0
    for word in words:
        number += "\t" not in word
        lines.append(word if "\t" in word else row(str(number), word, enhanced=enhanced))
    return "\n".join(lines) + "\n\n"


def tree(text: str) -> DependencyTree:
    """The tree of a sentence in CoNLL-U."""
    rows = tuple(text.rstrip("\n").split("\n"))
    words = tuple(r.split("\t")[1] for r in rows if r.split("\t")[0].isdecimal())
    return tree_of(GivenSentence(words, 1, rows[0].removeprefix("# sent_id = "), rows), "f.conllu")


WON = conllu(
    "won",
    "Mary Mary PROPN 2 nsubj",
    f"won win VERB 0 root {PAST}",
    "gold gold NOUN 2 obj",
    "and and CCONJ 6 cc",
    "Peter Peter PROPN 6 nsubj",
    f"won win VERB 2 conj {PAST} _ 2:conj:and",
    "bronze bronze NOUN 6 obj _ SpaceAfter=No",
    ". . PUNCT 2 punct",
)
"""Mary won gold and Peter won bronze."""
