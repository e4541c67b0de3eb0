#!/bin/sh
# Runs a program where the kernel puts each mapping above the one before, as with vm.legacy_va_layout.

# The report is what tests/report counts: what just ends well has passed.
skip() {
  echo "skipped: $1"
  printf '<testsuites><testsuite><testcase name="all"><skipped message="%s"/></testcase></testsuite></testsuites>\n' "$1" \
    >"${XML_OUTPUT_FILE:-/dev/null}"
}

if ! setarch --addr-compat-layout true; then
  skip "no program may ask for that here"
elif grep -q __tsan_init "$1"; then
  skip "ThreadSanitizer has other uses for those addresses"
else
  exec setarch --addr-compat-layout "$@"
fi
