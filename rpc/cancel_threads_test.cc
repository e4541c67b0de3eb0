// Cancels that meet handlers, and the calls of handlers, on threads of their own. Run under TSan.

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rpc/testing/threads_fixture.h"

namespace verbena {
namespace {

using testing::Text;

class CancelThreadsTest : public testing::ThreadsFixture {
 protected:
  struct Kept {
    ClientContext context;
    Text request, reply;
    std::atomic<bool> began = false;  // Its handler.
    std::atomic<bool> ended = false;
    absl::Status nested;  // Of the call that the handler made; before `ended`.
  };

  Kept& CallOf(const Text& request) { return calls_[std::stoi(request.value())]; }

  // Makes all calls, one after the other, and cancels each: every other one when its handler has begun, the rest
  // whenever that is. Returns when all are complete and every handler that has begun has ended.
  void CallAndCancel(absl::string_view method) {
    Start();
    std::latch all(calls_.size());
    for (size_t i = 0; i < calls_.size(); ++i) {
      calls_[i].request.set_value(absl::StrCat(i));
      CallbackUnaryCall(*channel_, method, &calls_[i].context, &calls_[i].request, &calls_[i].reply,
                        [&all](absl::Status) { all.count_down(); });
      while (i % 2 == 0 && !calls_[i].began) std::this_thread::yield();
      calls_[i].context.TryCancel();
    }
    all.wait();
    for (const Kept& call : calls_) {
      while (call.began && !call.ended) std::this_thread::yield();
    }
    server_.reset();
  }

  std::vector<Kept> calls_{200};
};

TEST_F(CancelThreadsTest, BlockingHandlersAreToldWheneverTheCancelComes) {
  service_.AddBlocking("AwaitCancel", [&](ServerContext* context, const Text& request, Text*) {
    CallOf(request).began = true;
    std::latch told(1);
    context->SetCancelCallback([&told] { told.count_down(); });
    told.wait();
    context->SetCancelCallback(nullptr);  // It uses what stands on this stack.
    CallOf(request).ended = true;
    return absl::OkStatus();
  });
  CallAndCancel("test.Lambda/AwaitCancel");
  for (const Kept& call : calls_) EXPECT_EQ(call.ended, call.began);
}

TEST_F(CancelThreadsTest, BlockingCallsOfHandlersEndWithTheCallsThatTheyAreMadeFor) {
  service_.AddBlocking("Nest", [&](ServerContext*, const Text& request, Text*) {
    CallOf(request).began = true;
    CallOf(request).nested = Call("Block");
    CallOf(request).ended = true;
    return absl::OkStatus();
  });
  CallAndCancel("test.Lambda/Nest");
  for (size_t i = 0; i < calls_.size(); i += 2) {
    EXPECT_EQ(calls_[i].nested.code(), absl::StatusCode::kCancelled) << calls_[i].nested;
  }
}

TEST_F(CancelThreadsTest, HandlerMakesACallWhileAnotherThreadFinishesItsOwn) {
  std::latch all(2 * calls_.size());
  service_.AddCallback("FinishElsewhere", [&](ServerContext*, const Text& request, Text*, Responder done) {
    const std::lock_guard lock(mu_);
    answerers_.emplace_back([done = std::move(done)]() mutable { done(absl::OkStatus()); });
    Kept& call = CallOf(request);
    CallbackUnaryCall(*channel_, "test.Lambda/Echo", &call.context, &call.request, &call.reply,
                      [&all, &call](absl::Status status) {
                        call.nested = std::move(status);
                        all.count_down();
                      });
  });
  Start();
  std::vector<Kept> parents(calls_.size());
  for (size_t i = 0; i < parents.size(); ++i) {
    calls_[i].request.set_value(absl::StrCat(i));
    CallbackUnaryCall(*channel_, "test.Lambda/FinishElsewhere", &parents[i].context, &calls_[i].request,
                      &parents[i].reply, [&all](absl::Status) { all.count_down(); });
  }
  all.wait();
  for (const Kept& call : calls_) EXPECT_EQ(call.nested, absl::OkStatus());
}

}  // namespace
}  // namespace verbena
