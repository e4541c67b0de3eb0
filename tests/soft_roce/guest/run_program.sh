#!/bin/bash
# Runs one program of the suite in a guest and leaves in a folder of the host's what suite_run.py counts:
#
#   run_program.sh FOLDER DIRECTORY PROGRAM [ARGUMENT]...
#
#   log        all that the program said
#   cases.xml  its report, if it is one that writes reports
#   before, after   the counters of every RDMA device, a line for each: PATH:VALUE
#   status     its exit status, written last
set -u
folder=${1?} directory=${2?}
shift 2

counters() {
  shopt -s nullglob
  local files=(/sys/class/infiniband/*/ports/*/hw_counters/*)
  # A device that is just being removed takes its files with it.
  ((${#files[@]} == 0)) || grep -sH . "${files[@]}"
}

export GTEST_OUTPUT=xml:$folder/cases.xml
cd -- "$directory" || exit 1
counters >"$folder/before"
"$@" >"$folder/log" 2>&1
status=$?
counters >"$folder/after"
echo $status >"$folder/status"
