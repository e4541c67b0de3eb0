#include "tests/integration/interop_service.h"

#include <optional>
#include <string>
#include <utility>

#include "tests/integration/interop.verbena.h"

namespace verbena::interop {
namespace {

absl::Status StatusOf(const EchoStatus& status) {
  return {static_cast<absl::StatusCode>(status.code()), status.message()};
}

void Fill(int size, Payload* payload) { payload->set_body(std::string(static_cast<size_t>(size), '\0')); }

class BlockingService : public TestService::Service {
 public:
  absl::Status EmptyCall(ServerContext*, const Empty*, Empty*) override { return absl::OkStatus(); }

  absl::Status UnaryCall(ServerContext*, const SimpleRequest* request, SimpleResponse* response) override {
    if (request->has_response_status()) return StatusOf(request->response_status());
    Fill(request->response_size(), response->mutable_payload());
    return absl::OkStatus();
  }

  absl::Status StreamingOutputCall(ServerContext*, const OutputRequest* request,
                                   ServerWriter<OutputResponse>* writer) override {
    OutputResponse response;
    for (const int size : request->response_sizes()) {
      Fill(size, response.mutable_payload());
      if (absl::Status written = writer->Write(response); !written.ok()) return written;
    }
    return absl::OkStatus();
  }

  absl::Status StreamingInputCall(ServerContext*, ServerReader<InputRequest>* reader,
                                  InputResponse* response) override {
    InputRequest request;
    int64_t bytes = 0;
    while (reader->Read(&request)) bytes += static_cast<int64_t>(request.payload().body().size());
    response->set_aggregated_payload_size(bytes);
    return absl::OkStatus();
  }

  absl::Status FullDuplexCall(ServerContext*, ServerReaderWriter<OutputResponse, OutputRequest>* stream) override {
    OutputRequest request;
    OutputResponse response;
    while (stream->Read(&request)) {
      if (request.has_response_status()) return StatusOf(request.response_status());
      for (const int size : request.response_sizes()) {
        Fill(size, response.mutable_payload());
        if (absl::Status written = stream->Write(response); !written.ok()) return written;
      }
    }
    return absl::OkStatus();
  }
};

class OutputReactor : public ServerWriteReactor<OutputResponse> {
 public:
  explicit OutputReactor(const OutputRequest* request) : request_(*request) { WriteNext(); }

  void OnWriteDone(bool ok) override { ok ? WriteNext() : Finish(absl::CancelledError("nobody reads")); }
  void OnDone() override { delete this; }

 private:
  void WriteNext() {
    if (next_ == request_.response_sizes_size()) return Finish(absl::OkStatus());
    Fill(request_.response_sizes(next_++), response_.mutable_payload());
    StartWrite(&response_);
  }

  const OutputRequest& request_;
  OutputResponse response_;
  int next_ = 0;
};

class InputReactor : public ServerReadReactor<InputRequest> {
 public:
  explicit InputReactor(InputResponse* response) : response_(*response) { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) {
      response_.set_aggregated_payload_size(bytes_);
      return Finish(absl::OkStatus());
    }
    bytes_ += static_cast<int64_t>(request_.payload().body().size());
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

 private:
  InputResponse& response_;
  InputRequest request_;
  int64_t bytes_ = 0;
};

class DuplexReactor : public ServerBidiReactor<OutputRequest, OutputResponse> {
 public:
  DuplexReactor() { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(absl::OkStatus());
    if (request_.has_response_status()) return Finish(StatusOf(request_.response_status()));
    next_ = 0;
    WriteNext();
  }
  void OnWriteDone(bool ok) override { ok ? WriteNext() : Finish(absl::CancelledError("nobody reads")); }
  void OnDone() override { delete this; }

 private:
  void WriteNext() {
    if (next_ == request_.response_sizes_size()) return StartRead(&request_);
    Fill(request_.response_sizes(next_++), response_.mutable_payload());
    StartWrite(&response_);
  }

  OutputRequest request_;
  OutputResponse response_;
  int next_ = 0;
};

class LoopService : public TestService::CallbackService {
 public:
  void EmptyCall(ServerContext*, const Empty*, Empty*, Responder done) override { done(absl::OkStatus()); }

  void UnaryCall(ServerContext*, const SimpleRequest* request, SimpleResponse* response, Responder done) override {
    if (request->has_response_status()) return done(StatusOf(request->response_status()));
    Fill(request->response_size(), response->mutable_payload());
    done(absl::OkStatus());
  }

  ServerWriteReactor<OutputResponse>* StreamingOutputCall(ServerContext*, const OutputRequest* request) override {
    return new OutputReactor(request);
  }
  ServerReadReactor<InputRequest>* StreamingInputCall(ServerContext*, InputResponse* response) override {
    return new InputReactor(response);
  }
  ServerBidiReactor<OutputRequest, OutputResponse>* FullDuplexCall(ServerContext*) override {
    return new DuplexReactor();
  }
};

class CoroutineService : public TestService::CoService {
 public:
  Task<absl::Status> EmptyCall(ServerContext*, const Empty*, Empty*) override { co_return absl::OkStatus(); }

  Task<absl::Status> UnaryCall(ServerContext*, const SimpleRequest* request, SimpleResponse* response) override {
    if (request->has_response_status()) co_return StatusOf(request->response_status());
    Fill(request->response_size(), response->mutable_payload());
    co_return absl::OkStatus();
  }

  Task<absl::Status> StreamingOutputCall(ServerContext*, const OutputRequest* request,
                                         CoServerWriter<OutputResponse>* writer) override {
    for (const int size : request->response_sizes()) {
      OutputResponse response;
      Fill(size, response.mutable_payload());
      if (absl::Status written = co_await writer->Write(std::move(response)); !written.ok()) co_return written;
    }
    co_return absl::OkStatus();
  }

  Task<absl::Status> StreamingInputCall(ServerContext*, CoServerReader<InputRequest>* reader,
                                        InputResponse* response) override {
    InputRequest request;
    int64_t bytes = 0;
    while (co_await reader->Read(&request)) bytes += static_cast<int64_t>(request.payload().body().size());
    response->set_aggregated_payload_size(bytes);
    co_return absl::OkStatus();
  }

  Task<absl::Status> FullDuplexCall(ServerContext*,
                                    CoServerReaderWriter<OutputResponse, OutputRequest>* stream) override {
    AsyncGenerator<OutputRequest> requests = stream->Messages();
    while (std::optional<OutputRequest> request = co_await requests.Next()) {
      if (request->has_response_status()) co_return StatusOf(request->response_status());
      for (const int size : request->response_sizes()) {
        OutputResponse response;
        Fill(size, response.mutable_payload());
        if (absl::Status written = co_await stream->Write(std::move(response)); !written.ok()) co_return written;
      }
    }
    co_return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Service> MakeBlockingService() { return std::make_unique<BlockingService>(); }
std::unique_ptr<Service> MakeCallbackService() { return std::make_unique<LoopService>(); }
std::unique_ptr<Service> MakeCoroutineService() { return std::make_unique<CoroutineService>(); }

}  // namespace verbena::interop
