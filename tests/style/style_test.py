"""Each check on samples that it must find, and on samples that it must leave alone."""

import pathlib
import tempfile
import unittest

import format_check
import include_check
import name_check
import size_check
import text_check
from source_tree import SourceTree, blank_comments_and_strings


def messages(check, files):
    return [str(finding) for finding in sorted(check(SourceTree(files)))]


class CheckTest(unittest.TestCase):
    def assert_found(self, check, files, *parts):
        """Exactly one finding for each part, in order, which contains it."""
        found = messages(check, files)
        self.assertEqual(len(found), len(parts), found)
        for message, part in zip(found, parts):
            self.assertIn(part, message)

    def assert_clean(self, check, files):
        self.assertEqual(messages(check, files), [])


class IncludeCheck(CheckTest):
    def found(self, path, include, part, **more):
        target = include.strip('"<>')
        others = {target: "", **more} if include.startswith('"') else more
        self.assert_found(include_check.check, {**others, path: f"\n#include {include}\n"}, part)

    def clean(self, path, include, **more):
        target = include.strip('"<>')
        others = {target: "", **more} if include.startswith('"') else more
        self.assert_clean(include_check.check, {**others, path: f"\n#include {include}\n"})

    def test_higher_floor_is_found_with_its_line(self):
        self.found("transport/wire/a.h", '"transport/verbs/b.h"', "transport/wire/a.h:2: floor 0 includes")
        self.found("transport/a.cc", '"rpc/channel.h"', "floor 3 includes rpc/channel.h of floor 5")
        self.found("rpc/core/a.cc", '"rpc/channel.h"', "floor 4 includes")

    def test_lower_floor_is_left_alone(self):
        self.clean("transport/protocol/a.h", '"transport/wire/frame.h"')
        self.clean("transport/a.cc", '"transport/verbs/device.h"')
        self.clean("rpc/channel.cc", '"rpc/core/call_table.h"')

    def test_sans_io_code_with_threads_clocks_logging_or_sockets_is_found(self):
        for header in ("<mutex>", "<thread>", "<chrono>", "<sys/socket.h>", "<iostream>", '"absl/time/clock.h"'):
            with self.subTest(header):
                self.found("transport/protocol/a.cc", header, "sans-IO code includes")
                self.found("rpc/core/a.h", header, "sans-IO code includes")
                self.clean("transport/a.cc", header)

    def test_sans_io_code_with_values_of_time_is_left_alone(self):
        self.clean("transport/protocol/a.h", '"absl/time/time.h"')

    def test_verbs_headers_above_the_transport_are_found(self):
        self.found("rpc/a.cc", "<infiniband/verbs.h>", "only transport/verbs")
        self.found("transport/protocol/a.h", "<rdma/rdma_cma.h>", "only transport/verbs")
        self.clean("transport/rdma_connection.cc", "<infiniband/verbs.h>")

    def test_handles_that_know_the_software_device_are_found(self):
        self.found("transport/verbs/a.cc", '"transport/soft/soft_api.h"', "choose the table on floor 3")
        self.clean("transport/verbs/a_test.cc", '"transport/soft/soft_api.h"')

    def test_rpc_beyond_the_seam_is_found(self):
        self.found("rpc/a.cc", '"transport/buffer_pool.h"', "rpc knows of transport only")
        self.clean("rpc/a.cc", '"transport/connection.h"')

    def test_coroutine_layer_that_knows_calls_is_found(self):
        self.found("rpc/coroutine/a.h", '"rpc/channel.h"', "the coroutine layer knows")
        self.found("rpc/coroutine/a.h", '"transport/connection.h"', "the coroutine layer knows")
        self.clean("rpc/coroutine/a.h", '"transport/event_loop.h"')
        self.clean("rpc/coroutine/a_test.cc", '"rpc/testing/manual_loop.h"')
        self.clean("rpc/channel.h", '"rpc/coroutine/task.h"')

    def test_name_source_that_knows_calls_is_found(self):
        self.found("rpc/names/a.h", '"rpc/channel.h"', "name sources know")
        self.found("rpc/names/a.cc", '"rpc/core/balancing/balancer.h"', "name sources know")
        self.found("rpc/names/a_test.cc", '"transport/event_loop.h"', "name sources know")
        self.clean("rpc/names/a.h", '"rpc/core/balancing/server_address.h"')
        self.clean("rpc/channel.h", '"rpc/names/name_source.h"')

    def test_balancing_with_clocks_or_names_is_found(self):
        self.found("rpc/core/balancing/a.cc", "<mutex>", "sans-IO code includes")
        self.found("rpc/core/balancing/a.h", '"rpc/names/name_source.h"', "floor 4 includes")

    def test_generator_on_the_runtime_is_found(self):
        self.found("codegen/a.cc", '"rpc/service.h"', "does not include rpc/service.h")
        self.clean("codegen/testdata/a_test.cc", '"rpc/service.h"')

    def test_example_on_internals_is_found(self):
        self.found("examples/a.cc", '"rpc/core/call_table.h"', "public headers")
        self.found("examples/a.cc", '"transport/connection.h"', "public headers")
        self.clean("examples/a.cc", '"rpc/channel.h"')
        self.clean("examples/a.cc", '"examples/greeter.verbena.h"')

    def test_double_in_production_is_found(self):
        self.found("rpc/a.cc", '"rpc/testing/memory_connection.h"', "testing double")
        self.found("transport/verbs/a.cc", '"transport/verbs/fake_verbs_api.h"', "testing double")
        self.clean("rpc/a_test.cc", '"rpc/testing/memory_connection.h"')

    def test_testing_stands_above_rpc_and_beside_examples(self):
        self.found("rpc/a_test.cc", '"testing/in_process_server.h"', "floor 5 includes testing/in_process_server.h of floor 6")
        self.found("examples/a.cc", '"testing/in_process_server.h"', "testing double")
        self.clean("examples/a_test.cc", '"testing/in_process_server.h"')
        self.clean("testing/memory_endpoints.h", '"rpc/testing/memory_network.h"')

    def test_header_for_users_tests_on_internals_is_found(self):
        self.found("testing/in_process_server.h", '"rpc/testing/memory_network.h"', "public headers only")
        self.found("testing/virtual_time_server.h", '"rpc/core/call_table.h"', "public headers only")
        self.clean("testing/network_faults.h", '"rpc/options.h"')

    def test_siblings_that_must_not_meet_are_found(self):
        self.found("transport/protocol/eager.cc", '"transport/protocol/rendezvous_sender.h"', "meet one floor up")
        self.found("rpc/core/server_session.h", '"rpc/core/client_session.h"', "meet one floor up")

    def test_missing_file_is_found(self):
        self.assert_found(include_check.check, {"rpc/a.cc": '#include "a.h"\n'}, "no file of this repository")
        self.assert_clean(include_check.check, {"rpc/a.cc": '#include "gtest/gtest.h"\n#include "a/b.pb.h"\n'})

    def test_seam_that_leads_to_verbs_is_found_however_far(self):
        files = {
            "rpc/channel.h": '#include "transport/connection.h"\n',
            "transport/connection.h": '#include "transport/frame_queue.h"\n',
            "transport/frame_queue.h": "#include <infiniband/verbs.h>\n",
        }
        way = "transport/frame_queue.h -> infiniband/verbs.h"
        self.assert_found(include_check.check, files, way, way)

    def test_names_that_need_no_include_are_found(self):
        clock = {"transport/protocol/a.cc": "\nauto now = absl::Now();\n"}
        self.assert_found(include_check.check, clock, "transport/protocol/a.cc:2: sans-IO code uses absl::Now")
        self.assert_found(include_check.check, {"rpc/a.h": "struct ibv_qp;\n"}, "ibv_qp above the transport")
        alike = {"rpc/core/a.h": "// absl::Now(), ibv_qp\nint snprintf_like, rdma_reads;\n"}
        self.assert_clean(include_check.check, alike)

    def test_include_in_a_comment_is_left_alone(self):
        files = {"transport/wire/a.h": '// #include "rpc/channel.h"\n', "rpc/channel.h": ""}
        self.assert_clean(include_check.check, files)


class SizeCheck(CheckTest):
    BODY = "  Step();\n"

    def test_file_past_the_limit_is_found(self):
        self.assert_found(size_check.check, {"a.py": "x\n" * 401}, "a.py:401: 401 lines")
        self.assert_clean(size_check.check, {"a.py": "x\n" * 400, "golden.md": "x\n" * 999})

    def test_function_past_the_limit_is_found_with_its_name_and_line(self):
        text = "namespace a {\n\nvoid Queue::Run(int n) {\n" + self.BODY * 69 + "}\n}\n"
        self.assert_found(size_check.check, {"a.cc": text}, "a.cc:3: Queue::Run has 71 lines")

    def test_function_at_the_limit_is_left_alone(self):
        self.assert_clean(size_check.check, {"a.cc": "void Run() {\n" + self.BODY * 68 + "}\n"})

    def test_every_shape_of_function_is_measured(self):
        shapes = {
            "in a class": "class A final : public B {\n public:\n  int f(int a = 1) const override {\n%s}\n};\n",
            "constructor with members in braces": "A::A(int n) : a_{n}, b_(n) {\n%s}\n",
            "operator": "A& A::operator=(A&& from) noexcept {\n%s}\n",
            "template": "template <typename T, int n = 3>\nT F(T t) {\n%s}\n",
            "test": "TEST_F(Suite, Outcome) {\n%s}\n",
            "trailing return": "auto F(int n) -> std::vector<int> {\n%s}\n",
            "returns a struct": "struct A* F(int n) {\n%s}\n",
            "after a type with alignas": "struct alignas(64) A { int a = {1}; };\nvoid F() {\n%s}\n",
            "blocks inside": "void F() {\n  if (a) {\n%s  }\n}\n",
        }
        for name, shape in shapes.items():
            with self.subTest(name):
                self.assertEqual(len(messages(size_check.check, {"a.cc": shape % (self.BODY * 80)})), 1)
                self.assert_clean(size_check.check, {"a.cc": shape % self.BODY})

    def test_tables_types_and_namespaces_may_be_long(self):
        self.assert_clean(size_check.check, {"a.cc": "constexpr int kTable[] = {\n" + "  F(1),\n" * 99 + "};\n"})
        self.assert_clean(size_check.check, {"a.h": "class A {\n" + "  void f() { g(); }\n" * 99 + "};\n"})
        self.assert_clean(size_check.check, {"a.h": "enum class A {\n" + "  kA,\n" * 99 + "};\n"})

    def test_braces_in_comments_strings_and_macros_do_not_count(self):
        noise = '  // }\n  Say("}{");\n  Say(R"(}}}\n{)");\n  char c = \'}\';\n  int n = 1\'000;\n#define A {\n'
        functions = list(size_check.functions("void F() {\n" + noise + "}\nvoid G() {\n}\n"))
        self.assertEqual([name for name, _, _ in functions], ["F", "G"])


class NameCheck(CheckTest):
    def test_words_in_types_are_found(self):
        for text, word in (
            ("class BufferManager {", "manager"),
            ("struct RpcUtil final {", "util"),
            ("enum class OldState : int {", "old"),
            ("using CallInfo = int;", "info"),
            ("class alignas(64) NewPool {", "new"),
            ("struct ConnectionImpl2;", "impl2"),
        ):
            with self.subTest(text):
                self.assert_found(name_check.check, {"a.h": f"\n{text}"}, f'a.h:2: type')
                self.assertIn(f'"{word}"', messages(name_check.check, {"a.h": text})[0])

    def test_words_in_file_names_are_found(self):
        self.assert_found(name_check.check, {"rpc/a_util.h": ""}, 'rpc/a_util.h:1: file name has the word "util"')
        self.assert_found(name_check.check, {"tools/test-helpers.sh": ""}, '"helpers"')

    def test_parts_of_words_and_foreign_types_are_left_alone(self):
        text = "class Renewal {};\nstruct Threshold;\nclass HoldOldest {};\nstruct RDMADatagram {};\n"
        self.assert_clean(name_check.check, {"renewal.h": text + "struct PrivateData {};\n"})
        self.assert_clean(name_check.check, {"a.cc": "google::protobuf::FileInfo info;  // class NewInfo {"})


class TextCheck(CheckTest):
    def test_unfinished_work_is_found(self):
        self.assert_found(text_check.check, {"a.md": "one\nTO" "DO: two\n"}, "a.md:2: `TO" "DO`")

    def test_paths_of_a_machine_are_found(self):
        self.assert_found(text_check.check, {"a.sh": "cd /wo" "rk/main\n"}, "a path of one machine")
        self.assert_found(text_check.check, {"a.md": "see /ro" "ot/x, /ho" "me/anna\n"}, "/ho" "me/anna", "/ro" "ot")
        self.assert_found(text_check.check, {"a.sh": "echo > /tm" "p/out\n"}, "mktemp")

    def test_paths_of_any_machine_are_left_alone(self):
        text = "${TMPDIR:-/tm" "p}/x  $HOME/x  /usr/lib  network/workers  https://a.example/wo" "rk/x\n"
        self.assert_clean(text_check.check, {"a.sh": text})

    def test_destroy_call_out_of_place_is_found(self):
        for call in ("ibv_destroy_qp(qp)", "rdma_destroy_id (id)", "api->destroy_cq(cq)", "ibv_dereg_mr(mr)"):
            with self.subTest(call):
                files = {"BUILD.bazel": '"a.cc"', "a.cc": f"void F() {{ {call}; }}"}
                self.assert_found(text_check.check, files, "only handles destroy")

    def test_destroy_call_in_its_place_or_in_words_is_left_alone(self):
        files = {"transport/verbs/BUILD.bazel": '"a.cc"', "transport/verbs/a.cc": "ibv_destroy_qp(qp);"}
        self.assert_clean(text_check.check, files)
        self.assert_clean(text_check.check, {"BUILD.bazel": '"a.cc"', "a.cc": "// ibv_destroy_qp(qp)\n"})

    def test_a_line_written_in_parts_is_found(self):
        parts = 'std::cerr << "usage: verbena <host>; "\n          << status << std::endl;'
        whole = '// std::cerr << a << b;\nstd::cerr << absl::StrCat("verbena: ", status.ToString(), "\\n");'
        self.assert_found(text_check.check, {"tools/BUILD.bazel": '"a.cc"', "tools/a.cc": parts}, "as one string")
        self.assert_clean(text_check.check, {"tools/BUILD.bazel": '"a.cc"', "tools/a.cc": whole})

    def test_wrong_include_guard_is_found(self):
        files = {"rpc/BUILD.bazel": '"a.h"', "rpc/a.h": "#ifndef A_H\n#define A_H\n#endif\n"}
        self.assert_found(text_check.check, files, "rpc/a.h:1: the include guard must be VERBENA_RPC_A_H_")

    def test_source_in_no_target_is_found(self):
        files = {"rpc/BUILD.bazel": '"b.cc"', "rpc/a.cc": ""}
        self.assert_found(text_check.check, files, "no target of rpc/BUILD.bazel")
        self.assert_found(text_check.check, {"rpc/a.cc": ""}, "no BUILD.bazel here or above")
        self.assert_clean(text_check.check, {"rpc/BUILD.bazel": 'glob(["x/*.cc"])', "rpc/x/a.cc": ""})


class FormatCheck(CheckTest):
    def test_unformatted_file_is_found_at_its_first_line(self):
        files = {"a.cc": "int a;\nint   b;\nint   c;\n", "b.cc": "int a;\n"}
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**files, ".clang-format": "BasedOnStyle: Google\n"}.items():
                pathlib.Path(root, name).write_text(text, encoding="utf-8")
            tree = SourceTree(files, root)
            found = [str(finding) for finding in format_check.check(tree)]
        self.assertEqual(found, ["a.cc:2: not formatted; run clang-format-14 -i a.cc"])

    def test_missing_program_is_an_error_in_words(self):
        before, format_check.PROGRAM = format_check.PROGRAM, "clang-format-none"
        try:
            self.assert_found(format_check.check, {}, "is not installed; run tools/install_deps.sh")
        finally:
            format_check.PROGRAM = before


class Blanking(unittest.TestCase):
    def test_lines_and_columns_stay(self):
        text = 'a /* b\nc */ d "e" // f\ng'
        blanked = blank_comments_and_strings(text)
        self.assertEqual(len(blanked), len(text))
        self.assertEqual(blanked.split(), ["a", "d", '"', '"', "g"])


if __name__ == "__main__":
    unittest.main()
