// One connection machine under test, its peer played by hand: frames in, actions out.

#ifndef VERBENA_TRANSPORT_PROTOCOL_MACHINE_FIXTURE_H_
#define VERBENA_TRANSPORT_PROTOCOL_MACHINE_FIXTURE_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "transport/protocol/connection_machine.h"
#include "transport/protocol/frame_of.h"

namespace verbena::protocol {

class MachineFixture : public testing::Test {
 protected:
  static constexpr uint32_t kBufferBytes = 1024;

  MachineFixture() {
    budget_.OnReceivesAdded(kReceives);
    Restart(/*peer_credits=*/16);
  }

  // A fresh machine whose peer has granted it `peer_credits`.
  void Restart(uint16_t peer_credits) {
    machine_.reset();
    GrantShare share = *budget_.Admit(/*owner=*/1, initial_grants_);
    config_.initiator = initiator_;
    config_.ours = HelloWith(static_cast<uint16_t>(share.granted()));
    config_.peers = HelloWith(peer_credits);
    config_.ours.features = config_.peers.features = features_;
    config_.ours.keepalive_ms = keepalive_ms_;
    config_.message_bytes_max = 100000;
    config_.quarantine_bytes_max = quarantine_bytes_max_;
    config_.send_slots = 8;
    machine_.emplace(config_, std::move(share), now_);
  }

  // The same, which has spent all its credits on two messages.
  void RestartWithoutCredits() {
    Restart(/*peer_credits=*/2);
    SendEager();
    SendEager();
    ASSERT_TRUE(machine_->NextAction().has_value());
    ASSERT_TRUE(machine_->NextAction().has_value());
    ASSERT_EQ(machine_->credits_held(), 0u);
  }

  void Receive(const FrameOf& frame) {
    machine_->OnSendArrived();
    GiveFrame(frame);
    Collect();
    budget_.OnReceivesReposted(static_cast<uint32_t>(budget_.consumed()));
  }
  void Receive(wire::FrameType type, uint16_t grant = 0) { Receive(FrameOf(HeaderOf(type, grant))); }

  // One of those of a SEND.
  void GiveFrame(const FrameOf& frame) { delivered_ += machine_->OnFrame(frame.view(), now_) ? 1 : 0; }

  // Takes every action that is there, completing frames at once if asked.
  void Collect() {
    while (std::optional<Action> action = machine_->NextAction()) actions_.push_back(*std::move(action));
  }
  void CompleteSends() {
    Collect();
    machine_->OnSendCompleted(static_cast<uint32_t>(machine_->sends_in_flight()), now_);
    Collect();
  }

  // The first collected action of this type; it is taken out.
  template <typename T>
  std::optional<T> Find() {
    Collect();
    for (size_t i = 0; i < actions_.size(); ++i) {
      if (const T* found = std::get_if<T>(&actions_[i])) {
        T copy = *found;
        actions_.erase(actions_.begin() + static_cast<ptrdiff_t>(i));
        return copy;
      }
    }
    return std::nullopt;
  }
  // How the connection ends, which an `Action` (Disconnect, Closed) among them must say that it does.
  template <typename Action>
  absl::Status EndOf() {
    EXPECT_TRUE(Find<Action>().has_value());
    return machine_->end_status();
  }
  // The first posted control frame of this type; it and those before it are taken out.
  std::optional<wire::FrameHeader> FindControl(wire::FrameType type) {
    while (std::optional<PostControl> post = Find<PostControl>()) {
      if (post->header.type == type) return post->header;
    }
    return std::nullopt;
  }

  uint64_t SendEager(uint64_t call_id = 1) { return machine_->Send({.call_id = call_id, .payload_bytes = 64}); }
  // Sends, exports and announces a large message; returns its send id, leaves its header in `announce_`.
  uint64_t SendLarge(uint64_t call_id = 1) {
    const uint64_t id = machine_->Send({.call_id = call_id, .payload_bytes = 5000});
    Collect();  // Its Export.
    machine_->OnExported(id, std::vector<wire::Segment>{{4096, 5032, 9}});
    const std::optional<PostAnnounce> post = Find<PostAnnounce>();
    EXPECT_TRUE(post.has_value());
    if (post) announce_ = post->header;
    return id;
  }

  static constexpr uint32_t kReceives = 64;
  // Of the machines that Restart makes.
  bool initiator_ = true;
  uint16_t initial_grants_ = 8;
  uint64_t quarantine_bytes_max_ = 1 << 20;
  uint32_t keepalive_ms_ = 1000;
  uint32_t features_ = 0;
  absl::Time now_ = absl::UnixEpoch();
  GrantBudget budget_;
  ConnectionConfig config_;
  std::optional<ConnectionMachine> machine_;
  std::vector<Action> actions_;
  size_t delivered_ = 0;  // Eager messages.
  wire::FrameHeader announce_;

 private:
  static wire::Hello HelloWith(uint16_t credits) {
    wire::Hello hello;
    hello.initial_credits = credits;
    hello.receive_buffer_bytes = kBufferBytes;
    hello.read_depth = 4;
    hello.epoch = 77;
    return hello;
  }
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_MACHINE_FIXTURE_H_
