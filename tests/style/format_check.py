"""All C++ is as clang-format 14 writes it, by the .clang-format at the root."""

import concurrent.futures
import os
import re
import shutil
import subprocess

from source_tree import Finding

PROGRAM = "clang-format-14"
FILES_PER_RUN = 32  # Starting the program takes longer than formatting a file.


def check(tree):
    if shutil.which(PROGRAM) is None:
        return [Finding(".clang-format", 1, f"{PROGRAM} is not installed; run tools/install_deps.sh")]
    paths = sorted(tree.cpp())
    batches = [paths[start : start + FILES_PER_RUN] for start in range(0, len(paths), FILES_PER_RUN)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda batch: _check_files(batch, tree.root), batches)
        return [finding for of_batch in found for finding in of_batch]


def _check_files(paths, root):
    """At most one finding for each file: the first line that differs."""
    result = subprocess.run([PROGRAM, "--dry-run", *paths], capture_output=True, text=True, cwd=root, check=False)
    first_lines = {}
    for path, line in re.findall(r"^(\S+?):(\d+):\d+: (?:warning|error): ", result.stderr, re.MULTILINE):
        first_lines.setdefault(path, int(line))
    if result.returncode != 0 and not first_lines:
        return [Finding(paths[0], 1, f"{PROGRAM} failed here or after: {result.stderr.strip()}")]
    return [Finding(path, line, f"not formatted; run {PROGRAM} -i {path}") for path, line in first_lines.items()]
