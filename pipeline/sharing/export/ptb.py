"""Penn Treebank brackets, a tree on each line: what constituency parsers are trained on."""

from nltk.tree import Tree

from pipeline.sharing.export.protocol import Item, Unwritable
from pipeline.sharing.export.text_file import TextFile
from pipeline.text.splicing import OTHER_WORDS
from pipeline.text.trees import has_own_escape, leaves, one_line, rooted, unescape

UNHELD = "a word that brackets cannot hold"
_ROOT = "ROOT"  # what stanza and benepar know for one
_FRAGMENT = "FRAG"  # the treebank's label for what is no sentence


def ptb(item: Item) -> str:
    """A sentence's tree on one line below ``ROOT``, which has one child.

    Parentheses are ``-LRB-`` and ``-RRB-``. Other characters stand as they are, so that a parser meets them
    as it will in text.

    Raises:
        Unwritable: it has no tree, or its leaves would not be read as its words.
    """
    if item.tree is None:
        raise Unwritable(item.no_tree)
    for leaf, word in zip(item.tree.leaves(), item.words, strict=False):
        require_held(leaf, word)
    if leaves(item.tree) != list(item.words):
        raise Unwritable(OTHER_WORDS)
    tree = rooted(item.tree, _ROOT)
    if len(tree) > 1:  # stanza's trainer stops at a root of several children
        tree = Tree(_ROOT, [Tree(_FRAGMENT, list(tree))])
    return one_line(tree) + "\n"


def require_held(leaf: str, word: str) -> None:
    """Check that a leaf is read as a word, and as one.

    Raises:
        Unwritable: it is not.
    """
    # A backslash at the end would take the bracket after it for a part of the word.
    wrong = not leaf or leaf[-1] == "\\" or any(c.isspace() for c in leaf) or has_own_escape(leaf)
    if wrong or unescape(leaf) != word:
        raise Unwritable(UNHELD)


PTB = TextFile(ptb, (f"({_ROOT} (",), trees=True)
