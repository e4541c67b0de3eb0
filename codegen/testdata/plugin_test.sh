#!/usr/bin/env bash
# Plain protoc with the plugin, as a user without Bazel runs it: what it writes is compared with the golden files
# (FILE.golden beside the .proto), and what it refuses, with the words it should say.
#
# Usage: plugin_test.sh PLUGIN [--update]     --update: writes the golden files anew, into the source tree
set -euo pipefail

plugin=$PWD/$1
update=${2:-}
testdata=codegen/testdata
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
failures=0

run_protoc() { # arguments of protoc…
  /usr/bin/protoc --plugin=protoc-gen-verbena="$plugin" --proto_path=. "$@"
}

fail() { # message
  echo "FAILED: $1" >&2
  failures=$((failures + 1))
}

expect_golden() { # name of a generated file
  if [[ $update == --update ]]; then
    cp "$output/$testdata/$1" "$BUILD_WORKSPACE_DIRECTORY/$testdata/$1.golden"
  elif ! diff -u "$testdata/$1.golden" "$output/$testdata/$1"; then
    fail "$1 differs; if that is intended: bazel run //codegen/testdata:plugin_test -- --update"
  fi
}

expect_error() { # words, arguments of protoc…
  local words=$1 said
  shift
  if said=$(run_protoc "$@" 2>&1); then
    fail "protoc $* succeeded"
  elif [[ $said != *"$words"* ]]; then
    fail "protoc $* said '$said', not '$words'"
  fi
}

protos=(greeter corners no_package lite imports streaming)
for name in "${protos[@]}"; do
  run_protoc --verbena_out="$output" "$testdata/$name.proto"
  expect_golden "$name.verbena.h"
  expect_golden "$name.verbena.cc"
done

run_protoc --verbena_out="$output" --verbena_opt=generate_mock_code=true "$testdata/mocked.proto"
expect_golden mocked.verbena.h
expect_golden mocked_mock.verbena.h
[[ ! -f $output/$testdata/greeter_mock.verbena.h ]] || fail "mocks that nobody asked for"

run_protoc --verbena_out="$output" "$testdata/common/base.proto"
[[ -f $output/$testdata/common/base.verbena.cc ]] || fail "a file without services generates nothing"

mkdir "$output/elsewhere"
run_protoc --verbena_out=runtime_include_dir=verbena:"$output/elsewhere" "$testdata/greeter.proto"
grep -qx '#include "verbena/rpc/service.h"' "$output/elsewhere/$testdata/greeter.verbena.h" ||
  fail "runtime_include_dir is ignored"

expect_error "unknown option 'colour'; the options are: runtime_include_dir=DIR, generate_mock_code=true|false" \
  --verbena_out="$output" --verbena_opt=colour=red "$testdata/greeter.proto"

printf 'syntax = "proto3";\n' | tee "$output/twin.proto" >"$output/twin_mock.proto"
run_protoc --proto_path="$output" --verbena_out="$output" twin.proto twin_mock.proto
expect_error "twin.proto: its mocks would be in twin_mock.verbena.h, where the stubs of twin_mock.proto are" \
  --proto_path="$output" --verbena_out="$output" --verbena_opt=generate_mock_code=true twin.proto twin_mock.proto

# Nothing is made of a file that is only imported.
printf 'syntax = "proto3";\nimport "twin_mock.proto";\n' >"$output/twin.proto"
run_protoc --proto_path="$output" --verbena_out="$output" --verbena_opt=generate_mock_code=true twin.proto

((failures == 0)) && echo "PASSED"
exit $((failures != 0))
