// The three forms of a call.

#include <utility>

#include "tests/chaos/chaos_call.h"

namespace verbena::chaos {
namespace {

absl::Status UnaryBlocking(Chaos::Stub& stub, ChaosCall& call) {
  Reply reply;
  const absl::Status status = stub.Unary(&call.context(), call.MakeRequest(0), &reply);
  if (status.ok()) call.Take(reply);
  return status;
}

absl::Status UploadBlocking(Chaos::Stub& stub, ChaosCall& call) {
  Reply reply;
  const auto writer = stub.Upload(&call.context(), &reply);
  for (uint32_t i = 0; i < call.requests() && writer->Write(call.MakeRequest(i)).ok(); ++i) {
  }
  const absl::Status status = writer->Finish();
  if (status.ok()) call.Take(reply);
  return status;
}

absl::Status DownloadBlocking(Chaos::Stub& stub, ChaosCall& call) {
  const auto reader = stub.Download(&call.context(), call.MakeRequest(0));
  Reply reply;
  while (reader->Read(&reply)) call.Take(reply);
  return reader->Finish();
}

absl::Status DuplexBlocking(Chaos::Stub& stub, ChaosCall& call) {
  const auto stream = stub.Duplex(&call.context());
  Reply reply;
  for (uint32_t i = 0; i < call.requests(); ++i) {
    if (!stream->Write(call.MakeRequest(i)).ok() || !stream->Read(&reply)) break;
    call.Take(reply);
  }
  stream->WritesDone();
  while (stream->Read(&reply)) call.Take(reply);
  return stream->Finish();
}

// What the reactors share: they live until OnDone.
template <typename Reactor>
class CallReactor : public Reactor {
 public:
  CallReactor(std::shared_ptr<ChaosCall> call, std::function<void()> done)
      : call_(std::move(call)), done_(std::move(done)) {}

  void OnDone(const absl::Status& status) override {
    BeforeEnd(status);
    call_->End(status);
    done_();
    delete this;
  }

 protected:
  virtual void BeforeEnd(const absl::Status&) {}
  ChaosCall& call() { return *call_; }
  bool NextRequest(Request* request) {
    if (written_ == call_->requests()) return false;
    *request = call_->MakeRequest(written_++);
    return true;
  }

 private:
  const std::shared_ptr<ChaosCall> call_;
  const std::function<void()> done_;
  uint32_t written_ = 0;
};

class UploadReactor : public CallReactor<ClientWriteReactor<Request>> {
 public:
  using CallReactor::CallReactor;

  void Start(Chaos::Stub& stub) {
    stub.async()->Upload(&call().context(), &reply_, this);
    OnWriteDone(true);
    StartCall();
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return;
    NextRequest(&request_) ? StartWrite(&request_) : StartWritesDone();
  }

 private:
  void BeforeEnd(const absl::Status& status) override {
    if (status.ok()) call().Take(reply_);
  }

  Request request_;
  Reply reply_;
};

class DownloadReactor : public CallReactor<ClientReadReactor<Reply>> {
 public:
  using CallReactor::CallReactor;

  void Start(Chaos::Stub& stub) {
    request_ = call().MakeRequest(0);
    stub.async()->Download(&call().context(), &request_, this);
    StartRead(&reply_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    call().Take(reply_);
    StartRead(&reply_);
  }

 private:
  Request request_;
  Reply reply_;
};

// Reads and writes at the same time.
class DuplexReactor : public CallReactor<ClientBidiReactor<Request, Reply>> {
 public:
  using CallReactor::CallReactor;

  void Start(Chaos::Stub& stub) {
    stub.async()->Duplex(&call().context(), this);
    StartRead(&reply_);
    OnWriteDone(true);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    call().Take(reply_);
    StartRead(&reply_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return;
    NextRequest(&request_) ? StartWrite(&request_) : StartWritesDone();
  }

 private:
  Request request_;
  Reply reply_;
};

void UnaryByCallback(Chaos::Stub& stub, std::shared_ptr<ChaosCall> call, std::function<void()> done) {
  struct Messages {
    Request request;
    Reply reply;
  };
  const auto messages = std::make_shared<Messages>();
  messages->request = call->MakeRequest(0);
  ClientContext* const context = &call->context();
  stub.async()->Unary(context, &messages->request, &messages->reply,
                      [call = std::move(call), done = std::move(done), messages](const absl::Status& status) {
                        if (status.ok()) call->Take(messages->reply);
                        call->End(status);
                        done();
                      });
}

Task<absl::Status> UnaryByCoroutine(Chaos::Stub& stub, ChaosCall& call) {
  const Request request = call.MakeRequest(0);
  Reply reply;
  absl::Status status = co_await stub.co()->Unary(&call.context(), request, &reply);
  if (status.ok()) call.Take(reply);
  co_return status;
}

Task<absl::Status> UploadByCoroutine(Chaos::Stub& stub, ChaosCall& call) {
  Reply reply;
  const auto writer = stub.co()->Upload(&call.context(), &reply);
  for (uint32_t i = 0; i < call.requests(); ++i) {
    if (!(co_await writer->Write(call.MakeRequest(i))).ok()) break;
  }
  absl::Status status = co_await writer->Finish();
  if (status.ok()) call.Take(reply);
  co_return status;
}

Task<absl::Status> DownloadByCoroutine(Chaos::Stub& stub, ChaosCall& call) {
  const auto reader = stub.co()->Download(&call.context(), call.MakeRequest(0));
  Reply reply;
  while (co_await reader->Read(&reply)) call.Take(reply);
  co_return co_await reader->Finish();
}

Task<absl::Status> DuplexByCoroutine(Chaos::Stub& stub, ChaosCall& call) {
  const auto stream = stub.co()->Duplex(&call.context());
  Reply reply;
  for (uint32_t i = 0; i < call.requests(); ++i) {
    if (!(co_await stream->Write(call.MakeRequest(i))).ok() || !co_await stream->Read(&reply)) break;
    call.Take(reply);
  }
  stream->WritesDone();
  while (co_await stream->Read(&reply)) call.Take(reply);
  co_return co_await stream->Finish();
}

}  // namespace

void MakeBlocking(Chaos::Stub& stub, ChaosCall& call) {
  call.Begin();
  switch (call.plan().kind) {
    case CallKind::kUnary:
      return call.End(UnaryBlocking(stub, call));
    case CallKind::kUpload:
      return call.End(UploadBlocking(stub, call));
    case CallKind::kDownload:
      return call.End(DownloadBlocking(stub, call));
    case CallKind::kDuplex:
      return call.End(DuplexBlocking(stub, call));
  }
}

void MakeByCallback(Chaos::Stub& stub, std::shared_ptr<ChaosCall> call, std::function<void()> done) {
  call->Begin();
  switch (call->plan().kind) {
    case CallKind::kUnary:
      return UnaryByCallback(stub, std::move(call), std::move(done));
    case CallKind::kUpload:
      return (new UploadReactor(std::move(call), std::move(done)))->Start(stub);
    case CallKind::kDownload:
      return (new DownloadReactor(std::move(call), std::move(done)))->Start(stub);
    case CallKind::kDuplex:
      return (new DuplexReactor(std::move(call), std::move(done)))->Start(stub);
  }
}

Task<void> MakeByCoroutine(Chaos::Stub& stub, std::shared_ptr<ChaosCall> call) {
  call->Begin();
  switch (call->plan().kind) {
    case CallKind::kUnary:
      co_return call->End(co_await UnaryByCoroutine(stub, *call));
    case CallKind::kUpload:
      co_return call->End(co_await UploadByCoroutine(stub, *call));
    case CallKind::kDownload:
      co_return call->End(co_await DownloadByCoroutine(stub, *call));
    case CallKind::kDuplex:
      co_return call->End(co_await DuplexByCoroutine(stub, *call));
  }
}

}  // namespace verbena::chaos
