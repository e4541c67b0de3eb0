#include "rpc/testing/memory_network.h"

#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

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
    loops_.push_back(*std::move(loop));
    threads_.emplace_back([loop = loops_.back().get()] { loop->RunUntil([] { return false; }); });
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
        on_accept_(std::make_shared<AcceptCallback>(std::move(on_accept))) {}
  ~MemoryListener() override { Close(); }
  void Close() override { network_->Forget(this); }
  const std::vector<std::string>& addresses() const override { return addresses_; }

  transport::EventLoop* NextLoop() { return loops_[next_loop_++ % loops_.size()]; }
  void Accept(std::unique_ptr<MemoryConnection> connection) {
    transport::EventLoop* loop = connection->loop();
    loop->Post([on_accept = on_accept_, connection = std::move(connection)]() mutable {
      (*on_accept)(std::move(connection));
    });
  }

 private:
  MemoryNetwork* const network_;
  const std::vector<std::string> addresses_;
  const std::vector<transport::EventLoop*> loops_;
  const std::shared_ptr<AcceptCallback> on_accept_;
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

void MemoryNetwork::Connect(absl::string_view address, const transport::TransportOptions&, transport::EventLoop* loop,
                            transport::ConnectCallback done, const transport::AuthenticationPolicy&) {
  auto connect = [this, address = std::string(address), loop, done = std::move(done)]() mutable {
    ConnectNow(address, loop, done);
  };
  if (connect_delay_ > absl::ZeroDuration()) {
    loop->AddTimer(loop->Now() + connect_delay_, std::move(connect));
  } else {
    loop->Post(std::move(connect));
  }
}

void MemoryNetwork::ConnectNow(const std::string& address, transport::EventLoop* loop,
                               transport::ConnectCallback& done) {
  std::unique_ptr<MemoryConnection> client;
  {
    const std::lock_guard lock(mu_);
    ++connects_;
    if (!connect_error_.ok()) {
      // Below, without the lock.
    } else if (const auto found = listeners_.find(address); found != listeners_.end()) {
      MemoryListener* listener = found->second;
      auto [client_end, server_end] =
          MemoryConnection::MakePair(loop, listener->NextLoop(), absl::StrCat("memory://", address),
                                     absl::StrCat("memory://client:", connects_), connection_options_);
      latest_client_ = client_end->life();
      latest_server_ = server_end->life();
      client = std::move(client_end);
      listener->Accept(std::move(server_end));
    }
  }
  if (!connect_error_.ok()) {
    done(connect_error_);
  } else if (client == nullptr) {
    done(absl::UnavailableError(absl::StrCat("nobody listens on ", address)));
  } else {
    done(std::move(client));
  }
}

size_t MemoryNetwork::connects() const {
  const std::lock_guard lock(mu_);
  return connects_;
}

}  // namespace verbena::testing
