"""A fuzz target: run for some seconds by `bazel test`, for as long as one likes by hand. See docs/wire.md, "Fuzzing"."""

# Bazel's toolchain is g++, libFuzzer is clang's: the sources are compiled by clang directly, in one go, with checks that
# g++'s build has only in its sanitizer configurations.
_COMPILE = """
clang++-14 -std=c++20 -g -O1 -fno-omit-frame-pointer -Wall -Wextra -Werror -Wno-unused-parameter \
    -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -iquote . -o $@ \
    $$(for file in $(SRCS); do case $$file in *.cc) echo $$file ;; esac; done) \
    -Wl,--as-needed -labsl_status -labsl_statusor -labsl_cord -labsl_cordz_info -labsl_cord_internal \
    -labsl_cordz_functions -labsl_cordz_handle -labsl_strings -labsl_strings_internal -labsl_base \
    -labsl_raw_logging_internal -labsl_throw_delegate -labsl_time -labsl_int128
"""

def fuzz_test(name, srcs, seeds, seconds = 10):
    """Defines `name`, a test that fuzzes `srcs` for `seconds` and fails if anything is found, and `name`_binary.

    Args:
      name: of the test.
      srcs: every source and header that the target needs, LLVMFuzzerTestOneInput's among them.
      seeds: *.hex files, the corpus to start from.
      seconds: how long the test runs. Its random seed is fixed, so that a failure comes again.
    """
    native.genrule(
        name = name + "_binary",
        testonly = True,
        srcs = srcs,
        outs = [name + ".fuzzer"],
        cmd = _COMPILE,
        executable = True,
    )
    native.sh_test(
        name = name,
        size = "medium",
        srcs = ["//tests/fuzz:fuzz_test.sh"],
        args = ["$(location :{}_binary)".format(name), str(seconds)] + ["$(locations {})".format(seed) for seed in seeds],
        data = [":{}_binary".format(name)] + seeds,
    )
