"""What a kind of guest is made by: from the present version of a Debian package to a folder of the cache."""

import dataclasses
import pathlib
import shutil
from collections.abc import Callable

from build_step import BuildLog
from cache import cache_root, digest_of_files, get_or_build, newest
from debian_packages import candidate
from errors import GuestError


@dataclasses.dataclass(frozen=True)
class Recipe:
    kind: str
    package: str  # Its version is the guest's.
    sources: tuple[pathlib.Path, ...]  # The files of this tree on which the outcome depends.
    build: Callable[[str, pathlib.Path, BuildLog], None]  # Fills an empty folder with what comes of that version.
    run_with: tuple[str, ...] = ()  # Programs without which what was built is of no use.
    built_with: tuple[str, ...] = ()  # Those that only the build needs.

    def installed(self) -> pathlib.Path | None:
        """The newest that this recipe has made, if it can be run."""
        return None if _missing(self.run_with) else newest(cache_root(), f"{self.kind}-*-{self.digest()}")

    def install(self) -> pathlib.Path:
        """The one of the package's present version, built if it is not there."""
        if missing := _missing(self.run_with + self.built_with):
            raise GuestError(f"there is no program {missing[0]}: run tools/install_deps.sh")
        root = cache_root()
        try:
            root.mkdir(parents=True, exist_ok=True)
            log = BuildLog(root / f"{self.kind}.log")
            version = candidate(self.package, log)
            key = f"{self.kind}-{version}-{self.digest()}"
            return get_or_build(root, key, lambda folder: self.build(version, folder, log))
        except OSError as error:
            raise GuestError(f"it cannot be built under {root}: {error}") from error

    def digest(self) -> str:
        """Changes when what is built from the same packages does."""
        return digest_of_files(self.sources)


def _missing(programs: tuple[str, ...]) -> list[str]:
    return [program for program in programs if shutil.which(program) is None]
