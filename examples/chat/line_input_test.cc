#include "examples/chat/line_input.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/string_view.h"

namespace verbena::examples {
namespace {

class LineInputTest : public testing::Test {
 protected:
  LineInputTest() {
    EXPECT_EQ(pipe(pipe_), 0);
    input_ = LineInput::Create(pipe_[0], 5).value();
  }
  ~LineInputTest() override {
    close(pipe_[0]);
    EndOfInput();
  }

  void Write(absl::string_view text) {
    EXPECT_EQ(write(pipe_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void EndOfInput() {
    if (pipe_[1] >= 0) close(pipe_[1]);
    pipe_[1] = -1;
  }

  int pipe_[2] = {-1, -1};
  std::unique_ptr<LineInput> input_;
};

TEST_F(LineInputTest, LinesComeOneByOneAndThenTheEnd) {
  Write("one\n\ntwo\nrest");
  EndOfInput();
  EXPECT_EQ(input_->Next(), "one");
  EXPECT_EQ(input_->Next(), "");
  EXPECT_EQ(input_->Next(), "two");
  EXPECT_EQ(input_->Next(), "rest");
  EXPECT_EQ(input_->Next(), std::nullopt);
}

TEST_F(LineInputTest, LongLinesComeInPieces) {
  Write("12345\n1234567\n");
  EndOfInput();
  EXPECT_EQ(input_->Next(), "12345");
  EXPECT_EQ(input_->Next(), "12345");
  EXPECT_EQ(input_->Next(), "67");
  EXPECT_EQ(input_->Next(), std::nullopt);
}

TEST_F(LineInputTest, NoCharacterIsCut) {
  Write("1234\xc3\xa9\n12\xf0\x9f\x8d\xb5\n");
  EndOfInput();
  EXPECT_EQ(input_->Next(), "1234");
  EXPECT_EQ(input_->Next(), "\xc3\xa9");
  EXPECT_EQ(input_->Next(), "12");
  EXPECT_EQ(input_->Next(), "\xf0\x9f\x8d\xb5");
  EXPECT_EQ(input_->Next(), std::nullopt);
}

TEST_F(LineInputTest, WhatIsNoTextIsCutAnywhere) {
  Write("\x80\x80\x80\x80\x80\x80\x80\n");
  EndOfInput();
  EXPECT_EQ(input_->Next(), "\x80\x80\x80\x80\x80");
  EXPECT_EQ(input_->Next(), "\x80\x80");
}

TEST_F(LineInputTest, WhoWaitsIsCalledAway) {
  Write("half");
  std::thread calling_away([this] { input_->Stop(); });
  EXPECT_EQ(input_->Next(), std::nullopt);
  calling_away.join();
}

}  // namespace
}  // namespace verbena::examples
