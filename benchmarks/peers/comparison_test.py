#!/usr/bin/env python3
"""What is measured for a row, and the table, JSON and charts of what was."""

import os
import pathlib
import subprocess
import tempfile
import unittest
import unittest.mock

import charts
import comparison
import figures
import per_call
import systems
from figures import Figures
from rows import CALLERS, HANDLERS, ISSUER, ROWS, Row
from systems import System

MEASURED = {
    Row(64, 1): {
        "verbena": Figures(2, 4, None, 400_000, 10, 50),
        "raw": Figures(1, 1, None, 800_000, 5, 25),
        "grpc_unix": Figures(60, 200, None, 20_000, 300, 75),
        "libfabric_tcp": Figures(None, None, 8, 125_000),
    },
    Row(64, 16): {"verbena": Figures(20, 40, None, 1_000_000), "raw": Figures(5, 10, None, 4_000_000)},
    Row(64 << 20, 1): {"verbena": Figures(50_000, 60_000, None, 20), "raw": Figures(20_000, 20_000, None, 50)},
    Row(64, 1, "event"): {"verbena": Figures(40, 80, None, 20_000)},
}


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


class RowsTest(unittest.TestCase):
    def test_a_short_look_is_at_some_of_all_rows(self):
        self.assertLess(set(ROWS["short"]), set(ROWS["all"]))

    def test_each_payload_and_each_number_in_flight_is_measured(self):
        self.assertEqual({row.payload_bytes for row in ROWS["all"]}, {64, 1024, 8192, 65536, 1 << 20, 64 << 20})
        self.assertEqual({row.in_flight for row in ROWS["all"]}, {1, 16, 64, 256})

    def test_so_is_each_way_to_wait_each_number_of_connections_and_streaming(self):
        self.assertEqual({row.wait for row in ROWS["all"]}, {"busy", "event", "adaptive"})
        self.assertEqual({row.connections for row in ROWS["all"]}, {1, 100, 1000})
        self.assertEqual({row.streaming for row in ROWS["all"]}, {False, True})
        self.assertIn(Row(1 << 20, 16, attached=True), ROWS["all"])
        self.assertEqual({row.wait for row in ROWS["all"] if row.rate}, {"busy", "adaptive"})
        self.assertEqual({row.threads for row in ROWS["all"]}, {"", CALLERS, ISSUER, HANDLERS})
        self.assertEqual({row.one_way for row in ROWS["all"]}, {"", "client", "server"})

    def test_a_rows_name_says_what_is_not_as_usual(self):
        self.assertEqual(str(Row(64, 16)), "64 B, 16")
        self.assertEqual(str(Row(64, 64, connections=1000)), "64 B, 64, 1,000 connections")
        self.assertEqual(str(Row(8192, 64, "event", streaming=True)), "8 KiB, 64, event, streaming")
        self.assertEqual(str(Row(1 << 20, 16, attached=True)), "1 MiB, 16, attached")
        self.assertEqual(str(Row(64, 1, streaming=True, one_way="client")), "64 B, streaming, from the client")
        self.assertEqual(str(Row(64, 256, "adaptive", rate=10000)),
                         "64 B, up to 256, adaptive, open loop at 10,000 calls/s")
        self.assertEqual(str(Row(64, 16, "adaptive", threads=CALLERS)), "64 B, 16, adaptive, blocking callers")

    def test_a_system_is_measured_in_what_it_can(self):
        able = {row: {system.key for system in systems.SYSTEMS if system.can(row)} for row in ROWS["all"]}
        self.assertEqual(len(able[Row(64, 1)]), len(systems.SYSTEMS))
        self.assertEqual(able[Row(64, 16)], {"verbena", "raw", "grpc_unix", "grpc_tcp", "capnp_unix"})
        for in_flight in (1, 64):
            self.assertEqual(able[Row(64, in_flight, "event")], able[Row(64, 16)])
        peers = {"verbena", "raw", "grpc_unix", "grpc_tcp"}
        self.assertEqual(able[Row(64, 64, connections=1000)], peers | {"capnp_unix"})
        self.assertEqual(able[Row(64, 64, streaming=True)], peers)
        for sender in ("client", "server"):
            row = Row(8 << 10, 1, streaming=True, one_way=sender)
            self.assertEqual(able[row], {"verbena", "grpc_unix", "grpc_tcp"})
            for program in (system.program for system in systems.SYSTEMS if system.key in ("verbena", "grpc_unix")):
                self.assertIn(f"--one_way={sender}", program.command(row, 1))
        self.assertEqual(able[Row(1 << 20, 16, attached=True)], {"verbena", "raw"})
        self.assertEqual(able[Row(64, 256, rate=10_000)], {"verbena", "grpc_unix", "grpc_tcp"})
        for threads, flag in ((CALLERS, "--callers"), (ISSUER, "--issuer"), (HANDLERS, "--handler=blocking")):
            row = Row(64, 64, "adaptive", threads=threads)
            self.assertEqual(able[row], {"verbena", "grpc_unix", "grpc_tcp"})
            self.assertIn(flag, systems.SYSTEMS[0].program.command(row, 1))

    def test_instructions_are_counted_of_busy_calls_that_callgrind_can_copy(self):
        for row in (Row(64, 1, "event"), Row(64, 64, streaming=True), Row(64 << 10, 16, attached=True),
                    Row(64, 16, threads=CALLERS), Row(64, 256, rate=10_000), Row(1 << 20, 256)):
            self.assertEqual(per_call.of_callgrind(row), {}, row)

    def test_rows_of_much_memory_are_measured_for_longer(self):
        self.assertEqual(Row(64, 256).seconds(0.5), 0.5)
        self.assertEqual(Row(64 << 20, 1).seconds(0.5), 2)


class MeasureTest(unittest.TestCase):
    def setUp(self):
        self.turns = []

    def way(self, name, figures):
        rounds = iter(figures)

        def measure(_row, seconds):
            self.turns.append((name, seconds))
            return next(rounds)

        return measure

    def test_systems_take_turns_and_the_best_way_counts(self):
        pinned = self.way("pinned", [Figures(3, 4, None, 10), Figures(3, 4, None, 10), Figures(1, 1, None, 99)])
        free = self.way("free", [Figures(2, 9, None, 20)] * 3)
        other = self.way("other", [Figures(7, 8, None, 5)] * 3)
        able = (System("a", "A", (pinned, free), lambda _: True), System("b", "B", (other,), lambda _: True))
        measured = systems.measure(Row(64, 1), 3, 0.5, able)
        self.assertEqual(measured, {"a": Figures(2, 4, None, 20), "b": Figures(7, 8, None, 5)})
        self.assertEqual(self.turns, [("pinned", 0.5), ("free", 0.5), ("other", 0.5)] * 3)

    def test_a_program_that_fails_has_more_time_and_then_has_failed(self):
        def measure(_row, seconds):
            self.turns.append(seconds)
            if seconds < enough:
                raise subprocess.CalledProcessError(1, "slow")
            return Figures(1, 2, None, 3)

        slow = (System("slow", "Slow", (measure,), lambda _: True),)
        enough = 4
        self.assertEqual(systems.measure(Row(64, 1), 1, 0.5, slow), {"slow": Figures(1, 2, None, 3)})
        self.assertEqual(self.turns, [0.5, 4])
        enough = 5
        with self.assertRaises(subprocess.CalledProcessError):
            systems.measure(Row(64, 1), 1, 0.5, slow)

    def test_a_system_that_cannot_has_no_such_row(self):
        one = System("one", "One", (self.way("one", []),), lambda row: row.in_flight == 1)
        self.assertEqual(systems.measure(Row(64, 16), 3, 0.5, (one,)), {})


class SystemCallsTest(unittest.TestCase):
    def count(self, script, counted=None):
        """Of a program that is `script`. `$serve` in it is a server's part: it lasts until it has been counted."""
        count_of_family = per_call._count_of_family
        with tempfile.TemporaryDirectory() as folder:
            over = pathlib.Path(folder, "over")

            def count(process):
                try:
                    return counted or count_of_family(process)
                finally:
                    over.touch()

            serve = f"bash -c 'until [[ -e {over} || ! -d {folder} ]]; do sleep 0.05; done' --serve"
            command = ["bash", "-c", script.replace("$serve", serve)]
            with unittest.mock.patch.object(per_call, "_count_of_family", count):
                return per_call.system_calls(Row(64, 1), lambda _row, _seconds: command, "--serve")

    def test_a_program_that_fails_or_starts_no_server_says_so(self):
        with self.assertRaises(RuntimeError):
            self.count("exit 0")
        with self.assertRaises(subprocess.CalledProcessError):
            self.count("$serve; exit 3")

    def test_calls_are_counted_by_the_rate_that_the_program_says(self):
        said = self.count("""$serve; echo '{"calls_per_second": 1000}'""", counted=200)
        self.assertEqual(said, {"system_calls": 0.5})


class TableTest(unittest.TestCase):
    def test_a_row_has_a_line_for_each_figure_with_how_many_times_better_ours_is(self):
        lines = [cells(line) for line in comparison.table(MEASURED).splitlines()]
        columns = {title: number for number, title in enumerate(lines[0])}
        self.assertEqual(len(lines), 2 + 5 * len(MEASURED))
        p50, p99, p9999, rate, cpu = lines[2:7]
        self.assertEqual(p50[:2], ["64 B, 1", "p50, us"])
        self.assertEqual([line[columns["Verbena"]] for line in (p50, p99, rate)], ["2.00", "4.00", "400,000"])
        self.assertEqual([line[columns["raw SEND"]] for line in (p50, p99, rate)],
                         ["1.00 (0.50)", "1.00 (0.25)", "800,000 (0.50)"])
        self.assertEqual([line[columns["gRPC, Unix socket"]] for line in (p50, p99, rate)],
                         ["60.0 (30.0)", "200 (50.0)", "20,000 (20.0)"])
        self.assertEqual([line[columns["Verbena"]] for line in (p9999, cpu)], ["10.0", "50.0"])
        self.assertEqual([line[columns["gRPC, Unix socket"]] for line in (p9999, cpu)], ["300 (30.0)", "75.0 (1.50)"])

    def test_what_a_program_does_not_say_stays_empty_and_a_mean_stands_for_the_median(self):
        lines = [cells(line) for line in comparison.table(MEASURED).splitlines()]
        columns = {title: number for number, title in enumerate(lines[0])}
        self.assertEqual([line[columns["libfabric, TCP (mean)"]] for line in lines[2:7]],
                         ["8.00 (4.00)", "", "", "125,000 (3.20)", ""])
        self.assertEqual([line[columns["gRPC, TCP"]] for line in lines[2:]], [""] * 5 * len(MEASURED))

    def test_messages_that_go_one_way_have_no_latency(self):
        said = '{"p50_us": 0.0, "p99_us": 0.0, "p9999_us": 0.0, "calls_per_second": 4e6, "cpu_seconds_per_gib": 2}'
        one_way = {Row(64, 1, streaming=True, one_way="server"): {"verbena": figures.of_one_way_json(said)}}
        lines = [cells(line) for line in comparison.table(one_way).splitlines()]
        self.assertEqual([line[:3] for line in lines[2:]],
                         [["64 B, streaming, from the server", "calls/s", "4,000,000"],
                          ["64 B, streaming, from the server", "CPU s/GiB", "2.00"]])  # fmt: skip

    def test_what_was_counted_has_lines_of_its_own_and_no_ratio(self):
        timed = {"verbena": Figures(20, 40, None, 1_000_000), "grpc_unix": Figures(60, 200, None, 20_000)}
        counts = {"verbena": {"instructions": 3925.4, "allocations": 0.0, "doorbells": 0.125, "system_calls": 0.004},
                  "grpc_unix": {"system_calls": 6.25}}
        counted = {Row(64, 64): comparison.with_counts(timed, counts)}
        lines = [cells(line) for line in comparison.table(counted).splitlines()]
        columns = {title: number for number, title in enumerate(lines[0])}
        self.assertEqual({len(line) for line in lines}, {len(columns)})
        instructions, system_calls = lines[7:]
        self.assertEqual(instructions[:3], ["64 B, 64", "instructions; allocations; doorbells", "3,925; 0.00; 0.12"])
        self.assertEqual(system_calls[:2], ["64 B, 64", "system calls"])
        self.assertEqual([system_calls[columns[title]] for title in ("Verbena", "raw SEND", "gRPC, Unix socket")],
                         ["0.00", "", "6.25"])
        self.assertEqual(comparison.from_json(comparison.to_json(counted)), counted)

    def test_json_gives_back_what_was_measured(self):
        self.assertEqual(comparison.from_json(comparison.to_json(MEASURED)), MEASURED)

    def test_a_file_that_is_not_what_was_saved_is_named(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name, "figures.json")
            row = '"payload_bytes": 64, "in_flight": 1'
            cut_off = comparison.to_json(MEASURED)[:200]
            for text in ("", cut_off, "null", "[1]", '{"a": 1}', f'[{{{row}, "systems": []}}]', f'[{{{row}, "systems": {{}}}}]'):
                with self.subTest(text=text), self.assertRaisesRegex(ValueError, "figures.json"):
                    path.write_text(text)
                    comparison.load(path)

    def test_a_link_and_what_is_no_file_are_written_to(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name, "figures.json")
            link = pathlib.Path(name, "link")
            link.symlink_to(path)
            comparison.save(MEASURED, link)
            self.assertTrue(link.is_symlink())
            self.assertEqual(comparison.load(path), MEASURED)
            comparison.save(MEASURED, pathlib.Path(os.devnull))
            self.assertTrue(pathlib.Path(os.devnull).is_char_device())

    def test_what_was_saved_stays_if_more_cannot_be_saved(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name, "figures.json")
            comparison.save(MEASURED, path)
            full = unittest.mock.patch.object(pathlib.Path, "write_text", side_effect=OSError("no space"))
            with full, self.assertRaises(OSError):
                comparison.save({}, path)
            self.assertEqual(comparison.load(path), MEASURED)
            self.assertEqual(list(path.parent.iterdir()), [path])

    def test_where_they_go_is_looked_at_and_left_as_it_was(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name, "figures.json")
            comparison.check_place(path)
            self.assertEqual(list(path.parent.iterdir()), [])
            comparison.save(MEASURED, path)
            comparison.check_place(path)
            self.assertEqual(comparison.load(path), MEASURED)


class OptionsTest(unittest.TestCase):
    def test_what_cannot_be_measured_or_written_is_refused_at_once(self):
        program = pathlib.Path(__file__).resolve().with_name("compare")
        for option in ("--rounds=0", "--seconds=0", "--seconds=nan", "--write=/nowhere/table.md", "--write=/dev/null",
                       "--json=/nowhere/figures.json", "--json=/", "--charts=/dev/null"):  # fmt: skip
            with self.subTest(option=option):
                run = subprocess.run([program, option], stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(run.returncode, 2)
                self.assertIn(f"error: {option.partition('=')[0]}", run.stderr)

    def test_who_asks_run_sh_for_help_waits_for_no_measurement(self):
        with tempfile.TemporaryDirectory() as folder:
            bazel = pathlib.Path(folder, "bazel")
            bazel.write_text("#!/bin/sh\nexit 3\n")
            bazel.chmod(0o755)
            environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
            program = pathlib.Path(__file__).resolve().parents[1] / "run.sh"
            for flag in ("--help", "-h"):
                run = subprocess.run([program, flag], stdout=subprocess.PIPE, text=True, env=environment, check=False)
                self.assertEqual(run.returncode, 0, flag)
                self.assertIn("--rows=short", run.stdout)


class ChartsTest(unittest.TestCase):
    def test_latency_is_plotted_by_payload_with_one_in_flight(self):
        self.assertEqual(
            charts.latency_by_payload(MEASURED).lines,
            {
                "Verbena": [(64, 2), (64 << 20, 50_000)],
                "raw SEND": [(64, 1), (64 << 20, 20_000)],
                "gRPC, Unix socket": [(64, 60)],
                "libfabric, TCP (mean)": [(64, 8)],
            },
        )

    def test_rates_of_the_smallest_payload_are_plotted_by_number_in_flight(self):
        lines = charts.rate_by_in_flight(MEASURED).lines
        self.assertEqual(lines["Verbena"], [(1, 400_000), (16, 1_000_000)])
        self.assertEqual(lines["raw SEND"], [(1, 800_000), (16, 4_000_000)])

    def test_points_go_from_left_to_right_whatever_was_measured_first(self):
        backwards = dict(reversed(MEASURED.items()))
        self.assertEqual(charts.latency_by_payload(backwards), charts.latency_by_payload(MEASURED))


if __name__ == "__main__":
    unittest.main()
