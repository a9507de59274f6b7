"""Write the lock files anew: what is pinned, with the hash of every file that the package index has of it.

Usage: make lock, or: python benchmarks/lock.py UV

`requirements.lock` keeps its versions (change one there, and run this); each gets the SHA-256 of all its
files, for every platform and Python. `requirements-cpu.lock` has the build of torch for the CPU that lies in
pip's own folder of wheels (find-links), if one does, and `requirements-cuda.lock` has what torch's build for
NVIDIA's GPUs, the index's own for Linux, needs besides: `make setup` takes the one or the other. UV is the
program uv, which asks the index once for each line.
"""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK, CPU, CUDA = (ROOT / f"requirements{kind}.lock" for kind in ("", "-cpu", "-cuda"))
PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)")


def head(path: Path) -> str:
    """The comment that a lock file begins with."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return "".join(f"{line}\n" for line in lines if line.startswith("#"))


def normal(name: str) -> str:
    """A package's name as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def compiled(uv: str, pins: str, *options: str) -> dict[str, str]:
    """Package → its lines, with the hashes of all files that the index has."""
    line = [uv, "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-header",
            "--no-annotate", "--no-config", "--python-version", "3.11", *options, "-"]  # fmt: skip
    done = subprocess.run(line, input=pins, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(done.stderr)
    parts = re.split(r"^(?=\w)", done.stdout, flags=re.MULTILINE)
    return {normal(found[1]): part for part in parts if (found := PIN.match(part))}


def local_wheels() -> dict[tuple[str, str], list[str]]:
    """(Package, version without what names the build) → hashes of pip's own wheels."""
    configured = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.find-links"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    places = [*configured.stdout.split(), *os.environ.get("PIP_FIND_LINKS", "").split()]
    found: dict[tuple[str, str], list[str]] = {}
    for wheel in (w for place in dict.fromkeys(places) for w in sorted(Path(place).glob("*.whl"))):
        name, version = wheel.name.split("-")[:2]
        with wheel.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found.setdefault((normal(name), version.partition("+")[0]), []).append(digest)
    return found


def main(uv: str) -> None:
    """Write the files."""
    pins = [
        m[0] for line in LOCK.read_text(encoding="utf-8").splitlines() if (m := PIN.match(line))
    ]
    found = compiled(uv, "\n".join(pins), "--no-deps")
    if lacking := {normal(pin.partition("==")[0]) for pin in pins} - found.keys():
        raise SystemExit(f"the index has no {', '.join(sorted(lacking))}")
    torch = next(pin for pin in pins if pin.startswith("torch=="))
    needed = compiled(uv, torch, "--constraint", os.fspath(LOCK))
    # What every build of torch needs, as setuptools, which some versions of Python bring along.
    found = {name: each for name, each in needed.items() if ";" not in each} | found
    LOCK.write_text(head(LOCK) + "".join(found[name] for name in sorted(found)), encoding="utf-8")
    if builds := local_wheels().get(("torch", torch.partition("==")[2])):
        hashes = "".join(f" \\\n    --hash=sha256:{each}" for each in builds)
        CPU.write_text(f"{head(CPU)}{torch}{hashes}\n", encoding="utf-8")
    rest = "".join(lines for name, lines in sorted(needed.items()) if name not in found)
    CUDA.write_text(
        "# What torch's build for NVIDIA's GPUs needs besides requirements.lock; `make lock` writes both.\n"
        + rest,
        encoding="utf-8",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
