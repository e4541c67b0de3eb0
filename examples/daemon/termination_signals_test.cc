#include "examples/daemon/termination_signals.h"

#include <unistd.h>

#include <thread>

#include "gtest/gtest.h"

namespace verbena::examples {
namespace {

TEST(TerminationSignals, SignalThatArrivedBeforeTheWaitIsNotLost) {
  TerminationSignals signals;
  ASSERT_EQ(kill(getpid(), SIGTERM), 0);
  EXPECT_STREQ(signals.Wait(), "SIGTERM");
}

TEST(TerminationSignals, OtherThreadsAreNotInterrupted) {
  TerminationSignals signals;
  std::thread other([] { kill(getpid(), SIGINT); });
  EXPECT_STREQ(signals.Wait(), "SIGINT");
  other.join();
}

TEST(TerminationSignals, MaskIsRestored) {
  { TerminationSignals signals; }
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_FALSE(sigismember(&mask, SIGTERM));
}

}  // namespace
}  // namespace verbena::examples
