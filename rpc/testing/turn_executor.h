// An executor for a loop with virtual time: handlers run on threads of which only one, the loop's included, runs
// at a time. A handler runs until it returns or waits for something of Verbena's (a stream, a call that it makes);
// then the loop goes on, and gives it another turn when what it waits for is there. So a test of blocking handlers has
// one order of events, and time passes only while nobody has anything to do.
//
// What else a handler waits for (a mutex, a sleep) stops the loop, too.
//
// Owner: the server's core. Thread: the loop's.

#ifndef VERBENA_RPC_TESTING_TURN_EXECUTOR_H_
#define VERBENA_RPC_TESTING_TURN_EXECUTOR_H_

#include <cstddef>
#include <list>
#include <memory>

#include "rpc/executor/executor.h"
#include "rpc/testing/manual_loop.h"
#include "transport/event_loop.h"

namespace verbena::testing {

class TurnExecutor final : public rpc::Executor, public transport::PollSource {
 public:
  // At most `threads` of its threads work; each does one piece of work after another until there is none.
  TurnExecutor(ManualLoop* loop, int threads, Work work);
  ~TurnExecutor() override;

  void Wake() override { ++wakes_; }
  // Drives the loop until every handler has returned.
  void Shutdown() override;

  // Gives one handler its turn, if one can go on or begin.
  int Poll() override;
  void Arm() override {}
  void OnReadable(int) override {}

 private:
  class Handler;

  ManualLoop& loop_;
  const size_t threads_;
  const Work work_;

  size_t wakes_ = 0;                              // That no thread has heeded.
  std::list<std::unique_ptr<Handler>> handlers_;  // Threads that work; whose turn was longest ago is first.
  bool shut_down_ = false;
};

}  // namespace verbena::testing

#endif  // VERBENA_RPC_TESTING_TURN_EXECUTOR_H_
