"""All C++ is as clang-format 14 writes it, by the .clang-format at the root."""

import concurrent.futures
import os
import re
import shutil
import subprocess

from source_tree import Finding

PROGRAM = "clang-format-14"


def check(tree):
    if shutil.which(PROGRAM) is None:
        return [Finding(".clang-format", 1, f"{PROGRAM} is not installed; run tools/install_deps.sh")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(_check_file, path, text, tree.root) for path, text in tree.cpp().items()]
        return [finding for job in jobs for finding in job.result()]


def _check_file(path, text, root):
    """At most one finding: the first line that differs."""
    command = [PROGRAM, "--dry-run", f"--assume-filename={path}", "--ferror-limit=1"]
    result = subprocess.run(command, input=text, capture_output=True, text=True, cwd=root, check=False)
    first = re.search(rf"^{re.escape(path)}:(\d+):\d+: ", result.stderr, re.MULTILINE)
    if first:
        return [Finding(path, int(first.group(1)), f"not formatted; run {PROGRAM} -i {path}")]
    if result.returncode != 0:
        return [Finding(path, 1, f"{PROGRAM} failed: {result.stderr.strip()}")]
    return []
