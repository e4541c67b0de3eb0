// Calls that stream, over a network in memory: both ends are driven by the test, operation by operation.

#ifndef VERBENA_RPC_TESTING_STREAM_FIXTURE_H_
#define VERBENA_RPC_TESTING_STREAM_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rpc/testing/call_fixture.h"

namespace verbena::testing {

using rpc::MessageStream;

// One end of a stream that a test drives by hand.
struct DrivenEnd {
  std::shared_ptr<MessageStream> stream;
  Text incoming;
  std::vector<absl::Status> reads;
  std::vector<absl::Status> writes;
  std::vector<std::string> received;

  void Read() {
    stream->Read(&incoming, nullptr, [this](absl::Status status) { OnRead(std::move(status)); });
  }
  void ReadAll() {
    stream->Read(&incoming, nullptr, [this](absl::Status status) {
      if (OnRead(std::move(status))) ReadAll();
    });
  }
  // `text` is the user's again when the write is complete.
  void Write(std::string text) {
    auto message = std::make_shared<Text>();
    message->set_value(std::move(text));
    stream->Write(message.get(), {}, [this, message](absl::Status status) { writes.push_back(std::move(status)); });
  }
  bool OnRead(absl::Status status) {
    const bool ok = status.ok();
    if (ok) received.push_back(incoming.value());
    reads.push_back(std::move(status));
    return ok;
  }
};

// A streaming call with all that its caller must keep.
struct StreamCall : DrivenEnd {
  ClientContext context;
  Text request;
  Text reply;
  std::vector<absl::Status> completions;
};

// The server's end.
struct Served : DrivenEnd {
  ServerContext* context = nullptr;
  std::string request;
  Text* reply = nullptr;
  Responder done;

  // Writes as fast as the client lets it, at most `count` messages.
  void WriteMany(int count, size_t bytes) {
    if (count == 0) return;
    auto message = std::make_shared<Text>();
    message->set_value(absl::StrCat(writes.size(), std::string(bytes, '.')));
    stream->Write(message.get(), {}, [this, message, count, bytes](absl::Status status) {
      const bool ok = status.ok();
      writes.push_back(std::move(status));
      if (ok) WriteMany(count - 1, bytes);
    });
  }
};

class StreamFixture : public CallFixture {
 protected:
  StreamFixture() {
    for (const MethodKind kind :
         {MethodKind::kClientStreaming, MethodKind::kServerStreaming, MethodKind::kBidiStreaming}) {
      service_.AddStream(std::string(ToString(kind)), kind,
                         [this](ServerContext* context, const Text& request, Text* reply,
                                std::shared_ptr<MessageStream> stream, Responder done) {
                           served_.push_back(std::make_unique<Served>());
                           Served& served = *served_.back();
                           served.context = context;
                           served.request = request.value();
                           served.reply = reply;
                           served.stream = std::move(stream);
                           served.done = std::move(done);
                         });
    }
  }

  ~StreamFixture() override {
    channel_.reset();  // While the calls are there.
    StopServer();
  }

  // Begins a call and lets everything run that can run at this instant.
  StreamCall* Begin(MethodKind kind, absl::Duration timeout = absl::InfiniteDuration()) {
    StreamCall* const call = BeginOnly(kind, timeout);
    loop_.RunUntilIdle();
    return call;
  }
  StreamCall* BeginOnly(MethodKind kind, absl::Duration timeout) {
    calls_.push_back(std::make_unique<StreamCall>());
    StreamCall* const call = calls_.back().get();
    call->request.set_value("the request");
    call->context.set_timeout(timeout);
    rpc::UserCall made;
    method_ = absl::StrCat("test.Lambda/", ToString(kind));
    made.method = method_;
    made.kind = kind;
    made.context = &call->context;
    made.request = ClientStreams(kind) ? nullptr : &call->request;
    made.reply = ServerStreams(kind) ? nullptr : &call->reply;
    made.done = [call](absl::Status status) { call->completions.push_back(std::move(status)); };
    channel_->core().StartStreaming(std::move(made), [call](const auto& stream) { call->stream = stream; });
    return call;
  }
  Served& served() { return *served_.back(); }
  static std::vector<std::string> Numbers(int count, size_t bytes) {
    std::vector<std::string> numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(absl::StrCat(i, std::string(bytes, '.')));
    return numbers;
  }

  std::string method_;
  std::vector<std::unique_ptr<StreamCall>> calls_;
  std::vector<std::unique_ptr<Served>> served_;
};

}  // namespace verbena::testing

#endif  // VERBENA_RPC_TESTING_STREAM_FIXTURE_H_
