"""verbena_cc_library: C++ messages and stubs for .proto files.

    load("//codegen:verbena.bzl", "verbena_cc_library")

    verbena_cc_library(
        name = "greeter_verbena",
        srcs = ["greeter.proto"],
        deps = ["//common:types_verbena"],  # Other verbena_cc_library targets, for the files imported from them.
        generate_mock_code = True,  # StubInterface, and MockStub in greeter_mock.verbena.h, which only tests include.
    )

Use it as a cc_library: `#include "path/to/greeter.verbena.h"`. Debian's protoc makes the messages, this package's plugin
the stubs. Files are imported by their path from the root of their workspace; google/protobuf/*.proto are always there.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

_ProtoFilesInfo = provider(
    doc = "The .proto files of a target and of everything that it imports from.",
    fields = {
        "files": "depset of File",
        "roots": "depset of string: directories that imports are relative to",
    },
)

def _workspace_root(label):
    return label.workspace_root or "."

def _generate(ctx, files, roots):
    """Declares one protoc action for all sources. Returns (headers, sources)."""
    headers, sources = [], []
    for src in ctx.files.srcs:
        if src.owner.package != ctx.label.package or src.owner.workspace_root != ctx.label.workspace_root:
            fail("%s belongs to another package: give it a verbena_cc_library there, and name that in deps" % src.owner)
        if not src.is_source:
            fail("%s is generated: only .proto files of the source tree are supported" % src.owner)
        stem = src.basename[:-len(".proto")]
        ends = [".pb.h", ".verbena.h"] + (["_mock.verbena.h"] if ctx.attr.generate_mock_code else [])
        headers += [ctx.actions.declare_file(stem + end, sibling = src) for end in ends]
        sources += [ctx.actions.declare_file(stem + end, sibling = src) for end in [".pb.cc", ".verbena.cc"]]

    output_root = "/".join([part for part in [ctx.bin_dir.path, ctx.label.workspace_root] if part])
    arguments = ctx.actions.args()
    arguments.add(ctx.executable._plugin, format = "--plugin=protoc-gen-verbena=%s")
    arguments.add(output_root, format = "--cpp_out=%s")
    arguments.add(output_root, format = "--verbena_out=%s")
    if ctx.attr.generate_mock_code:
        arguments.add("--verbena_opt=generate_mock_code=true")
    arguments.add_all(roots, format_each = "--proto_path=%s")
    arguments.add_all(ctx.files.srcs)
    ctx.actions.run(
        executable = "/usr/bin/protoc",
        arguments = [arguments],
        inputs = files,
        outputs = headers + sources,
        tools = [ctx.executable._plugin],
        mnemonic = "VerbenaProtoc",
        progress_message = "Generating messages and stubs for %s" % ctx.label,
    )
    return headers, sources

def _verbena_cc_library_impl(ctx):
    files = depset(ctx.files.srcs, transitive = [dep[_ProtoFilesInfo].files for dep in ctx.attr.deps])
    roots = depset(
        [_workspace_root(ctx.label)],
        transitive = [dep[_ProtoFilesInfo].roots for dep in ctx.attr.deps],
    )
    headers, sources = _generate(ctx, files, roots)

    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    dep_infos = [dep[CcInfo] for dep in ctx.attr.deps + ctx.attr._libraries + [ctx.attr.runtime]]
    compilation_context, objects = cc_common.compile(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        srcs = sources,
        public_hdrs = headers,
        compilation_contexts = [info.compilation_context for info in dep_infos],
    )
    linking_context, _ = cc_common.create_linking_context_from_compilation_outputs(
        name = ctx.label.name,
        actions = ctx.actions,
        feature_configuration = features,
        cc_toolchain = toolchain,
        compilation_outputs = objects,
        linking_contexts = [info.linking_context for info in dep_infos],
    )
    return [
        DefaultInfo(files = depset(headers + sources)),
        CcInfo(compilation_context = compilation_context, linking_context = linking_context),
        _ProtoFilesInfo(files = files, roots = roots),
    ]

verbena_cc_library = rule(
    implementation = _verbena_cc_library_impl,
    attrs = {
        "srcs": attr.label_list(
            doc = ".proto files of this package.",
            allow_files = [".proto"],
            mandatory = True,
        ),
        "deps": attr.label_list(
            doc = "verbena_cc_library targets that srcs import from.",
            providers = [CcInfo, _ProtoFilesInfo],
        ),
        "generate_mock_code": attr.bool(
            doc = "Stubs implement an interface, and FILE_mock.verbena.h has gMock's mocks of it: tests that include " +
                  "it depend on gMock, this target does not.",
        ),
        "runtime": attr.label(
            doc = "What the stubs are linked with. Tests put doubles here.",
            default = Label("//rpc:verbena"),
            providers = [CcInfo],
        ),
        "_plugin": attr.label(
            default = Label("//codegen:protoc-gen-verbena"),
            executable = True,
            cfg = "exec",
        ),
        "_libraries": attr.label_list(
            default = [Label("@system//:absl"), Label("@system//:protobuf")],
        ),
        "_cc_toolchain": attr.label(
            default = Label("@bazel_tools//tools/cpp:current_cc_toolchain"),
        ),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    provides = [CcInfo, _ProtoFilesInfo],
)
