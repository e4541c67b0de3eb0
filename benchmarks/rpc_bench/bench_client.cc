#include "benchmarks/rpc_bench/bench_client.h"

#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace verbena::benchmarks {
namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(30);  // For all connections.

ChannelOptions OptionsOf(const BenchSettings& settings) {
  ChannelOptions options;
  options.transport = TransportOf(settings);
  options.wait = settings.wait;
  options.first_cpu = settings.cpus.client;
  options.connections = settings.connections;
  options.connect_timeout = kConnectTimeout;
  return options;
}

// Connections are made ahead of the calls; with the last of them the measurement can begin. `pause` lets time pass.
template <typename Pause>
absl::Status AwaitConnections(const Channel& channel, size_t connections, Pause pause) {
  const absl::Time deadline = absl::Now() + kConnectTimeout;
  while (channel.connections_ready() < connections) {
    if (absl::Now() > deadline) {
      return absl::UnavailableError(absl::StrCat(channel.connections_ready(), " of ", connections,
                                                 " connections were made: ", channel.DescribeState()));
    }
    pause();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BenchClient> BenchClient::Connect(const BenchSettings& settings, const std::string& address) {
  absl::StatusOr<std::shared_ptr<Channel>> channel = Channel::Create(address, OptionsOf(settings));
  if (!channel.ok()) return channel.status();
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  if (absl::Status status = AwaitConnections(**channel, settings.connections, pause); !status.ok()) return status;
  return BenchClient{nullptr, *std::move(channel)};
}

absl::StatusOr<BenchClient> BenchClient::ConnectDriven(const BenchSettings& settings, const std::string& address,
                                                       WaitPolicy wait) {
  absl::StatusOr<std::unique_ptr<EventLoop>> loop = EventLoop::Create({.wait = wait});
  if (!loop.ok()) return loop.status();
  ChannelOptions options = OptionsOf(settings);
  options.loop = loop->get();
  absl::StatusOr<std::shared_ptr<Channel>> channel = Channel::Create(address, options);
  if (!channel.ok()) return channel.status();
  const auto pause = [&] {
    bool paused = false;
    (*loop)->AddTimer((*loop)->Now() + absl::Milliseconds(1), [&paused] { paused = true; });
    (*loop)->RunUntil([&paused] { return paused; });
  };
  if (absl::Status status = AwaitConnections(**channel, settings.connections, pause); !status.ok()) return status;
  return BenchClient{*std::move(loop), *std::move(channel)};
}

}  // namespace verbena::benchmarks
