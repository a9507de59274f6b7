"""JSON and YAML from files that may be of any make: read whole and checked, or refused in one line.

What conjoin reads need not be what conjoin wrote: a corpus from elsewhere is not trusted, and a hand-edited
``params.yaml`` may hold a slip. So a document is a regular file of bounded size, depth and expansion, and its
reader names the form that it goes on to use.
"""

import json
import stat
from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from pipeline.core.errors import ConjoinError, InputError, SettingsError

Count = Annotated[int, Field(ge=0, lt=2**63)]
"""In a form: a number of things."""

Number = Annotated[float, Field(gt=-(2.0**63), lt=2.0**63)]
"""In a form: a number that can be counted with and shown, with or without a fraction."""

PlaceName = Annotated[str, Field(pattern=r"^[^\x00-\x1f]*$", max_length=4096)]
"""In a form: a path, or another name that becomes a part of one."""

FileName = Annotated[str, Field(pattern=r"^[^\x00-\x1f/]+$", max_length=255)]
"""In a form: the name of a file in the folder at hand."""


def _below(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError("leads out of the folder at hand")
    return name


RelativeName = Annotated[
    str, Field(pattern=r"^[^\x00-\x1f]+$", max_length=4096), AfterValidator(_below)
]
"""In a form: the name of a file in the folder at hand or below it."""

_LARGEST = 64 * 2**20  # bytes: conjoin writes 3 MiB at most, a manifest of 10,000 shards
_DEEPEST = 50  # levels; params.yaml has six, and so has a manifest
_MOST_NODES = 100_000  # of YAML, aliases counted each time they are used
_REMEDY = "run the stage that writes it"
_MAPPING = dict[str, Any]
_BROKEN = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What Python raises while it makes values of text that follows the grammar: dates, numbers without end."""


def read_json(
    path: Path, form: Any = _MAPPING, *, remedy: str = _REMEDY, needs: Iterable[str] = ()
) -> Any:
    """Read a JSON file.

    Args:
        path: the file.
        form: the type that the document must have: a ``typing_extensions.TypedDict`` names the keys that
            are needed, and others may stand beside them; ``object`` takes anything.
        remedy: for the errors.
        needs: keys that this reader cannot do without, such as ``about.seed``, though the form can.

    Raises:
        InputError: it is missing, cannot be read, too large, not JSON in UTF-8, nested too deep, or
            of another form.
    """
    value = parse_json(_text(path, remedy, InputError), form, path=path, remedy=remedy)
    for key in needs:
        place = value
        for name in key.split("."):
            if name not in place:
                what = f"not as conjoin writes it: {key}: field required"
                raise InputError(what, path=path, remedy=remedy)
            place = place[name]
    return value


def read_document_text(path: Path, *, remedy: str = "", errors: str = "strict") -> str:
    """Read the text of a document that is neither JSON nor YAML, or JSON line by line.

    Args:
        path: the file.
        remedy: for the errors.
        errors: what becomes of bytes that are not UTF-8, as ``bytes.decode`` has it.

    Raises:
        InputError: it is missing, cannot be read, too large, or not UTF-8.
    """
    return _text(path, remedy, InputError, errors)


def parse_json(
    text: str,
    form: Any = _MAPPING,
    *,
    path: Path | None = None,
    line: int | None = None,
    remedy: str = _REMEDY,
) -> Any:
    """The value of a JSON text; ``path`` and ``line`` say where it stands, for the errors.

    Raises:
        InputError: it is not JSON, nested too deep, or of another form.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON: {error.msg}", path=path, line=line or error.lineno, remedy=remedy
        ) from error
    except (ValueError, RecursionError) as error:  # a number or brackets without end
        raise InputError(
            f"not JSON that can be read: {_first_line(error)}", path=path, line=line, remedy=remedy
        ) from error
    if text.count("[") + text.count("{") > _DEEPEST and _is_deeper(value, _DEEPEST):
        # Some hundred levels can be read, but not written again.
        entries = value.items() if isinstance(value, dict) else ()
        keys = [f"{key[:40]}: " for key, part in entries if _is_deeper(part, _DEEPEST - 1)]
        raise InputError(
            f"{(keys or [''])[0]}nested more than {_DEEPEST} levels deep",
            path=path,
            line=line,
            remedy=remedy,
        )
    try:
        if "\\ud" in text.lower():  # half a character can be written so, and never again
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InputError("holds half a character", path=path, line=line, remedy=remedy) from error
    check_form(value, form, path=path, line=line, remedy=remedy)
    return value


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether a JSON value has more levels of lists and objects than that."""
    level = _containers([value])
    for _ in range(levels):
        level = [
            part
            for each in level
            for part in _containers(each.values() if isinstance(each, dict) else each)
        ]
    return bool(level)


def _containers(values: Iterable[Any]) -> list[Any]:
    return [each for each in values if isinstance(each, dict | list)]


def check_form(
    value: Any,
    form: Any,
    *,
    path: Path | None = None,
    line: int | None = None,
    remedy: str = _REMEDY,
) -> None:
    """Check that a value that was read has a form.

    Raises:
        InputError: it has not.
    """
    try:
        _adapter(form).validate_python(value, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(each)[:40] for each in first["loc"][:8])
        said = first["msg"].removeprefix("Value error, ").lower()
        raise InputError(
            f"not as conjoin writes it: {f'{place}: ' if place else ''}{said[:200]}",
            path=path,
            line=line,
            remedy=remedy,
        ) from error


@cache
def _adapter(form: Any) -> TypeAdapter[Any]:
    return TypeAdapter(form)


def read_yaml(path: Path) -> Any:
    """Read a YAML file; None if it is empty.

    Raises:
        SettingsError: it is missing, cannot be read, too large, or not YAML that can be read.
    """
    return parse_yaml(_text(path, "", SettingsError), path=path)


def parse_yaml(text: str, *, path: Path | None = None, what: str = "") -> Any:
    """The value of a YAML text.

    Args:
        text: the text.
        path: where it stands, for the errors.
        what: it is, for the errors: ``--set seeds=[``.

    Raises:
        SettingsError: it is not YAML, nests too deep, refers to itself or expands without measure.
    """
    head = f"{what}: " if what else ""
    try:
        return deepcopy(_yaml_value(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SettingsError(
            f"{head}not YAML: {error.problem or error.context}",
            path=path,
            line=mark.line + 1 if mark else None,
        ) from error
    except yaml.YAMLError as error:
        raise SettingsError(f"{head}not YAML: {_first_line(error)}", path=path) from error
    except RecursionError as error:
        raise SettingsError(f"{head}nested more than {_DEEPEST} levels deep", path=path) from error
    except _BROKEN as error:
        raise SettingsError(
            f"{head}a value cannot be read: {_first_line(error)}", path=path
        ) from error


@lru_cache(maxsize=2)
def _yaml_value(text: str) -> Any:
    """The value of a text, remembered: `plan` reads params.yaml for each of some hundred cells."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _bounded(node)
        return loader.construct_document(node)
    finally:
        loader.dispose()


class _Loader(yaml.SafeLoader):
    """Refuses what nests too deep and has too many values, as it is read, and whole numbers of no use.

    A number of over 64 bits is none that anything here takes, and Python may not even be able to print it.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """The next node of the document.

        Raises:
            RecursionError: it lies too deep.
            ValueError: there are too many.
        """
        self._depth += 1
        self._nodes += 1
        if self._depth > _DEEPEST + 1:
            raise RecursionError
        if self._nodes > _MOST_NODES:
            raise ValueError(f"more than {_MOST_NODES:,} values")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """The number of a node.

        Raises:
            ConstructorError: it needs more than 64 bits.
        """
        number = int(super().construct_yaml_int(node))
        if abs(number) >= 2**63:
            said = "a whole number of more than 64 bits"
            raise yaml.constructor.ConstructorError(None, None, said, node.start_mark)
        return number


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)


def _bounded(node: yaml.Node) -> None:
    """Refuse what grows without measure when its aliases are followed.

    Raises:
        ValueError: it contains itself, or has too many nodes.
        RecursionError: it nests too deep.
    """
    sizes: dict[int, int] = {}
    above: set[int] = set()

    def size(node: yaml.Node) -> int:
        if not isinstance(node, yaml.CollectionNode):
            if "\0" in node.value or any("\ud800" <= c <= "\udfff" for c in node.value):
                raise ValueError("NUL, or half a character, which no text can hold")
            return 1
        key = id(node)
        if key in above:
            raise ValueError("an alias refers to what contains it")
        if len(above) > _DEEPEST:
            raise RecursionError
        if key not in sizes:
            above.add(key)
            parts = (part for each in node.value for part in _parts(each))
            sizes[key] = 1 + sum(map(size, parts))
            above.remove(key)
            if sizes[key] > _MOST_NODES:
                raise ValueError(f"more than {_MOST_NODES:,} values when its aliases are followed")
        return sizes[key]

    size(node)


def _parts(each: Any) -> tuple[yaml.Node, ...]:
    """The nodes of an entry: a mapping's are pairs."""
    return each if isinstance(each, tuple) else (each,)


def _text(
    path: Path, remedy: str, refusal: Callable[..., ConjoinError], errors: str = "strict"
) -> str:
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):  # a pipe would be waited for
            what = "a folder, not a file" if stat.S_ISDIR(facts.st_mode) else "not a regular file"
            raise refusal(what, path=path, remedy=remedy or "put a file there")
        if (size := facts.st_size) > _LARGEST:
            raise refusal(
                f"{size / 2**20:,.0f} MiB, where {_LARGEST // 2**20} are the most",
                path=path,
                remedy=remedy,
            )
        return path.read_text(encoding="utf-8", errors=errors)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise refusal("no such file", path=path, remedy=remedy or "check the name") from error
    except OSError as error:
        raise refusal(f"cannot be read: {error.strerror}", path=path, remedy=remedy) from error
    except UnicodeDecodeError as error:
        raise refusal("not UTF-8 text", path=path, remedy=remedy) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
