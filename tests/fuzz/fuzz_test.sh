#!/usr/bin/env bash
# Fuzzes for some seconds, starting from seeds written in hexadecimal; fails if the fuzzer finds anything.
# Usage: fuzz_test.sh FUZZER SECONDS SEED.hex...
#   FUZZ_SEED    random seed; default 1, so that a failing test fails again; 0 = another one each time
#   FUZZ_CORPUS  a directory that is kept: what covers new code is added to it; default a temporary one
set -euo pipefail

fuzzer=$1
seconds=$2
shift 2

corpus=${FUZZ_CORPUS:-}
if [[ -z $corpus ]]; then
  corpus=$(mktemp -d "${TEST_TMPDIR:-/tmp}/corpus.XXXXXX")
  trap 'rm -rf "$corpus"' EXIT
fi
mkdir -p "$corpus"
for seed in "$@"; do
  bytes=$(sed 's/#.*//' "$seed" | tr -s '[:space:]' '\n' | sed '/^$/d; s/^/\\x/' | tr -d '\n')
  printf "%b" "$bytes" >"$corpus/$(basename "$seed" .hex)"
done

# A small quarantine: the freed memory that the address sanitizer keeps would be most of what this takes.
export ASAN_OPTIONS=quarantine_size_mb=16
# The input of a failure is kept where Bazel keeps a test's outputs, or in the current directory.
"$fuzzer" -seed="${FUZZ_SEED:-1}" -max_total_time="$seconds" -max_len=4096 -timeout=5 -rss_limit_mb=1024 \
  -print_final_stats=1 -artifact_prefix="${TEST_UNDECLARED_OUTPUTS_DIR:-.}/" "$corpus"
