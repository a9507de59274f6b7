"""Coordination in GENIA XML: the rule that reproduces the paper's Table 1 to the last instance.

A constituent the annotators marked ``syn="COOD"`` is a coordinate structure if

1. it has a direct child token tagged CC other than both, either, neither; the last such is the
   coordinator (a CC inside a CONJP such as "but not" is none);
2. its conjunct candidates, non-empty constituents that are neither CONJP nor the target of right
   node raising, include one of its own category on each side of the coordinator. In UCP any
   category will do; in NP, ADJP, ADVP, VP and PP, where there is none on the right, the next
   sibling that is not punctuation may be of any of these five.

A target of right node raising is what a ``null="RNR"`` node inside a sibling refers to: "genes" in
"[Spi-1] and [Fli-1] genes". It, shared modifiers, and adverbs after the coordinator stay outside
the conjuncts: the children are cut at CC, CONJP, comma and colon, and each segment gives its
candidate of the constituent's own category; in UCP its candidate that is not ADVP, PRN or LST, or
one of these where it has no other ("[alone] or [in combination]").
"""

from collections.abc import Mapping
from xml.etree.ElementTree import Element

from pipeline.ground.coordination import Coordination, Span
from pipeline.mechanisms.readers.segments import PRECONJUNCTIONS, conjunct_children

__all__ = ["genia_coordinations"]

_EXCHANGEABLE = frozenset({"NP", "ADJP", "ADVP", "VP", "PP"})
_PUNCTUATION = frozenset({"COMMA", "COLON", "PERIOD", "LQT", "RQT", "LRB", "RRB"})
_SEPARATORS = frozenset({"CC", "COMMA", "COLON"})
_MODIFIERS = frozenset({"ADVP", "PRN", "LST"})


def genia_coordinations(sentence: Element, spans: Mapping[Element, Span]) -> list[Coordination]:
    """The coordinate structures of one sentence, in the order of their coordinators.

    Args:
        sentence: a ``sentence`` element.
        spans: the words each ``cons`` and ``tok`` in it covers; empty for null elements.
    """
    marked = (node for node in sentence.iter("cons") if node.get("syn") == "COOD")
    found = (_coordination(node, spans) for node in marked)
    return sorted((c for c in found if c is not None), key=lambda c: c.coordinator)


def _coordination(node: Element, spans: Mapping[Element, Span]) -> Coordination | None:
    children = [child for child in node if len(spans[child])]
    coordinators = [i for i, child in enumerate(children) if _coordinates(child)]
    if not coordinators:
        return None
    category, coordinator = node.get("cat", ""), coordinators[-1]
    candidates = _candidates(children)
    own = {i for i in candidates if category in ("UCP", children[i].get("cat"))}
    if not any(i > coordinator for i in own) and category in _EXCHANGEABLE:
        own |= candidates & _neighbour(children, coordinator)
    if not (any(i < coordinator for i in own) and any(i > coordinator for i in own)):
        return None
    tiers = [own]
    if category == "UCP":
        tiers.insert(0, {i for i in own if children[i].get("cat") not in _MODIFIERS})
    separators = {i for i, child in enumerate(children) if _separates(child)}
    conjuncts = conjunct_children(len(children), separators, coordinator, tiers)
    start = spans[children[coordinator]].start
    return Coordination(
        coordinator=start,
        word="".join((children[coordinator].text or "").split()),
        label=category,
        conjuncts=tuple(spans[children[i]] for i in conjuncts),
    )


def _coordinates(child: Element) -> bool:
    is_cc = child.tag == "tok" and child.get("cat") == "CC"
    return is_cc and (child.text or "").strip().lower() not in PRECONJUNCTIONS


def _separates(child: Element) -> bool:
    if child.tag == "tok":
        return child.get("cat") in _SEPARATORS
    return child.get("cat") == "CONJP"


def _candidates(children: list[Element]) -> set[int]:
    """Constituents that are neither CONJP nor raised out of a sibling."""
    raised = [
        {n.get("ref") for n in child.iter("cons") if n.get("null") == "RNR"} for child in children
    ]
    return {
        i
        for i, child in enumerate(children)
        if child.tag == "cons"
        and child.get("cat") != "CONJP"
        and not any(child.get("id", "") in refs for j, refs in enumerate(raised) if j != i)
    }


def _neighbour(children: list[Element], coordinator: int) -> set[int]:
    """The next child that is not punctuation, if its category can stand for its neighbour's."""
    for index in range(coordinator + 1, len(children)):
        child = children[index]
        if child.tag == "tok" and child.get("cat") in _PUNCTUATION:
            continue
        exchangeable = child.tag == "cons" and child.get("cat") in _EXCHANGEABLE
        return {index} if exchangeable else set()
    return set()
