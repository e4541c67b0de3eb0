#include "benchmarks/call_cost/loads.h"

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "rpc/client_context.h"
#include "rpc/coroutine/block_on.h"
#include "rpc/coroutine/event.h"
#include "rpc/coroutine/task.h"
#include "rpc/coroutine/when_all.h"
#include "rpc/reactors.h"

namespace verbena::benchmarks {
namespace {

struct Call {
  explicit Call(size_t payload_bytes) { request.set_payload(std::string(payload_bytes, 'v')); }

  ClientContext* NewContext(const LoadSettings& settings) {
    if (settings.own_contexts) {
      context.emplace();
    } else {
      context->Reset();
    }
    if (settings.deadlines) context->set_timeout(absl::Minutes(1));
    if (settings.metadata) context->AddMetadata("trace", "0123456789abcdef0123456789abcdef").IgnoreError();
    return &*context;
  }

  std::optional<ClientContext> context{std::in_place};
  Bytes request;
  Bytes reply;
};

std::vector<std::unique_ptr<Call>> MakeCalls(const LoadSettings& settings) {
  std::vector<std::unique_ptr<Call>> calls;
  while (calls.size() < settings.in_flight) calls.push_back(std::make_unique<Call>(settings.payload_bytes));
  return calls;
}

// So many calls at once, each made again when it is done, until all have been made.
class CallLoad final : public Load {
 public:
  CallLoad(std::shared_ptr<Channel> channel, EventLoop* loop, const LoadSettings& settings)
      : settings_(settings), loop_(*loop), stub_(std::move(channel)), calls_(MakeCalls(settings)) {}

  absl::Status Run(size_t calls) override {
    left_ = calls;
    // Within the loop, as a program that does everything on its loop makes them.
    loop_.Post([this] {
      for (const std::unique_ptr<Call>& call : calls_) MakeNext(call.get());
    });
    loop_.RunUntil([this] { return left_ == 0 && in_flight_ == 0; });
    return status_;
  }

 private:
  void MakeNext(Call* call) {
    if (left_ == 0) return;
    --left_;
    ++in_flight_;
    ClientContext* const context = call->NewContext(settings_);
    stub_.async()->Echo(context, &call->request, &call->reply, [this, call](absl::Status status) {
      --in_flight_;
      status_.Update(status);
      MakeNext(call);
    });
  }

  const LoadSettings settings_;
  EventLoop& loop_;
  Bench::Stub stub_;
  const std::vector<std::unique_ptr<Call>> calls_;
  size_t left_ = 0;
  size_t in_flight_ = 0;
  absl::Status status_;
};

// The same by a thread beside the loop, which learns of each completion by itself.
class IssuedLoad final : public Load {
 public:
  IssuedLoad(std::shared_ptr<Channel> channel, EventLoop* loop, const LoadSettings& settings)
      : settings_(settings), loop_(*loop), stub_(std::move(channel)), calls_(settings.in_flight) {
    for (IssuedCall& each : calls_) each.call.emplace(settings.payload_bytes);
  }

  absl::Status Run(size_t calls) override {
    done_.store(0);
    std::thread issuer([this, calls] {
      for (size_t i = 0; i < calls; ++i) Make(calls_[i % calls_.size()]);
    });
    loop_.RunUntil([this, calls] { return done_.load(std::memory_order_acquire) == calls; });
    issuer.join();
    return status_;
  }

 private:
  struct IssuedCall {
    std::optional<Call> call;
    std::atomic<bool> under_way = false;
  };

  void Make(IssuedCall& issued) {
    while (issued.under_way.load(std::memory_order_acquire)) __builtin_ia32_pause();
    issued.under_way.store(true, std::memory_order_relaxed);
    Call& call = *issued.call;
    stub_.async()->Echo(call.NewContext(settings_), &call.request, &call.reply, [this, &issued](absl::Status status) {
      status_.Update(status);
      issued.under_way.store(false, std::memory_order_release);
      done_.fetch_add(1, std::memory_order_acq_rel);
    });
  }

  const LoadSettings settings_;
  EventLoop& loop_;
  Bench::Stub stub_;
  std::vector<IssuedCall> calls_;
  std::atomic<size_t> done_ = 0;
  absl::Status status_;  // The loop's.
};

// So many coroutines, each of which makes one call after the other, until all have been made.
class CoroutineLoad final : public Load {
 public:
  CoroutineLoad(std::shared_ptr<Channel> channel, EventLoop* loop, const LoadSettings& settings)
      : settings_(settings), loop_(*loop), stub_(std::move(channel)), calls_(MakeCalls(settings)) {}

  absl::Status Run(size_t calls) override {
    left_ = calls;
    return BlockOn(loop_, RunAll());
  }

 private:
  Task<absl::Status> RunAll() {
    std::vector<Task<absl::Status>> callers;
    for (const std::unique_ptr<Call>& call : calls_) callers.push_back(CallAgainAndAgain(call.get()));
    const std::vector<absl::Status> statuses = co_await WhenAll(std::move(callers));
    absl::Status failure;
    for (const absl::Status& status : statuses) failure.Update(status);
    co_return failure;
  }

  Task<absl::Status> CallAgainAndAgain(Call* call) {
    absl::Status failure;
    while (left_ > 0) {
      --left_;
      ClientContext* const context = call->NewContext(settings_);
      const absl::Status status = co_await stub_.co()->Echo(context, call->request, &call->reply);
      failure.Update(status);
    }
    co_return failure;
  }

  const LoadSettings settings_;
  EventLoop& loop_;
  Bench::Stub stub_;
  const std::vector<std::unique_ptr<Call>> calls_;
  size_t left_ = 0;
};

// So many messages on their way, each followed by another when it is back, over a stream that stays.
class StreamLoad final : public Load, private ClientBidiReactor<Bytes, Bytes> {
 public:
  StreamLoad(std::shared_ptr<Channel> channel, EventLoop* loop, const LoadSettings& settings)
      : stub_(std::move(channel)), loop_(*loop), in_flight_max_(settings.in_flight) {
    request_.set_payload(std::string(settings.payload_bytes, 'v'));
    loop_.Post([this] {
      stub_.async()->EchoStream(&context_, this);
      StartRead(&reply_);
      StartCall();
    });
  }
  ~StreamLoad() override {
    loop_.Post([this] { StartWritesDone(); });
    loop_.RunUntil([this] { return ended_; });
  }

  absl::Status Run(size_t messages) override {
    left_ = messages;
    loop_.Post([this] { WriteIfRoom(); });
    loop_.RunUntil([this] { return ended_ || (left_ == 0 && in_flight_ == 0); });
    return status_;
  }

 private:
  void WriteIfRoom() {
    if (writing_ || left_ == 0 || in_flight_ == in_flight_max_) return;
    writing_ = true;
    --left_;
    ++in_flight_;
    StartWrite(&request_);
  }
  void OnWriteDone(bool ok) override {
    writing_ = false;
    if (ok) WriteIfRoom();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    --in_flight_;
    StartRead(&reply_);
    WriteIfRoom();
  }
  void OnDone(const absl::Status& status) override {
    status_ = status;
    ended_ = true;
  }

  Bench::Stub stub_;
  EventLoop& loop_;
  const size_t in_flight_max_;
  ClientContext context_;
  Bytes request_;
  Bytes reply_;
  size_t left_ = 0;
  size_t in_flight_ = 0;
  bool writing_ = false;
  bool ended_ = false;
  absl::Status status_;
};

// The same by coroutines.
class CoroutineStreamLoad final : public Load {
 public:
  CoroutineStreamLoad(std::shared_ptr<Channel> channel, EventLoop* loop, const LoadSettings& settings)
      : loop_(*loop), stub_(std::move(channel)), in_flight_max_(settings.in_flight) {
    request_.set_payload(std::string(settings.payload_bytes, 'v'));
    BlockOn(loop_, Open()).IgnoreError();
  }
  ~CoroutineStreamLoad() override { BlockOn(loop_, Finish()).IgnoreError(); }

  absl::Status Run(size_t messages) override { return BlockOn(loop_, Echo(messages)); }

 private:
  Task<absl::Status> Open() {
    stream_ = stub_.co()->EchoStream(&context_);
    co_return absl::OkStatus();
  }
  // One writes while the other reads: more bytes than the streams' windows hold may be on their way.
  Task<absl::Status> Echo(size_t messages) {
    written_ = read_ = 0;
    co_await WhenAll(Write(messages), Read(messages));
    if (read_ < messages) co_return co_await Finish();
    co_return absl::OkStatus();
  }
  Task<> Write(size_t messages) {
    for (; written_ < messages; ++written_) {
      if (written_ - read_ == in_flight_max_) {
        room_.emplace(loop_);
        co_await room_->Wait();
      }
      const absl::Status status = co_await stream_->Write(request_);
      if (!status.ok()) break;
    }
  }
  Task<> Read(size_t messages) {
    Bytes reply;
    for (; read_ < messages; ++read_) {
      const bool ok = co_await stream_->Read(&reply);
      if (!ok) break;
      if (room_.has_value()) room_->Set();
    }
    if (room_.has_value()) room_->Set();  // Also if the stream has ended.
  }
  Task<absl::Status> Finish() { co_return co_await stream_->Finish(); }

  EventLoop& loop_;
  Bench::Stub stub_;
  const size_t in_flight_max_;
  ClientContext context_;
  Bytes request_;
  std::unique_ptr<CoClientReaderWriter<Bytes, Bytes>> stream_;
  size_t written_ = 0;
  size_t read_ = 0;
  std::optional<OneShotEvent> room_;  // The writer waits for it, or has.
};

}  // namespace

std::unique_ptr<Load> MakeLoad(std::shared_ptr<Channel> channel, EventLoop* loop, const LoadSettings& settings) {
  if (settings.streaming && settings.coroutines) {
    return std::make_unique<CoroutineStreamLoad>(std::move(channel), loop, settings);
  }
  if (settings.streaming) return std::make_unique<StreamLoad>(std::move(channel), loop, settings);
  if (settings.issuer) return std::make_unique<IssuedLoad>(std::move(channel), loop, settings);
  if (settings.coroutines) return std::make_unique<CoroutineLoad>(std::move(channel), loop, settings);
  return std::make_unique<CallLoad>(std::move(channel), loop, settings);
}

}  // namespace verbena::benchmarks
