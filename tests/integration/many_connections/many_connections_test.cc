// Ten thousand connections between two processes, on the software device: what each of them takes in either process,
// calls over some of them, and that nothing of them stays.

#include <malloc.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "tests/integration/child_process.h"
#include "tests/integration/many_connections/process_usage.h"
#include "tests/integration/probe.verbena.h"
#include "tests/integration/wait_until.h"

namespace verbena::probe {
namespace {

constexpr int64_t kConnectionsWanted = 10'000;  // What a server accepts by default.
constexpr int64_t kDescriptorsBeside = 500;     // Of either process, for all that is no connection.
constexpr int kCalls = 1000;                    // Each goes to the next connection.
constexpr absl::Duration kPatience = absl::Seconds(120);
// What is measured is a connection without traffic. Where connecting takes more than the usual interval, the first have
// been probed meanwhile, and who has sent and received has touched more (docs/performance/many-connections.md).
constexpr absl::Duration kNoKeepalive = absl::ZeroDuration();

// Of one connection in one process. Measured: 1.02 mappings, 1 descriptor, 13.0 KiB at the server and 14.3 at the
// client, 4 of them shared.
constexpr double kMappingsMax = 1.2;
constexpr double kDescriptorsMax = 1.05;
constexpr double kServersResidentBytesMax = 16 * 1024;
constexpr double kClientsResidentBytesMax = 16 * 1024;
// What a call touches beside the page of its connection's control lines: a page more of each would be 4 KiB. And what
// the process touches once, with the first calls.
constexpr double kSharedBytesOfACallMax = 1024;
constexpr double kSharedBytesOfAllCallsMax = 64 * 1024;
// Of the client's heap, each connection with its first call: what is not the pools', which have memory of their own.
// Measured: 1030.
constexpr double kHeapBytesOfACallMax = 1280;
// Of a processor. Measured: less than 0.001.
constexpr double kIdleCpuMax = 0.01;
constexpr int64_t kIdleConnections = 1000;
constexpr absl::Duration kIdle = absl::Seconds(3);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryIsItsOwn = false;  // The sanitizer's shadow counts too.
#else
constexpr bool kMemoryIsItsOwn = true;
#endif

// As many as the descriptors of a process allow, whose limit is raised as far as it may be.
int64_t ConnectionsAllowed() {
  rlimit limit = {};
  EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);  // The server inherits it.
  return std::min(kConnectionsWanted, static_cast<int64_t>(limit.rlim_cur) - kDescriptorsBeside);
}

class ManyConnections : public testing::Test {
 protected:
  static std::shared_ptr<Channel> Connect(const std::string& address, int64_t connections) {
    ChannelOptions options;
    options.connections = static_cast<int>(connections);
    options.connect_timeout = kPatience;
    options.transport.keepalive_interval = kNoKeepalive;
    options.wait = WaitPolicy::kEvent;
    return *Channel::Create(address, options);
  }

  static absl::Status Call(const std::shared_ptr<Channel>& channel) {
    Probe::Stub stub(channel);
    ClientContext context;
    context.set_timeout(kPatience);
    EchoRequest request;
    EchoReply reply;
    request.set_body("one of many");
    const absl::Status status = stub.Echo(&context, request, &reply);
    EXPECT_EQ(reply.body(), status.ok() ? "one of many" : "");
    return status;
  }

  static void ExpectWithinBounds(const std::string& whose, const ProcessUsage& before, const ProcessUsage& now,
                                 int64_t connections, double resident_bytes_max) {
    const auto each = [connections](int64_t more) { return static_cast<double>(more) / connections; };
    const double resident = each(now.resident_bytes - before.resident_bytes);
    EXPECT_LE(each(now.mappings - before.mappings), kMappingsMax) << whose;
    EXPECT_LE(each(now.descriptors - before.descriptors), kDescriptorsMax) << whose;
    EXPECT_TRUE(resident <= resident_bytes_max || !kMemoryIsItsOwn) << whose << ": " << resident;
    std::cout << whose << ": " << each(now.mappings - before.mappings) << " mappings, "
              << each(now.descriptors - before.descriptors) << " descriptors, " << resident
              << " bytes resident of each connection\n";
  }
  static double CpuSecondsOf(pid_t process) {
    clockid_t clock;
    timespec used = {};
    EXPECT_EQ(clock_getcpuclockid(process, &clock), 0);
    EXPECT_EQ(clock_gettime(clock, &used), 0);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
  }

  static double PartOfAProcessor(pid_t server) {
    const double before = CpuSecondsOf(server);
    EXPECT_GT(before, 0) << "it has connected";
    absl::SleepFor(kIdle);
    return (CpuSecondsOf(server) - before) / absl::ToDoubleSeconds(kIdle);
  }

  // A server whose connections have nothing to do. In one of a few spans: in another it may give back what connecting
  // took.
  static void ExpectIdle(pid_t server) {
    double part = PartOfAProcessor(server);
    for (int more = 2; part > kIdleCpuMax && more > 0; --more) part = PartOfAProcessor(server);
    EXPECT_LE(part, kIdleCpuMax);
    std::cout << "server: " << part << " of a processor while nothing happens\n";
  }

  static double HeapBytes() { return static_cast<double>(mallinfo2().uordblks); }

  static void ExpectCallsTookLittle(const std::string& whose, const ProcessUsage& before, const ProcessUsage& now,
                                    int64_t called) {
    const double shared = static_cast<double>(now.shared_bytes - before.shared_bytes);
    const double all = static_cast<double>(now.resident_bytes - before.resident_bytes) / static_cast<double>(called);
    EXPECT_LE(shared, kSharedBytesOfAllCallsMax + kSharedBytesOfACallMax * static_cast<double>(called)) << whose;
    std::cout << whose << ": " << all << " bytes more resident for each connection with a call, "
              << shared / static_cast<double>(called) << " of them shared\n";
  }
};

// With keepalive: nobody is probed within the time that is measured, but that is watched.
TEST_F(ManyConnections, KeepNoServerAwakeThatWaitsAdaptively) {
  const int64_t connections = std::min(kIdleConnections, ConnectionsAllowed());
  ServerProcess server("soft://127.0.0.1:0", {.wait = "adaptive", .keepalive_interval = absl::Minutes(5)});
  const std::shared_ptr<Channel> channel = Connect(server.address(), connections);
  const auto connected = [&] { return channel->connections_ready() == static_cast<size_t>(connections); };
  ASSERT_TRUE(WaitUntil(connected, kPatience)) << channel->connections_ready() << " of " << connections;
  for (int64_t i = 0; i < connections; ++i) ASSERT_TRUE(Call(channel).ok()) << "call " << i;
  ExpectIdle(server.process().pid());
}

TEST_F(ManyConnections, TakeTheirBudgetServeCallsAndLeaveNothing) {
  const int64_t connections = ConnectionsAllowed();
  ASSERT_GT(connections, 1) << "RLIMIT_NOFILE is too low: raise it with `ulimit -Hn`";
  if (connections < kConnectionsWanted) std::cout << "only " << connections << ": RLIMIT_NOFILE allows no more\n";
  ServerProcess server("soft://127.0.0.1:0", {.wait = "event", .keepalive_interval = kNoKeepalive});
  const std::shared_ptr<Channel> witness = Connect(server.address(), 1);
  ASSERT_TRUE(Call(witness).ok());
  const ProcessUsage client_before = UsageOf(getpid());
  const ProcessUsage server_before = UsageOf(server.process().pid());

  std::shared_ptr<Channel> channel = Connect(server.address(), connections - 1);
  const auto connected = [&] {
    return ReadTransportCounters().connections == static_cast<uint64_t>(connections) &&
           UsageOf(server.process().pid()).pair_mappings == connections;
  };
  ASSERT_TRUE(WaitUntil(connected, kPatience)) << ReadTransportCounters().connections << " of " << connections;
  ExpectWithinBounds("client", client_before, UsageOf(getpid()), connections - 1, kClientsResidentBytesMax);
  ExpectWithinBounds("server", server_before, UsageOf(server.process().pid()), connections - 1,
                     kServersResidentBytesMax);
  ExpectIdle(server.process().pid());
  const ProcessUsage client_without_calls = UsageOf(getpid());
  const double heap_without_calls = HeapBytes();
  const ProcessUsage server_without_calls = UsageOf(server.process().pid());
  const int64_t called = std::min<int64_t>(kCalls, connections - 1);
  for (int i = 0; i < kCalls; ++i) ASSERT_TRUE(Call(channel).ok()) << "call " << i;
  const double heap_of_a_call = (HeapBytes() - heap_without_calls) / static_cast<double>(called);
  EXPECT_TRUE(heap_of_a_call <= kHeapBytesOfACallMax || !kMemoryIsItsOwn) << heap_of_a_call;
  std::cout << "client: " << heap_of_a_call << " bytes more of the heap for each connection with a call\n";
  ExpectCallsTookLittle("client", client_without_calls, UsageOf(getpid()), called);
  ExpectCallsTookLittle("server", server_without_calls, UsageOf(server.process().pid()), called);

  channel.reset();
  const auto left_nothing = [](pid_t process, const ProcessUsage& before) {
    const ProcessUsage now = UsageOf(process);
    return now.pair_mappings == before.pair_mappings && now.descriptors <= before.descriptors;
  };
  EXPECT_TRUE(WaitUntil([&] { return left_nothing(getpid(), client_before); }, kPatience));
  EXPECT_TRUE(WaitUntil([&] { return left_nothing(server.process().pid(), server_before); }, kPatience));
  EXPECT_EQ(ReadTransportCounters().connections, 1u);
  EXPECT_TRUE(Call(witness).ok());
}

}  // namespace
}  // namespace verbena::probe
