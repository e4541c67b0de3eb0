// Holds up the loop of a connection while others send to it, so that one turn finds what all of them have sent.

#ifndef VERBENA_TESTS_INTEGRATION_TURNS_HOLD_UP_H_
#define VERBENA_TESTS_INTEGRATION_TURNS_HOLD_UP_H_

#include <future>
#include <thread>

#include "tests/integration/transport_pair.h"

namespace verbena::transport {

// From its making, which returns when the loop stands, to Release, or its end.
class HoldUp {
 public:
  explicit HoldUp(End* end)
      : thread_([this, end] {
          end->OnLoop([this](Connection& connection) {
            standing_.set_value(connection.loop());
            end_.get_future().wait();
            connection.loop()->ReadNow();  // How long that took is not the turn's.
          });
        }),
        loop_(standing_.get_future().get()) {}
  HoldUp(const HoldUp&) = delete;
  HoldUp& operator=(const HoldUp&) = delete;
  ~HoldUp() {
    if (thread_.joinable()) Release();
  }

  EventLoop* loop() const { return loop_; }
  void Release() {
    end_.set_value();
    thread_.join();
  }

 private:
  std::promise<EventLoop*> standing_;
  std::promise<void> end_;
  std::thread thread_;
  EventLoop* const loop_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TESTS_INTEGRATION_TURNS_HOLD_UP_H_
