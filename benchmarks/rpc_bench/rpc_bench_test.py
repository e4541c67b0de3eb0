"""Runs the benchmark for moments: every way of waiting and both kinds of payload give figures under the documented keys.

The figures themselves are not judged: a test machine is busy. Usage: rpc_bench_test.py RPC_BENCH
"""

import time
import unittest

from bench import measure, run

KEYS = [
    "device",
    "wait",
    "load",
    "payload_bytes",
    "in_flight",
    "connections",
    "rate",
    "calls",
    "late_calls",
    "unstarted_calls",
    "p50_us",
    "p90_us",
    "p99_us",
    "p999_us",
    "p9999_us",
    "max_us",
    "calls_per_second",
    "gbytes_per_second",
    "raw_p50_us",
    "raw_read_gbytes_per_second",
    "ratio_to_raw",
    "doorbells_per_call",
    "allocations_per_call",
    "client_cpu_us_per_call",
    "server_cpu_us_per_call",
    "cpu_seconds_per_gib",
    "reference_p50_us",
    "reference_p99_us",
    "beside_gbytes_per_second",
]
PERCENTILES = ["p50_us", "p90_us", "p99_us", "p999_us", "p9999_us", "max_us"]


class RpcBench(unittest.TestCase):
    def check(self, figures):
        self.assertEqual(list(figures), KEYS)
        for key in KEYS[3:]:
            self.assertGreaterEqual(figures[key], 0, key)
        for key in ("calls", "p50_us", "calls_per_second", "raw_p50_us", "ratio_to_raw"):
            self.assertGreater(figures[key], 0, key)
        percentiles = [figures[key] for key in PERCENTILES]
        self.assertEqual(percentiles, sorted(percentiles))

    def test_every_wait_policy_gives_figures(self):
        for wait in ("busy", "event", "adaptive"):
            with self.subTest(wait=wait):
                figures = measure("--payload=64", f"--wait={wait}")
                self.check(figures)
                self.assertEqual(figures["wait"], wait)
                self.assertEqual(figures["payload_bytes"], 64)
                self.assertEqual(figures["in_flight"], 1)
                for key in ("doorbells_per_call", "client_cpu_us_per_call", "server_cpu_us_per_call",
                            "cpu_seconds_per_gib"):
                    self.assertGreater(figures[key], 0, key)

    def test_attachments_are_compared_by_bandwidth(self):
        figures = measure("--attachment=1048576", "--wait=adaptive")
        self.check(figures)
        self.assertEqual(figures["payload_bytes"], 1048576)
        ratio = figures["gbytes_per_second"] / figures["raw_read_gbytes_per_second"]
        self.assertAlmostEqual(figures["ratio_to_raw"], ratio, delta=0.01)

    def test_large_attachments_are_measured_for_no_longer_than_others(self):
        start = time.monotonic()
        self.check(measure("--attachment=268435456", "--in_flight=1", "--rounds=1"))
        self.assertLess(time.monotonic() - start, 30)  # Two hundred of them there and back take twice that.

    def test_handlers_that_sum_attachments_up(self):
        for digest in ("whole", "parts"):
            with self.subTest(digest=digest):
                self.check(measure("--attachment=1048576", f"--digest={digest}", "--wait=event"))

    def test_a_thread_that_issues_calls_allocates_for_none(self):
        figures = measure("--issuer", "--in_flight=16", "--wait=event")
        self.check(figures)
        self.assertEqual(figures["load"], "issuer")
        self.assertLess(figures["allocations_per_call"], 0.2)

    def test_handlers_that_block(self):
        self.check(measure("--handler=blocking", "--in_flight=16", "--wait=adaptive"))

    def test_coroutines_at_both_ends(self):
        for flags in ((), ("--streaming",)):
            with self.subTest(flags=flags):
                # Of more bytes than two windows hold.
                figures = measure("--coroutines", "--handler=coroutine", "--in_flight=64", "--payload=16384", *flags)
                self.check(figures)
                self.assertEqual(figures["load"], "coroutine's stream" if flags else "coroutines")

    def test_many_in_flight_on_several_connections(self):
        figures = measure("--in_flight=64", "--connections=4", "--wait=event")
        self.check(figures)
        self.assertEqual(figures["in_flight"], 64)
        self.assertEqual(figures["connections"], 4)

    def test_open_loop_starts_as_many_calls_as_were_asked_for(self):
        figures = measure("--rate=2000")
        self.check(figures)
        self.assertEqual(figures["rate"], 2000)
        # Two rounds of 0.1 s, and of the warm-ups, a tenth of that, what ended late; but for what a busy machine has not
        # ended in time.
        counted = figures["calls"] + figures["unstarted_calls"]
        self.assertLessEqual(counted, 2 * 2000 * 0.12)
        self.assertGreater(counted, 2000 * 0.1)

    def test_open_loop_past_what_can_be_served_says_so(self):
        figures = measure("--rate=10000000", "--in_flight=4")
        self.check(figures)
        self.assertGreater(figures["late_calls"], 0)
        self.assertGreater(figures["unstarted_calls"], figures["calls"] / 10)
        # Most calls waited for a large part of the round, of 0.1 s, and their latencies say it.
        self.assertGreater(figures["p50_us"], 10000)

    def test_many_connections_do_not_stall(self):
        for in_flight in (64, 1000):
            with self.subTest(in_flight=in_flight):
                self.assertTrue(any(self.ratio_of_many_to_one(in_flight) > 0.65 for _ in range(8)))

    def ratio_of_many_to_one(self, in_flight):
        """To one call at a time over one connection, which shares SENDs with no other as those of many do not: what
        sharing brings differs by machine more than what this is to find, a round that goes by single steps."""
        one = measure("--wait=busy", "--in_flight=1")
        many = measure("--wait=busy", f"--in_flight={in_flight}", "--connections=100")
        self.check(many)
        return many["calls_per_second"] / one["calls_per_second"]

    def test_stream_has_each_message_echoed(self):
        for in_flight in (1, 64):
            with self.subTest(in_flight=in_flight):
                figures = measure("--streaming", f"--in_flight={in_flight}", "--payload=8192")
                self.check(figures)
                self.assertEqual(figures["load"], "stream")

    def test_streams_of_messages_that_go_one_way(self):
        ways = {"stream": [], "blocking stream": ["--callers", "--handler=blocking"],
                "coroutine's stream": ["--coroutines", "--handler=coroutine"]}  # fmt: skip
        for load, flags in ways.items():
            for sender in ("client", "server"):
                with self.subTest(load=load, sender=sender):
                    figures = measure("--streaming", f"--one_way={sender}", *flags)
                    self.assertEqual(figures["load"], f"{load}, from the {sender}")
                    self.assertGreater(figures["calls_per_second"], 0)
                    self.assertEqual([figures[key] for key in PERCENTILES], [0] * len(PERCENTILES))

    def test_attachments_of_messages_that_go_one_way_are_compared_by_bandwidth(self):
        for sender in ("client", "server"):
            for flags in ((), ("--callers", "--handler=blocking"), ("--coroutines", "--handler=coroutine")):
                with self.subTest(sender=sender, flags=flags):
                    figures = measure("--streaming", f"--one_way={sender}", "--attachment=65536", *flags)
                    self.assertEqual(figures["payload_bytes"], 65536)
                    self.assertGreater(figures["ratio_to_raw"], 0)

    def test_caller_that_drives_is_measured_beside_one_that_does_not(self):
        for wait in ("busy", "event", "adaptive"):
            with self.subTest(wait=wait):
                figures = measure("--caller_drives", f"--wait={wait}")
                self.check(figures)
                self.assertGreater(figures["reference_p50_us"], 0)

    def test_threads_that_block_are_measured_together(self):
        for wait in ("busy", "event", "adaptive"):
            with self.subTest(wait=wait):
                figures = measure("--callers", "--in_flight=8", f"--wait={wait}")
                self.check(figures)
                self.assertEqual(figures["load"], "blocking callers")

    def test_small_calls_go_on_beside_a_large_one(self):
        for direction in ([], ["--beside_response"]):
            with self.subTest(direction=direction):
                figures = measure("--beside_attachment=67108864", *direction)
                self.check(figures)
                self.assertGreater(figures["reference_p99_us"], 0)
                self.assertGreater(figures["beside_gbytes_per_second"], 0)

    def test_text_for_people(self):
        result = run("--device=soft", "--seconds=0.1", "--rounds=1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("of raw p50", result.stdout)
        self.assertIn("latency ", result.stdout)

    def test_text_of_messages_that_go_one_way_has_no_latency(self):
        result = run("--device=soft", "--seconds=0.1", "--rounds=1", "--streaming", "--one_way=client")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("stream, from the client", result.stdout)
        self.assertNotIn("latency ", result.stdout)
        self.assertNotIn("of raw p50", result.stdout)

    def test_nonsense_is_refused_in_words(self):
        for flag, words in (
            ("--payload=-2", "--payload must be"),
            ("--streaming --payload=1073741824", "--payload must be 0 to 67108864"),
            ("--rate=-1", "--rate must be"),
            ("--rate=0.001", "--rate has less than one call due"),
            ("--connections=0", "--connections must be"),
            ("--handler=none", "--handler must be callback, blocking or coroutine"),
            ("--coroutines --issuer", "only one can be measured"),
            ("--device=no_such_device", "no RDMA device"),
            ("--streaming --caller_drives", "only one can be measured"),
            ("--callers --rate=8", "only one can be measured"),
            ("--callers --in_flight=1025", "--callers are at most 1024"),
            ("--streaming --attachment=8", "has an --attachment only --one_way"),
            ("--caller_drives --in_flight=2", "one call in flight"),
            ("--one_way=client", "is of --streaming"),
            ("--streaming --connections=2", "over one connection"),
            ("--streaming --one_way=both", "--one_way must be client or server"),
            ("--streaming --one_way=client --in_flight=2", "as many in flight as the window lets"),
            ("--beside_response", "says where the --beside_attachment is"),
            ("--seconds=inf", "--seconds must be more than 0, and at most 86400"),
            ("--in_flight=8192 --attachment=1073741824", "more than this machine's"),
            ("--connections=2147483647", "--connections must be 1 to 65536"),
            ("rate=8", "takes flags alone"),
            ("--wait=sometimes", "must be busy, event or adaptive"),
        ):
            with self.subTest(flag=flag):
                result = run(*flag.split())
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main()
