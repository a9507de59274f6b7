"""The rule that boundaries of harvested rows go by, held against GENIA's annotation."""

from dataclasses import replace
from pathlib import Path

from pipeline.core.schema import read_sentences
from pipeline.text.coordinations import ptb_coordinations
from pipeline.text.trees import parse_tree


def test_the_rule_finds_genias_coordinations_in_its_trees(genia: tuple[Path, str]) -> None:
    """Of its 2,293 gold structures in dev and test 2,287 come out with all conjuncts and the label."""
    corpus, _ = genia
    gold = right = found = 0
    for sentence in read_sentences(corpus / "sentences.parquet", lambda s: s.split != "train"):
        if sentence.tree is None or "(CC " not in sentence.tree:
            continue
        by_rule = replace(
            sentence, coordinations=tuple(ptb_coordinations(parse_tree(sentence.tree)))
        ).evaluable
        own = {*sentence.evaluable}
        gold, right, found = gold + len(own), right + len(own & {*by_rule}), found + len(by_rule)
    assert (gold, right, found) == (2_293, 2_287, 2_340)
