"""What the suite runs, on which device and network. What is left out of it, and why, stands here and nowhere else."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Program:
    label: str  # Bazel's.
    arguments: tuple[str, ...] = ()  # As its rule has them.
    fault_free: bool = False  # Nothing dies in it: the device's counters of faults must not grow.
    on_a_wire: bool = False  # Between two devices; otherwise both ends are on one.
    devices: tuple[str, ...] = ("rxe", "siw")
    in_emulation: bool = False  # Also where everything takes ten times as long.
    memory_mb: int = 3000
    timeout_seconds: float = 300
    # (device, pattern of GoogleTest, reason) of cases that are not run there.
    left_out: tuple[tuple[str, str, str], ...] = ()

    @property
    def path(self) -> str:
        """From Bazel's folder of what is built."""
        return self.label.removeprefix("//").replace(":", "/")

    @property
    def name(self) -> str:
        return self.label.partition(":")[2]


# Messages that something dies in the middle of have a gibibyte on this machine. In a guest each page that is touched
# first costs 0.1 ms: half a minute for each end of such a message.
LARGE_MIB = 64

NETWORKS = {"rxe": "one_rxe", "siw": "siw"}
WIRES = {"rxe": "two_rxe", "siw": "siw_two_namespaces"}

PROGRAMS = (
    Program("//tests/integration:transport_test", fault_free=True, in_emulation=True),
    Program("//tests/integration/turns:fetch_in_parts_test"),
    Program("//tests/integration/turns:attachment_in_parts_test", fault_free=True),
    # In emulation each processor has a memory node.
    Program("//tests/integration/turns:placement_test", devices=("rxe",), in_emulation=True),
    Program("//tests/integration:shrinking_test", fault_free=True),
    Program("//tests/integration:limits_test", fault_free=True, in_emulation=True),
    Program("//tests/integration:copy_count_test", fault_free=True, in_emulation=True),
    Program("//tests/integration:interop_test", fault_free=True, in_emulation=True),
    Program("//tests/integration:many_servers_test", in_emulation=True),
    Program("//tests/integration:metadata_test", fault_free=True, in_emulation=True),
    Program("//tests/integration:standard_services_test", fault_free=True, in_emulation=True),
    Program("//tests/integration:client_death_test"),
    Program("//tests/integration:server_death_test", memory_mb=6000),
    Program(
        "//tests/differential:same_outcomes_test",
        arguments=("tests/differential/run_seeds", "tests/differential/recorded_outcomes.txt"),
    ),
    Program(
        "//benchmarks/guest_table:kernel_ratios_test",
        arguments=("../benchmarks/guest_table/kernel_ratios_test.py", "benchmarks/rpc_bench/rpc_bench"),
        fault_free=True,
    ),
    Program("//tests/soft_roce/faults:listening_test", in_emulation=True),
    Program(
        "//tests/soft_roce/faults:wire_test",
        on_a_wire=True,
        left_out=(("siw", "WireTest.ASmallCallIsEndedByTheDevicesOwnRetriesWhenItIsCut", "siw has no retries of its own"),),
    ),
    Program("//tests/soft_roce/faults:device_removal_test", on_a_wire=True),
    Program(
        "//examples/greeter:greeter_test",
        arguments=("examples/greeter/greeter_server", "examples/greeter/greeter_client"),
        fault_free=True,
        in_emulation=True,
    ),
    Program(
        "//examples/kvstore:kvstore_test",
        arguments=("examples/kvstore/kvstore_server", "examples/kvstore/kvstore_client"),
    ),
    Program(
        "//examples/chat:chat_test",
        arguments=("examples/chat/chat_server", "examples/chat/chat_client"),
    ),
    Program(
        "//tools/verbena:verbena_test",
        arguments=("tools/verbena/verbena",),
        fault_free=True,
        in_emulation=True,
    ),
    Program(
        "//examples/filecopy:filecopy_test",
        arguments=("examples/filecopy/filecopy_server", "examples/filecopy/filecopy_client"),
        memory_mb=6000,
    ),
)


def of_device(device: str) -> list[Program]:
    return [program for program in PROGRAMS if device in program.devices]


def network_of(program: Program, device: str) -> str:
    return (WIRES if program.on_a_wire else NETWORKS)[device]


def filter_of(program: Program, device: str) -> str:
    """For GTEST_FILTER."""
    patterns = [pattern for on, pattern, _ in program.left_out if on == device]
    return "*" if not patterns else "-" + ":".join(patterns)
