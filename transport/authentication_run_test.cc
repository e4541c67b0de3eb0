#include "transport/authentication_run.h"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

using testing::HasSubstr;

// Accepts who says "please", and says what it is told to.
class Doorman : public Authenticator {
 public:
  Doorman(bool blocks, int* questions) : blocks_(blocks), questions_(*questions) {}
  absl::StatusOr<std::unique_ptr<ServerAuthentication>> BeginServer(const UnauthenticatedPeer&) override {
    return std::make_unique<Door>(&questions_);
  }
  bool may_block() const override { return blocks_; }

 private:
  class Door : public ServerAuthentication {
   public:
    explicit Door(int* questions) : questions_(*questions) {}
    absl::StatusOr<Answer> Judge(absl::string_view message) override {
      ++questions_;
      if (message == "boo") throw std::runtime_error("frightened");
      if (message != "please") return absl::PermissionDeniedError("the magic word is missing");
      return Answer{"welcome", PeerIdentity{"door", "guest", {}}};
    }

   private:
    int& questions_;
  };
  const bool blocks_;
  int& questions_;
};

class AuthenticationRunTest : public testing::Test {
 protected:
  using Answer = absl::StatusOr<AuthenticationRun::Answer>;

  void Begin(bool blocks) {
    policy_.authenticator = std::make_shared<Doorman>(blocks, &questions_);
    policy_.run = [this](absl::AnyInvocable<void()> task) {
      if (full_) return false;
      tasks_.push_back(std::move(task));
      return true;
    };
    run_ = *AuthenticationRun::Begin(loop_.get(), policy_, /*initiator=*/false, {});
  }
  bool Ask(absl::string_view message) {
    return run_->Ask(message, false, [this](Answer answer) { answers_.push_back(std::move(answer)); });
  }
  void RunTasks() {
    for (absl::AnyInvocable<void()>& task : std::exchange(tasks_, {})) task();
  }
  void RunLoop() {
    bool done = false;
    loop_->Post([&done] { done = true; });
    loop_->RunUntil([&done] { return done; });
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create({});
  AuthenticationPolicy policy_;
  bool full_ = false;
  int questions_ = 0;  // That the authenticator was asked.
  std::vector<absl::AnyInvocable<void()>> tasks_;
  std::unique_ptr<AuthenticationRun> run_;
  std::vector<Answer> answers_;
};

TEST_F(AuthenticationRunTest, AnAuthenticatorThatDoesNotBlockAnswersAtOnce) {
  Begin(/*blocks=*/false);
  EXPECT_TRUE(Ask("please"));
  ASSERT_EQ(answers_.size(), 1u);
  ASSERT_TRUE(answers_[0].ok());
  EXPECT_EQ(answers_[0]->message, "welcome");
  EXPECT_EQ(answers_[0]->peer->name, "guest");
}

TEST_F(AuthenticationRunTest, OneThatMayBlockAnswersOnTheLoopAfterItsTask) {
  Begin(/*blocks=*/true);
  EXPECT_TRUE(Ask("please"));
  RunLoop();
  EXPECT_TRUE(answers_.empty());
  RunTasks();
  EXPECT_TRUE(answers_.empty());
  RunLoop();
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_TRUE(answers_[0].ok());
}

TEST_F(AuthenticationRunTest, AnAnswerAfterTheEndOfItsConnectionIsDropped) {
  Begin(/*blocks=*/true);
  EXPECT_TRUE(Ask("please"));
  run_.reset();
  RunTasks();
  RunLoop();
  EXPECT_TRUE(answers_.empty());
}

// Peers that come and go would keep the threads from those that stay.
TEST_F(AuthenticationRunTest, NobodyIsAskedAboutAConnectionThatHasGone) {
  Begin(/*blocks=*/true);
  EXPECT_TRUE(Ask("please"));
  run_.reset();
  RunTasks();
  EXPECT_EQ(questions_, 0);
}

TEST_F(AuthenticationRunTest, WithoutAThreadToHaveNobodyIsAsked) {
  Begin(/*blocks=*/true);
  full_ = true;
  EXPECT_FALSE(Ask("please"));
  RunLoop();
  EXPECT_TRUE(answers_.empty());
  EXPECT_EQ(questions_, 0);
}

TEST_F(AuthenticationRunTest, WhatAnAuthenticatorThrowsIsARefusal) {
  Begin(/*blocks=*/false);
  EXPECT_TRUE(Ask("boo"));
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_THAT(std::string(answers_[0].status().message()), HasSubstr("frightened"));
}

TEST_F(AuthenticationRunTest, AnAuthenticatorOfTheOtherSideDoesNotBegin) {
  policy_.authenticator = std::make_shared<Doorman>(false, &questions_);
  const absl::Status status = AuthenticationRun::Begin(loop_.get(), policy_, /*initiator=*/true, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace verbena::transport
