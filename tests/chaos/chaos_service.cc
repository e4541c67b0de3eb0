#include "tests/chaos/chaos_service.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "rpc/coroutine/loop_awaitables.h"
#include "rpc/options.h"
#include "rpc/server_context.h"
#include "tests/chaos/chaos.verbena.h"
#include "tests/chaos/content.h"

namespace verbena::chaos {
namespace {

// One call, whose handler begins with this.
class ServedCall {
 public:
  ServedCall(const ServerContext& context, LedgerWriter* ledger) {
    if (!absl::SimpleAtoi(context.client_metadata().Find("token").value_or(""), &token_)) return;
    ledger->Executed(token_);
  }

  // The call's next request.
  absl::Status Take(const Request& request) {
    if (request.index() != requests_ ||
        request.body() != Content(token_, Part::kRequest, request.index(), request.body().size())) {
      return absl::DataLossError(absl::StrCat("request ", requests_, " of call ", token_, " came with other bytes"));
    }
    ++requests_;
    return absl::OkStatus();
  }
  absl::Status TakeAttachment(const absl::Cord& attachment) const {
    if (attachment == Content(token_, Part::kAttachment, 0, attachment.size())) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("the attachment of call ", token_, " came with other bytes"));
  }
  Reply MakeReply(uint32_t bytes) {
    Reply reply;
    reply.set_requests(requests_);
    reply.set_body(Content(token_, Part::kReply, replies_++, bytes));
    return reply;
  }

  // A unary call, whole.
  absl::Status Answer(ServerContext* context, const Request& request, Reply* reply) {
    if (absl::Status taken = Take(request); !taken.ok()) return taken;
    if (absl::Status taken = TakeAttachment(context->attachment()); !taken.ok()) return taken;
    context->set_attachment(context->attachment());
    *reply = MakeReply(request.reply_bytes());
    return absl::OkStatus();
  }

 private:
  uint64_t token_ = 0;
  uint32_t requests_ = 0;
  uint32_t replies_ = 0;
};

class BlockingService : public Chaos::Service {
 public:
  explicit BlockingService(LedgerWriter* ledger) : ledger_(ledger) {}

  absl::Status Unary(ServerContext* context, const Request* request, Reply* reply) override {
    ServedCall call(*context, ledger_);
    absl::SleepFor(absl::Milliseconds(request->hold_milliseconds()));
    return call.Answer(context, *request, reply);
  }

  absl::Status Upload(ServerContext* context, ServerReader<Request>* reader, Reply* reply) override {
    ServedCall call(*context, ledger_);
    Request request;
    while (reader->Read(&request)) {
      if (absl::Status taken = call.Take(request); !taken.ok()) return taken;
    }
    *reply = call.MakeReply(request.reply_bytes());
    return absl::OkStatus();
  }

  absl::Status Download(ServerContext* context, const Request* request, ServerWriter<Reply>* writer) override {
    ServedCall call(*context, ledger_);
    if (absl::Status taken = call.Take(*request); !taken.ok()) return taken;
    for (uint32_t i = 0; i < request->replies(); ++i) {
      if (absl::Status written = writer->Write(call.MakeReply(request->reply_bytes())); !written.ok()) return written;
    }
    return absl::OkStatus();
  }

  absl::Status Duplex(ServerContext* context, ServerReaderWriter<Reply, Request>* stream) override {
    ServedCall call(*context, ledger_);
    Request request;
    while (stream->Read(&request)) {
      if (absl::Status taken = call.Take(request); !taken.ok()) return taken;
      if (absl::Status written = stream->Write(call.MakeReply(request.reply_bytes())); !written.ok()) return written;
    }
    return absl::OkStatus();
  }

 private:
  LedgerWriter* const ledger_;
};

class UploadReactor : public ServerReadReactor<Request> {
 public:
  UploadReactor(ServedCall call, Reply* reply) : call_(call), reply_(*reply) { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) {
      reply_ = call_.MakeReply(request_.reply_bytes());
      return Finish(absl::OkStatus());
    }
    if (absl::Status taken = call_.Take(request_); !taken.ok()) return Finish(taken);
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

 private:
  ServedCall call_;
  Reply& reply_;
  Request request_;
};

class DownloadReactor : public ServerWriteReactor<Reply> {
 public:
  DownloadReactor(ServedCall call, const Request* request) : call_(call), request_(*request) {
    if (absl::Status taken = call_.Take(request_); !taken.ok()) {
      Finish(taken);
    } else {
      WriteNext();
    }
  }

  void OnWriteDone(bool ok) override { ok ? WriteNext() : Finish(absl::CancelledError("nobody reads")); }
  void OnDone() override { delete this; }

 private:
  void WriteNext() {
    if (written_++ == request_.replies()) return Finish(absl::OkStatus());
    reply_ = call_.MakeReply(request_.reply_bytes());
    StartWrite(&reply_);
  }

  ServedCall call_;
  const Request request_;
  Reply reply_;
  uint32_t written_ = 0;
};

class DuplexReactor : public ServerBidiReactor<Request, Reply> {
 public:
  explicit DuplexReactor(ServedCall call) : call_(call) { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(absl::OkStatus());
    if (absl::Status taken = call_.Take(request_); !taken.ok()) return Finish(taken);
    reply_ = call_.MakeReply(request_.reply_bytes());
    StartWrite(&reply_);
  }
  void OnWriteDone(bool ok) override { ok ? StartRead(&request_) : Finish(absl::CancelledError("nobody reads")); }
  void OnDone() override { delete this; }

 private:
  ServedCall call_;
  Request request_;
  Reply reply_;
};

class ReactingService : public Chaos::CallbackService {
 public:
  explicit ReactingService(LedgerWriter* ledger) : ledger_(ledger) {}

  void Unary(ServerContext* context, const Request* request, Reply* reply, Responder done) override {
    done(ServedCall(*context, ledger_).Answer(context, *request, reply));
  }
  ServerReadReactor<Request>* Upload(ServerContext* context, Reply* reply) override {
    return new UploadReactor(ServedCall(*context, ledger_), reply);
  }
  ServerWriteReactor<Reply>* Download(ServerContext* context, const Request* request) override {
    return new DownloadReactor(ServedCall(*context, ledger_), request);
  }
  ServerBidiReactor<Request, Reply>* Duplex(ServerContext* context) override {
    return new DuplexReactor(ServedCall(*context, ledger_));
  }

 private:
  LedgerWriter* const ledger_;
};

class CoroutineService : public Chaos::CoService {
 public:
  explicit CoroutineService(LedgerWriter* ledger) : ledger_(ledger) {}

  Task<absl::Status> Unary(ServerContext* context, const Request* request, Reply* reply) override {
    ServedCall call(*context, ledger_);
    co_await SleepFor(*EventLoop::OfThisThread(), absl::Milliseconds(request->hold_milliseconds()));
    co_return call.Answer(context, *request, reply);
  }

  Task<absl::Status> Upload(ServerContext* context, CoServerReader<Request>* reader, Reply* reply) override {
    ServedCall call(*context, ledger_);
    Request request;
    while (co_await reader->Read(&request)) {
      if (absl::Status taken = call.Take(request); !taken.ok()) co_return taken;
    }
    *reply = call.MakeReply(request.reply_bytes());
    co_return absl::OkStatus();
  }

  Task<absl::Status> Download(ServerContext* context, const Request* request, CoServerWriter<Reply>* writer) override {
    ServedCall call(*context, ledger_);
    if (absl::Status taken = call.Take(*request); !taken.ok()) co_return taken;
    for (uint32_t i = 0; i < request->replies(); ++i) {
      absl::Status written = co_await writer->Write(call.MakeReply(request->reply_bytes()));
      if (!written.ok()) co_return written;
    }
    co_return absl::OkStatus();
  }

  Task<absl::Status> Duplex(ServerContext* context, CoServerReaderWriter<Reply, Request>* stream) override {
    ServedCall call(*context, ledger_);
    Request request;
    while (co_await stream->Read(&request)) {
      if (absl::Status taken = call.Take(request); !taken.ok()) co_return taken;
      absl::Status written = co_await stream->Write(call.MakeReply(request.reply_bytes()));
      if (!written.ok()) co_return written;
    }
    co_return absl::OkStatus();
  }

 private:
  LedgerWriter* const ledger_;
};

}  // namespace

std::unique_ptr<Service> MakeBlockingService(LedgerWriter* ledger) { return std::make_unique<BlockingService>(ledger); }
std::unique_ptr<Service> MakeReactingService(LedgerWriter* ledger) { return std::make_unique<ReactingService>(ledger); }
std::unique_ptr<Service> MakeCoroutineService(LedgerWriter* ledger) {
  return std::make_unique<CoroutineService>(ledger);
}

}  // namespace verbena::chaos
