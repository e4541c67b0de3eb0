// What a server serves: a service is a name and a list of methods. Generated code derives from this; users derive from
// generated code.

#ifndef VERBENA_RPC_SERVICE_H_
#define VERBENA_RPC_SERVICE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/message_lite.h"
#include "rpc/core/method_kind.h"

namespace verbena {

class ServerContext;
namespace rpc {
class MessageStream;
}  // namespace rpc

// Finishes a call that a callback handler was given. Call it exactly once, from any thread (later calls do nothing);
// dropped uncalled, the call ends as INTERNAL. Moves only; one pointer.
//
// Anything that takes a status can be made one, as a test of a handler does; then it is called once at most.
class Responder {
 public:
  // Who is told: one of the two is called, once, and ends the target's life when it likes.
  class Target {
   public:
    virtual void Finish(absl::Status status) = 0;
    virtual void Drop() = 0;

   protected:
    ~Target() = default;
  };

  Responder() = default;
  Responder(std::nullptr_t) {}  // NOLINT(google-explicit-constructor): `responder = nullptr`.
  explicit Responder(Target* target) : target_(target) {}  // Takes it.
  template <typename Function, std::enable_if_t<!std::is_same_v<std::decay_t<Function>, Responder> &&
                                                    std::is_constructible_v<std::decay_t<Function>, Function> &&
                                                    std::is_invocable_v<std::decay_t<Function>&, absl::Status>,
                                                int> = 0>
  Responder(Function&& function) {  // NOLINT(google-explicit-constructor): a lambda is one.
    if constexpr (std::is_constructible_v<std::decay_t<Function>, std::nullptr_t>) {
      if (function == nullptr) return;  // One of no function is none.
    }
    target_ = new FunctionTarget<std::decay_t<Function>>(std::forward<Function>(function));
  }

  Responder(Responder&& other) noexcept : target_(std::exchange(other.target_, nullptr)) {}
  Responder& operator=(Responder&& other) noexcept {
    Responder(std::move(other)).Swap(*this);
    return *this;
  }
  ~Responder() {
    if (target_ != nullptr) target_->Drop();
  }

  void operator()(absl::Status status) {
    if (Target* const target = std::exchange(target_, nullptr)) target->Finish(std::move(status));
  }
  // Whether it is still to be called.
  explicit operator bool() const { return target_ != nullptr; }
  friend bool operator==(const Responder& responder, std::nullptr_t) { return responder.target_ == nullptr; }

 private:
  template <typename Function>
  class FunctionTarget final : public Target {
   public:
    template <typename From>
    explicit FunctionTarget(From&& from) : function_(std::forward<From>(from)) {}
    void Finish(absl::Status status) override {
      const std::unique_ptr<FunctionTarget> self(this);
      std::invoke(function_, std::move(status));
    }
    void Drop() override { delete this; }

   private:
    Function function_;
  };

  void Swap(Responder& other) { std::swap(target_, other.target_); }

  Target* target_ = nullptr;
};

// One method. Immutable after the service is registered.
struct Method {
  std::string name;  // Without the service: "SayHello".
  MethodKind kind = MethodKind::kUnary;
  std::function<std::unique_ptr<google::protobuf::MessageLite>()> new_request;
  std::function<std::unique_ptr<google::protobuf::MessageLite>()> new_reply;

  // Exactly one of these is set; of a method that streams one of the last two.
  // Runs on the executor and may block.
  std::function<absl::Status(ServerContext*, const google::protobuf::MessageLite& request,
                             google::protobuf::MessageLite* reply)>
      blocking = nullptr;
  // Runs on the event loop and never blocks. `request` and `reply` live until the responder has been called.
  std::function<void(ServerContext*, const google::protobuf::MessageLite& request, google::protobuf::MessageLite* reply,
                     Responder&& done)>
      callback = nullptr;
  // The same with streams: `request` is empty if the client streams, `reply` is not sent if the server does.
  std::function<absl::Status(ServerContext*, const google::protobuf::MessageLite& request,
                             google::protobuf::MessageLite* reply, std::shared_ptr<rpc::MessageStream> stream)>
      blocking_stream = nullptr;
  std::function<void(ServerContext*, const google::protobuf::MessageLite& request, google::protobuf::MessageLite* reply,
                     std::shared_ptr<rpc::MessageStream> stream, Responder&& done)>
      callback_stream = nullptr;

  // One of the last two runs a coroutine and calls the responder when that has returned and its frame is gone: the
  // server stays until then.
  bool is_coroutine = false;
};

class Service {
 public:
  virtual ~Service() = default;
  virtual const std::string& full_name() const = 0;  // "package.Service".
  virtual const std::vector<Method>& methods() const = 0;

  // What a server tells the services that are registered with it; few have anything to do about it.
  //
  // It is about to take calls; `services` are the full names of all that it serves. On Server::Builder::Build's thread.
  // What it throws is why the server does not start; those who were told before hear no more of that server.
  virtual void OnServerStart(const std::vector<std::string>& /*services*/) {}
  // It is about to reject new calls and to let those in flight finish: those that would not by themselves, such as
  // streams that wait for news, are to be ended, and new ones of that kind, too. Once, on the thread that shuts the
  // server down; must not block. What it throws is a line in the log.
  virtual void OnServerDrain() {}

  // See ReadAttachmentInParts.
  const std::vector<std::string>& methods_read_in_parts() const { return methods_read_in_parts_; }

 protected:
  // Has the handler of `method` ("Put") run as soon as the request's message is there, while its attachment still
  // comes: it reads that with ServerContext::attachment_reader. For attachments that are long to fetch and can be
  // worked on from the front; one that is small has come when the handler runs. A handler that blocks waits on its
  // thread of the executor while the client's bytes come.
  //
  // In the constructor of the service. A server does not start if there is no such method, or its client streams: of a
  // stream each message has an attachment of its own.
  void ReadAttachmentInParts(std::string method) { methods_read_in_parts_.push_back(std::move(method)); }

 private:
  std::vector<std::string> methods_read_in_parts_;
};

}  // namespace verbena

#endif  // VERBENA_RPC_SERVICE_H_
