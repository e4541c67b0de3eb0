"""lto_cc_binary: a cc_binary that is optimized across its files, and those of all that it links, when it is linked.

    load("//tools:lto.bzl", "lto_cc_binary")

    lto_cc_binary(
        name = "frontend",
        srcs = ["frontend.cc"],
        deps = [":greeter_verbena", "//rpc:verbena"],
    )

For a program that is released or measured (docs/performance.md). Linking takes tens of seconds, and what it links is
compiled once more, so tests and whatever else is built all day are plain cc_binary targets. Outside of
--compilation_mode=opt it is one, too.
"""

# A function begins with a cache line: else what a call takes depends on where the linker puts each, by up to 8 % of a
# small call's time from one change to the next (docs/performance/small-calls.md).
_ALIGN = "-falign-functions=64"

_COPT = "//command_line_option:copt"
_LINKOPT = "//command_line_option:linkopt"
_MODE = "//command_line_option:compilation_mode"

def _lto_impl(settings, _attr):
    if str(settings[_MODE]) != "opt" or "-flto" in settings[_COPT]:
        return {_COPT: settings[_COPT], _LINKOPT: settings[_LINKOPT]}
    return {
        _COPT: settings[_COPT] + ["-flto", _ALIGN],
        _LINKOPT: settings[_LINKOPT] + ["-flto=auto", "-O3"],
    }

_lto = transition(
    implementation = _lto_impl,
    inputs = [_COPT, _LINKOPT, _MODE],
    outputs = [_COPT, _LINKOPT],
)

def _lto_binary_impl(ctx):
    linked = ctx.attr.linked[0][DefaultInfo]
    program = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = program, target_file = linked.files_to_run.executable, is_executable = True)
    return [DefaultInfo(executable = program, runfiles = linked.default_runfiles)]

_lto_binary = rule(
    implementation = _lto_binary_impl,
    executable = True,
    attrs = {
        "linked": attr.label(mandatory = True, executable = True, cfg = _lto),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)

def lto_cc_binary(name, tags = [], testonly = False, visibility = None, **kwargs):
    """As cc_binary, but for `args` and `env`, which `bazel run` does not see."""
    native.cc_binary(
        name = name + "_linked",
        tags = ["manual"],
        testonly = testonly,
        visibility = ["//visibility:private"],
        **kwargs
    )
    _lto_binary(name = name, linked = name + "_linked", tags = tags, testonly = testonly, visibility = visibility)
