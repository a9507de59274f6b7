"""The KNP format: what is read of it, and what is wrong with a file."""

import pytest

from pipeline.core.errors import InputError
from pipeline.text.knp import ROOT, BasePhrase, Morpheme, Relation, are_a_tree, read_units

TARO = """\
# S-ID:wiki000010000-1
* 2D
+ 3D
太郎 たろう 太郎 名詞 6 人名 5 * 0 * 0
は は は 助詞 9 副助詞 2 * 0 * 0
* 2D
+ 2D
京都 きょうと 京都 名詞 6 地名 4 * 0 * 0
+ 3D <NE:ORGANIZATION:京都大学>
大学 だいがく 大学 名詞 6 普通名詞 1 * 0 * 0
に に に 助詞 9 格助詞 1 * 0 * 0
* -1D
+ -1D <rel type="ガ" target="太郎" sid="wiki000010000-1" id="0"/><rel type="ヘ" mode="？" target="不特定:物"/>
行った いった 行く 動詞 2 * 0 子音動詞カ行促音便形 3 タ形 10
EOS
"""


def test_a_unit_is_read_whole() -> None:
    """Morphemes with their classes, base phrases with tags, heads; some tags are of nobody in the text."""
    (unit,) = read_units(TARO, "x.knp")
    assert (unit.name, unit.line) == ("wiki000010000-1", 1)
    assert unit.morphemes[:2] == (Morpheme("太郎", "名詞"), Morpheme("は", "助詞"))
    assert unit.heads == (2, 2, ROOT)
    assert [(p.start, p.end, p.bunsetsu, p.head) for p in unit.phrases] == [
        (0, 2, 0, 3), (2, 3, 1, 2), (3, 5, 1, 3), (5, 6, 2, ROOT),
    ]  # fmt: skip
    tags = (Relation("ガ", "wiki000010000-1", 0), Relation("ヘ", None, 0))
    assert unit.phrases[3] == BasePhrase(5, 6, 2, ROOT, tags)
    assert are_a_tree(unit.heads)


def test_heads_that_are_no_tree() -> None:
    """They go round, or point beyond the sentence."""
    assert not are_a_tree((1, 0, ROOT))
    assert not are_a_tree((0,))
    assert not are_a_tree((5, ROOT))
    assert not are_a_tree((-2,))
    assert are_a_tree(())


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("* 2D\n+ 3D\n太", "+ 3D\n太", 2, "before the first bunsetsu"),
        ("* 2D\n+ 3D\n太", "* 2D\n太", 3, "before the first base phrase"),
        ("太郎 たろう 太郎 名詞 6 人名 5 * 0 * 0", "太郎 たろう", 4, "a morpheme of 2 fields, not 11"),
        ('sid="wiki000010000-1" id="0"', 'sid="wiki000010000-1" id="4"', 13, "id 4 of 4 base phrases"),
        ("大学 だいがく 大学 名詞 6 普通名詞 1 * 0 * 0\nに に に 助詞 9 格助詞 1 * 0 * 0\n", "", 9,
         "without a morpheme"),
        ("EOS\n", "", 15, "the unit of line 1 has no EOS"),
        ("EOS\n", "EOS\n太郎\n", 16, "before the header"),
        ("EOS\n", f"EOS\n{TARO}", 16, "stands here twice"),
        ("EOS\n", "# S-ID:other\nEOS\n", 15, "the unit of line 1 has no EOS"),
        ("EOS\n", "EOS\n# S-ID:other\nEOS\n", 16, "a unit without a morpheme"),
        ("EOS\n", "* -1D\nEOS\n", 15, "a bunsetsu without a base phrase"),
        ("* 2D\n+ 3D\n太", "* 2D\n* 2D\n+ 3D\n太", 2, "a bunsetsu without a base phrase"),
        ("* 2D\n+ 2D", f"* {'9' * 5000}D\n+ 2D", 6, "a morpheme of 2 fields"),
        ('sid="wiki000010000-1" id="0"', f'sid="wiki000010000-1" id="{"9" * 5000}"', 13, "a tag that is not"),
        ('sid="wiki000010000-1" id="0"', 'sid="wiki000010000-1" tag="0"', 13, "a tag that is not"),
        # Of a line of 1 MB, which is refused at once.
        ("<rel type=\"ガ\"", '<rel type="a" target="b" sid="' * 30_000, 13, "a tag that is not"),
        ("S-ID:", "S-ID:\x1b", 1, "a control character"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(old: str, new: str, line: int, what: str) -> None:
    """And with the file."""
    assert TARO.count(old) == 1
    with pytest.raises(InputError, match=what) as raised:
        list(read_units(TARO.replace(old, new), "x.knp"))
    assert str(raised.value).startswith(f"x.knp:{line}: ")
