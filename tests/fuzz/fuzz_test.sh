#!/usr/bin/env bash
# Fuzzes for some seconds, starting from seeds written in hexadecimal; fails if the fuzzer finds anything.
# Usage: fuzz_test.sh FUZZER SECONDS SEED.hex...
set -euo pipefail

fuzzer=$1
seconds=$2
shift 2

corpus=$(mktemp -d "${TEST_TMPDIR:-/tmp}/corpus.XXXXXX")
trap 'rm -rf "$corpus"' EXIT
for seed in "$@"; do
  bytes=$(sed 's/#.*//' "$seed" | tr -s '[:space:]' '\n' | sed '/^$/d; s/^/\\x/' | tr -d '\n')
  printf "%b" "$bytes" >"$corpus/$(basename "$seed" .hex)"
done

# What it finds is kept where Bazel keeps a test's outputs.
artifacts=${TEST_UNDECLARED_OUTPUTS_DIR:-$corpus}
# A small quarantine: the freed memory that the address sanitizer keeps would be most of what this takes.
export ASAN_OPTIONS=quarantine_size_mb=16
"$fuzzer" -seed=1 -max_total_time="$seconds" -max_len=4096 -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 \
  -artifact_prefix="$artifacts/" "$corpus"
