"""What is downloaded and built for guests: kept outside the tree, one folder for each version, complete or not there.

Any number of processes may ask for the same folder at once: one builds, the others wait for it. The cache may be
deleted at any time when no guest runs.
"""

import fcntl
import hashlib
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping


def cache_root(environment: Mapping[str, str] = os.environ) -> pathlib.Path:
    base = environment.get("XDG_CACHE_HOME") or os.path.join(environment.get("HOME") or "/var/cache", ".cache")
    return pathlib.Path(base, "verbena", "guest")


def newest(root: pathlib.Path, pattern: str) -> pathlib.Path | None:
    """The folder whose name fits `pattern` and that was made last."""
    found = [entry for entry in root.glob(pattern) if entry.is_dir()] if root.is_dir() else []
    return max(found, key=lambda entry: entry.stat().st_mtime, default=None)


def get_or_build(root: pathlib.Path, key: str, build: Callable[[pathlib.Path], None]) -> pathlib.Path:
    """The folder `key`. If it is not there, `build` fills an empty one, which gets its name when that has returned."""
    entry = root / key
    if entry.is_dir():
        return entry
    root.mkdir(parents=True, exist_ok=True)
    with open(root / f"{key}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if entry.is_dir():
            return entry  # Another process has built it meanwhile.
        prefix = f".building-{key}-"
        for abandoned in root.iterdir():
            if abandoned.name.startswith(prefix):  # Its process was killed: we have the lock.
                shutil.rmtree(abandoned)
        building = pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=root))
        try:
            build(building)
            building.chmod(0o755)
            building.rename(entry)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise
    return entry


def digest_of_files(files: Iterable[pathlib.Path]) -> str:
    """Short: for a name, against mixing up."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]
