#!/bin/sh
# Runs a program where the kernel puts each mapping above the one before, as with vm.legacy_va_layout.
if ! setarch --addr-compat-layout true; then
  echo "skipped: no program may ask for that here"
elif grep -q __tsan_init "$1"; then
  echo "skipped: ThreadSanitizer has other uses for those addresses"
else
  exec setarch --addr-compat-layout "$@"
fi
