"""Debian packages that are unpacked, not installed: which versions there are, and their contents."""

import os
import pathlib
import subprocess

from build_step import BuildLog
from errors import GuestError


def versions(package: str) -> list[str]:
    """Those that apt can download, as its sources list them."""
    return parse_madison(_ask(["apt-cache", "madison", package]))


def candidate(package: str, log: BuildLog) -> str:
    """The version that apt would install. Looks for new lists of packages if it knows none."""
    version = parse_candidate(_ask(["apt-cache", "policy", package]))
    if version is None and os.geteuid() == 0:
        log.run(["apt-get", "update", "-qq"], log.path.parent)
        version = parse_candidate(_ask(["apt-cache", "policy", package]))
    if version is None:
        raise GuestError(f"apt knows no package {package}: run apt-get update as root; the guest is made of the "
                         "packages of Debian 12")
    return version


def unpack(package: str, version: str, directory: pathlib.Path, log: BuildLog) -> None:
    """Downloads the package and puts its files under `directory`, beside those of others."""
    directory.mkdir(exist_ok=True)
    log.run(["apt-get", "-q", "download", f"{package}={version}"], directory)
    for archive in directory.glob("*.deb"):
        log.run(["dpkg", "--extract", archive.name, "."], directory)
        archive.unlink()


def depends_on(package: str, version: str, prefix: str) -> list[str]:
    """Those that it depends on whose names begin with `prefix`."""
    return parse_depends(_ask(["apt-cache", "show", f"{package}={version}"]), prefix)


def parse_candidate(policy: str) -> str | None:
    for line in policy.splitlines():
        name, _, value = line.strip().partition(": ")
        if name == "Candidate":
            return None if value == "(none)" else value
    return None


def parse_madison(listing: str) -> list[str]:
    return [line.split("|")[1].strip() for line in listing.splitlines() if line.count("|") == 2]


def parse_depends(record: str, prefix: str) -> list[str]:
    for line in record.splitlines():
        name, _, value = line.partition(": ")
        if name == "Depends":
            names = [wish.split()[0] for wish in value.split(",")]
            return [name for name in names if name.startswith(prefix)]
    return []


def _ask(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        raise GuestError(f"there is no {command[0]} here: the guest is made of the packages of Debian 12") from None
