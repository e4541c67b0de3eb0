// What the reactors of both ends have in common: operations on a stream that may not be there yet, and the count of
// what is still to come, so that the last reaction is the last.

#ifndef VERBENA_RPC_STREAM_REACTOR_H_
#define VERBENA_RPC_STREAM_REACTOR_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "google/protobuf/message_lite.h"

namespace verbena::rpc {

class MessageStream;

// Users see reactors.h. Thread: operations any, one read and one write at a time; reactions the event loop's.
class StreamReactor {
 public:
  virtual ~StreamReactor();

  // The end of a read or a write; false: it failed, as reads do at the end of the stream.
  virtual void OnReadDone(bool /*ok*/) {}
  virtual void OnWriteDone(bool /*ok*/) {}

 protected:
  StreamReactor();
  StreamReactor(const StreamReactor&) = delete;
  StreamReactor& operator=(const StreamReactor&) = delete;

  void StartReadMessage(google::protobuf::MessageLite* into, absl::Cord* attachment);
  void StartWriteMessage(const google::protobuf::MessageLite* message, absl::Cord attachment);
  void EndWrites();

  // The stream is there: what was started goes on.
  void BindStream(std::shared_ptr<MessageStream> stream);
  // An operation of the derived's is in flight, until Release.
  void Hold() { to_come_.fetch_add(1, std::memory_order_relaxed); }
  void Release();
  // The end of an operation: runs `reaction`, which may start another one in its place, and may throw.
  template <typename Reaction>
  void React(Reaction reaction) {
    ReactionScope scope(this);
    try {
      reaction();
    } catch (...) {
      EndForThrown();
    }
    if (scope.TakeHold()) Release();
  }
  MessageStream* stream() const { return bound_.load(std::memory_order_acquire); }  // Null: before BindStream.
  // A reaction threw: the call is to end with `thrown`, which says what. It may have ended already.
  virtual void OnThrown(absl::Status thrown) = 0;
  // The end is known; OnAllDone follows when no operation is in flight. Once.
  void OnEndKnown() { Release(); }
  // Nothing follows: may destroy this.
  virtual void OnAllDone() = 0;

 private:
  // Of a reaction, on its stack: the operation whose end it is still counts, until another takes its place. Which ends
  // behind the reaction, never within it (MessageStream), so that the reactor stays.
  class ReactionScope {
   public:
    explicit ReactionScope(StreamReactor* reactor) : reactor_(reactor), outer_(std::exchange(current_, this)) {}
    ~ReactionScope() { current_ = outer_; }
    ReactionScope(const ReactionScope&) = delete;
    ReactionScope& operator=(const ReactionScope&) = delete;

    // True once.
    bool TakeHold() { return std::exchange(reactor_, nullptr) != nullptr; }
    // Whether the calling thread is in a reaction of `reactor` whose place is to be had, and now is taken.
    static bool TakePlace(const StreamReactor* reactor) {
      return current_ != nullptr && current_->reactor_ == reactor && current_->TakeHold();
    }

   private:
    static constinit inline thread_local ReactionScope* current_ = nullptr;

    StreamReactor* reactor_;  // Null: the place is taken.
    ReactionScope* const outer_;
  };

  struct Reading {
    google::protobuf::MessageLite* into = nullptr;  // Null: none.
    absl::Cord* attachment = nullptr;
  };
  struct Writing {
    const google::protobuf::MessageLite* message = nullptr;  // Null: none.
    absl::Cord attachment;
  };

  // An operation is in flight until its reaction.
  void HoldForOperation() {
    if (!ReactionScope::TakePlace(this)) Hold();
  }
  template <typename Note>
  MessageStream* BoundOr(Note note);
  void EndForThrown();  // In a handler of what was thrown.
  void ReadNow(MessageStream& stream, const Reading& read);
  void WriteNow(MessageStream& stream, Writing write);

  std::atomic<int> to_come_ = 1;  // Operations in flight, and the end.

  // stream_, once what was started before it was there has been handed to it. Null: not yet.
  std::atomic<MessageStream*> bound_ = nullptr;

  std::mutex mu_;
  std::shared_ptr<MessageStream> stream_ ABSL_GUARDED_BY(mu_);  // Null: not yet. Constant from then on.
  // Started before there was a stream.
  Reading read_ ABSL_GUARDED_BY(mu_);
  Writing write_ ABSL_GUARDED_BY(mu_);
  bool writes_ended_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_STREAM_REACTOR_H_
