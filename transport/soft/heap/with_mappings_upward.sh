#!/bin/sh
# Runs a program where the kernel puts each mapping above the one before, as with vm.legacy_va_layout.
exec setarch --addr-compat-layout "$@"
