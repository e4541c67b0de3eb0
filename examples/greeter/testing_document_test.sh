#!/usr/bin/env bash
# Every line of C++ that docs/testing.md shows stands in the test that is compiled and run.
#
# Usage: testing_document_test.sh DOCUMENT TEST
set -euo pipefail

shown=0
while IFS= read -r line; do
  [[ -z $line ]] && continue
  shown=$((shown + 1))
  grep -qxF -- "$line" "$2" || { echo "FAILED: $1 shows what $2 does not have: $line" >&2; exit 1; }
done < <(sed -n '/^```cpp$/,/^```$/p' "$1" | grep -v '^```')
((shown > 20)) || { echo "FAILED: $1 shows $shown lines of C++" >&2; exit 1; }
echo PASSED
