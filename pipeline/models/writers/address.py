"""Addresses of servers: what one may look like, and whether it is this machine's own."""

import ipaddress
import re
import socket
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from pipeline.core.candidates import SERVED
from pipeline.core.errors import SettingsError
from pipeline.core.files import digest_of
from pipeline.core.settings import shown_place

_LIKE = "name one like http://127.0.0.1:8000/v1"


def served_identity(name: str) -> str:
    """What records call a model behind an address: its name there.

    Of a folder no more than may be shown, and a digest, for other folders' names may end alike.
    """
    place = Path(name)
    if not place.is_absolute():
        return f"{SERVED}{name}"
    return f"{SERVED}{shown_place(place)}-{digest_of(name)[:8]}"


def base_address(url: str) -> str:
    """The address below which a server has ``/chat/completions``; /v1 where ``url`` names no path.

    Raises:
        SettingsError: it is no address, or has something in it that may be secret, which is not repeated.
    """
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise SettingsError("the address of the server is malformed", remedy=_LIKE) from error
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise SettingsError(
            "the address of the server has a user or password in it, which would be recorded",
            remedy="put the key into an environment variable and name that with --key-env",
        )
    if parts.query or parts.fragment:
        raise SettingsError(
            "the address of the server has something after its path, which would be recorded",
            remedy=_LIKE,
        )
    if parts.scheme not in ("http", "https") or not host:
        raise SettingsError("the address of the server is no http or https address", remedy=_LIKE)
    # As it was written, but for what Python's parser leaves out of a host: IPv6 has brackets.
    shown = f"[{host}]" if ":" in host else host
    path = parts.path.rstrip("/") or "/v1"
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{path}"


def require_near(address: str, *, remote: bool) -> None:
    """Refuse an address that is not this machine's own, unless another was asked for.

    Args:
        address: of ``base_address``.
        remote: whether text may be sent to another machine.

    Raises:
        SettingsError: it is another machine's, or its name has no address.
    """
    host = urlsplit(address).hostname or ""
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError) as error:
        raise SettingsError(
            f"the name {host!r} has no address here", remedy="check --served, and the network"
        ) from error
    # Servers print it where they listen at every address of the machine.
    if any(ipaddress.ip_address(each).is_unspecified for each in found):
        raise SettingsError(
            f"{host} is where a server listens, not where it is reached",
            remedy="name 127.0.0.1 if it runs here",
        )
    if not remote and not all(ipaddress.ip_address(each).is_loopback for each in found):
        raise SettingsError(
            f"{host} is not this machine, and sentences would be sent there",
            remedy="add --remote if the corpus may leave, or start a server on 127.0.0.1",
        )


_KEY_LENGTH = 24
"""Characters from which a name with small letters and capitals or digits is taken for a key."""


def variable_name(name: str) -> str:
    """The name of an environment variable.

    Raises:
        SettingsError: it is none, or as long and mixed as keys are; it is not repeated, for it may be the
            key itself.
    """
    if len(name) >= _KEY_LENGTH and all(re.search(kind, name) for kind in ("[a-z]", "[A-Z0-9]")):
        raise SettingsError(
            "what --key-env names is as long and mixed as a key, and would be recorded",
            remedy="put the key into a variable whose name has capitals and no small letters",
        )
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise SettingsError(
            "--key-env takes the name of an environment variable",
            remedy="put the key into a variable, and name that",
        )
    return name


ServerAddress = Annotated[str, AfterValidator(base_address)]
"""Where a server is, as settings have it."""

KeyVariable = Annotated[str, AfterValidator(variable_name)]
"""The name of the variable with its key."""
