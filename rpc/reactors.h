// Streams by reaction: operations that are started and return at once, and virtual functions that say what came of
// them. For callers and handlers that live on event loops. The shape is that of gRPC's callback API.
//
// Reactions run on the event loop, one at a time, and must not block; once the loop is gone with its channel or server,
// within the operation that is started then, or another thread's. At most one read and one write are in flight; each is
// followed by its reaction, exactly once, also when the call ends early. Beside a message may travel an attachment, as
// in blocking_stream.h. Operations that several threads start have no order between them. What a reaction throws ends
// the call as INTERNAL, with what it said; at a server as by Finish, so that OnDone follows without one of the
// reactor's own. What is thrown when the call has ended, or by OnDone, is a line in the log. OnDone is the last
// reaction: after it nothing touches the reactor, which may then delete itself.

#ifndef VERBENA_RPC_REACTORS_H_
#define VERBENA_RPC_REACTORS_H_

#include <memory>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "rpc/blocking_stream.h"
#include "rpc/service.h"
#include "rpc/stream_reactor.h"

namespace verbena {

namespace rpc {

class ClientReactor : public StreamReactor {
 public:
  // Makes the call; operations may have been started before. Once.
  void StartCall();
  // The context's initial_metadata() is there; false: the call has ended, and what there is came with that. Once, ahead
  // of other reactions to what the server sent.
  virtual void OnReadInitialMetadataDone(bool /*ok*/) {}
  // The call is complete. What the stub was given (context, request, reply) is the caller's again.
  virtual void OnDone(const absl::Status& status) = 0;

  // For generated stubs.
  void Bind(Channel* channel, const StreamingMethod& method, ClientContext* context,
            const google::protobuf::MessageLite* request, google::protobuf::MessageLite* reply);

 private:
  void OnThrown(absl::Status thrown) final;
  void OnAllDone() final;

  Channel* channel_ = nullptr;
  StreamingMethod method_ = {};
  ClientContext* context_ = nullptr;
  const google::protobuf::MessageLite* request_ = nullptr;
  google::protobuf::MessageLite* reply_ = nullptr;
  absl::Status status_;
  absl::Status thrown_;  // OK: no reaction threw.
};

class ServerReactor : public StreamReactor {
 public:
  // Ends the call with `status`, from any thread. Once; a write that waits for the client's window then fails, one that
  // waits for memory or credit leaves before the end; if it finds no memory, an OK becomes RESOURCE_EXHAUSTED. The
  // handler's context, request and reply end with it. With no operation in flight OnDone runs in here.
  void Finish(absl::Status status);
  // The call is over; mostly `delete this`.
  virtual void OnDone() = 0;

  // For generated services.
  void Bind(std::shared_ptr<MessageStream> stream, Responder responder);

 private:
  void OnThrown(absl::Status thrown) final;
  void OnAllDone() final { OnDone(); }

  // False: it had finished before, which holds.
  bool FinishOnce(absl::Status status);

  std::mutex finish_mu_;
  Responder responder_ ABSL_GUARDED_BY(finish_mu_);  // Null: the handler has not returned yet, or it has finished.
  bool has_finished_ ABSL_GUARDED_BY(finish_mu_) = false;
  absl::Status early_end_ ABSL_GUARDED_BY(finish_mu_);  // What it finished with before there was a responder.
};

// What a generated service does with the reactor that its handler returned. Null: the method is not implemented.
void BindServerReactor(ServerReactor* reactor, absl::string_view method, std::shared_ptr<MessageStream> stream,
                       Responder responder);

}  // namespace rpc

// --- The client's. Derive, override the reactions, give it to the stub, then StartCall.

template <typename Reply>
class ClientReadReactor : public rpc::ClientReactor {
 public:
  void StartRead(Reply* reply, absl::Cord* attachment = nullptr) { StartReadMessage(reply, attachment); }
};

template <typename Request>
class ClientWriteReactor : public rpc::ClientReactor {
 public:
  // `request` is the caller's again with OnWriteDone.
  void StartWrite(const Request* request, absl::Cord attachment = {}) {
    StartWriteMessage(request, std::move(attachment));
  }
  // After the write in flight, if there is one.
  void StartWritesDone() { EndWrites(); }
};

template <typename Request, typename Reply>
class ClientBidiReactor : public rpc::ClientReactor {
 public:
  void StartRead(Reply* reply, absl::Cord* attachment = nullptr) { StartReadMessage(reply, attachment); }
  void StartWrite(const Request* request, absl::Cord attachment = {}) {
    StartWriteMessage(request, std::move(attachment));
  }
  void StartWritesDone() { EndWrites(); }
};

// --- The server's. A handler returns one, which it may have started operations on.

template <typename Request>
class ServerReadReactor : public rpc::ServerReactor {
 public:
  void StartRead(Request* request, absl::Cord* attachment = nullptr) { StartReadMessage(request, attachment); }
};

template <typename Reply>
class ServerWriteReactor : public rpc::ServerReactor {
 public:
  void StartWrite(const Reply* reply, absl::Cord attachment = {}) { StartWriteMessage(reply, std::move(attachment)); }
};

template <typename Request, typename Reply>
class ServerBidiReactor : public rpc::ServerReactor {
 public:
  void StartRead(Request* request, absl::Cord* attachment = nullptr) { StartReadMessage(request, attachment); }
  void StartWrite(const Reply* reply, absl::Cord attachment = {}) { StartWriteMessage(reply, std::move(attachment)); }
};

}  // namespace verbena

#endif  // VERBENA_RPC_REACTORS_H_
