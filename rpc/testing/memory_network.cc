#include "rpc/testing/memory_network.h"

#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "rpc/testing/memory_link.h"
#include "rpc/testing/turn_executor.h"
#include "transport/start_thread.h"

namespace verbena::testing {
namespace {

class ManualLoopGroup : public transport::EventLoopGroup {
 public:
  ManualLoopGroup(ManualLoop* loop, size_t count) : loop_(loop), count_(count) {}
  size_t size() const override { return count_; }
  transport::EventLoop* loop(size_t) const override { return loop_; }

 private:
  ManualLoop* const loop_;
  const size_t count_;
};

class ThreadedLoopGroup : public transport::EventLoopGroup {
 public:
  ~ThreadedLoopGroup() override {
    for (auto& loop : loops_) loop->Stop();
    for (std::thread& thread : threads_) thread.join();
  }
  absl::Status Add(const transport::EventLoopOptions& options) {
    absl::StatusOr<std::unique_ptr<transport::EventLoop>> loop = transport::EventLoop::Create(options);
    if (!loop.ok()) return loop.status();
    absl::StatusOr<std::thread> thread =
        StartThread("an event loop", [loop = loop->get()] { loop->RunUntil([] { return false; }); });
    if (!thread.ok()) return thread.status();
    loops_.push_back(*std::move(loop));
    threads_.push_back(*std::move(thread));
    return absl::OkStatus();
  }
  size_t size() const override { return loops_.size(); }
  transport::EventLoop* loop(size_t index) const override { return loops_[index].get(); }

 private:
  std::vector<std::unique_ptr<transport::EventLoop>> loops_;
  std::vector<std::thread> threads_;
};

}  // namespace

class MemoryNetwork::MemoryListener : public transport::Listener {
 public:
  MemoryListener(MemoryNetwork* network, std::string address, std::vector<transport::EventLoop*> loops,
                 AcceptCallback on_accept)
      : network_(network),
        addresses_({std::move(address)}),
        loops_(std::move(loops)),
        acceptance_(std::make_shared<Acceptance>()) {
    acceptance_->on_accept = std::move(on_accept);
  }
  ~MemoryListener() override {
    Close();
    const std::lock_guard lock(acceptance_->mu);
    acceptance_->on_accept = nullptr;
  }
  void Close() override { network_->Forget(this); }
  const std::vector<std::string>& addresses() const override { return addresses_; }

  transport::EventLoop* NextLoop() { return loops_[next_loop_++ % loops_.size()]; }
  void Accept(std::unique_ptr<MemoryConnection> connection) {
    transport::EventLoop* loop = connection->loop();
    loop->Post([acceptance = acceptance_, connection = std::move(connection)]() mutable {
      const std::lock_guard lock(acceptance->mu);
      if (acceptance->on_accept != nullptr) acceptance->on_accept(std::move(connection));
    });
  }

 private:
  // What the end waits for: from then on nothing is accepted, and what is on its way is dropped.
  struct Acceptance {
    std::mutex mu;
    AcceptCallback on_accept ABSL_GUARDED_BY(mu);  // Null: the listener is gone.
  };

  MemoryNetwork* const network_;
  const std::vector<std::string> addresses_;
  const std::vector<transport::EventLoop*> loops_;
  const std::shared_ptr<Acceptance> acceptance_;
  size_t next_loop_ = 0;
};

absl::StatusOr<std::unique_ptr<transport::EventLoopGroup>> MemoryNetwork::StartLoops(
    int count, const transport::EventLoopOptions& options) {
  if (manual_loop_ != nullptr) return std::make_unique<ManualLoopGroup>(manual_loop_, count);
  auto group = std::make_unique<ThreadedLoopGroup>();
  for (int i = 0; i < count; ++i) {
    if (absl::Status added = group->Add(options); !added.ok()) return added;
  }
  return group;
}

absl::StatusOr<std::unique_ptr<transport::Listener>> MemoryNetwork::Listen(
    absl::string_view address, const transport::TransportOptions&, std::vector<transport::EventLoop*> loops,
    transport::Listener::AcceptCallback on_accept, const transport::AuthenticationPolicy&) {
  const std::lock_guard lock(mu_);
  std::string bound(address);
  if (absl::ConsumeSuffix(&address, ":0")) bound = absl::StrCat(address, ":", ++last_port_);
  if (listeners_.contains(bound)) return absl::AlreadyExistsError(absl::StrCat(bound, " is in use"));
  auto listener = std::make_unique<MemoryListener>(this, bound, std::move(loops), std::move(on_accept));
  listeners_[bound] = listener.get();
  return listener;
}

void MemoryNetwork::Forget(MemoryListener* listener) {
  const std::lock_guard lock(mu_);
  std::erase_if(listeners_, [listener](const auto& entry) { return entry.second == listener; });
}

void MemoryNetwork::Connect(absl::string_view address, const transport::TransportOptions& options,
                            transport::EventLoop* loop, transport::ConnectCallback done,
                            const transport::AuthenticationPolicy&) {
  // A loop of the test's own may come to this when the network is gone.
  auto connect = [network = std::weak_ptr(self_), address = std::string(address), options, loop,
                  done = std::move(done)]() mutable {
    if (const auto there = network.lock()) return there->ConnectNow(address, options, loop, done);
    done(absl::UnavailableError("the network is gone"));
  };
  absl::Duration delay;
  {
    const std::lock_guard lock(mu_);
    delay = connect_delay_;
  }
  if (delay > absl::ZeroDuration()) {
    loop->AddTimer(loop->Now() + delay, std::move(connect));
  } else {
    loop->Post(std::move(connect));
  }
}

void MemoryNetwork::ConnectNow(const std::string& address, const transport::TransportOptions& options,
                               transport::EventLoop* loop, transport::ConnectCallback& done) {
  if (IsSilent()) {
    loop->AddTimer(loop->Now() + options.handshake_timeout, [address, done = std::move(done)]() mutable {
      done(absl::DeadlineExceededError(absl::StrCat(address, " does not answer")));
    });
  } else {
    done(MakeConnection(address, options, loop));
  }
}

absl::StatusOr<std::unique_ptr<MemoryConnection>> MemoryNetwork::MakeConnection(
    const std::string& address, const transport::TransportOptions& options, transport::EventLoop* loop) {
  const std::lock_guard lock(mu_);
  ++connects_;
  if (!connect_error_.ok()) return connect_error_;
  const auto found = listeners_.find(address);
  if (found == listeners_.end()) return absl::UnavailableError(absl::StrCat("nobody listens on ", address));
  MemoryConnection::Options of_connection = connection_options_;
  if (options.keepalive_interval > absl::ZeroDuration()) {
    of_connection.silence_max = options.keepalive_interval + options.keepalive_timeout;
  }
  MemoryListener* listener = found->second;
  auto [client, server] = MemoryConnection::MakePair(loop, listener->NextLoop(), absl::StrCat("memory://", address),
                                                     absl::StrCat("memory://client:", connects_), of_connection);
  latest_client_ = client->life();
  latest_server_ = server->life();
  client->link()->set_delay(message_delay_);
  std::erase_if(links_, [](const auto& link) { return link.expired(); });
  links_.push_back(client->link());
  listener->Accept(std::move(server));
  return std::move(client);
}

std::unique_ptr<rpc::Executor> MemoryNetwork::StartExecutor(int threads, rpc::Executor::Work work) {
  if (manual_loop_ == nullptr) return Network::StartExecutor(threads, std::move(work));
  return std::make_unique<TurnExecutor>(manual_loop_, threads, std::move(work));
}

uint64_t MemoryNetwork::RandomSeed() {
  if (manual_loop_ == nullptr) return Network::RandomSeed();
  const std::lock_guard lock(mu_);
  return ++last_seed_;
}

void MemoryNetwork::set_connection_options(const MemoryConnection::Options& options) {
  const std::lock_guard lock(mu_);
  connection_options_ = options;
}

void MemoryNetwork::set_connect_delay(absl::Duration delay) {
  const std::lock_guard lock(mu_);
  connect_delay_ = delay;
}

void MemoryNetwork::set_message_delay(absl::Duration delay) {
  const std::lock_guard lock(mu_);
  message_delay_ = delay;
  for (const auto& link : links_) {
    if (const auto alive = link.lock()) alive->set_delay(delay);
  }
}

void MemoryNetwork::OnEveryEnd(void (MemoryConnection::*what)()) {
  const std::lock_guard lock(mu_);
  for (const auto& link : links_) {
    const auto alive = link.lock();
    for (int side = 0; alive != nullptr && side < 2; ++side) {
      alive->PostTo(side, [what](MemoryConnection& end) { (end.*what)(); });
    }
  }
}

void MemoryNetwork::Sever() { OnEveryEnd(&MemoryConnection::Sever); }

void MemoryNetwork::set_connect_error(absl::Status error) {
  const std::lock_guard lock(mu_);
  connect_error_ = std::move(error);
}

bool MemoryNetwork::IsSilent() const {
  const std::lock_guard lock(mu_);
  return silent_;
}

void MemoryNetwork::set_silent(bool silent) {
  {
    const std::lock_guard lock(mu_);
    silent_ = silent;
  }
  if (silent) OnEveryEnd(&MemoryConnection::BlackHole);
}

size_t MemoryNetwork::connects() const {
  const std::lock_guard lock(mu_);
  return connects_;
}

}  // namespace verbena::testing
