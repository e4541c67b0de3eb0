// Two transports in one process, a listener's and a connector's, each on a loop of its own, with handlers that record
// what happens.

#ifndef VERBENA_TESTS_INTEGRATION_TRANSPORT_PAIR_H_
#define VERBENA_TESTS_INTEGRATION_TRANSPORT_PAIR_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "transport/connection.h"
#include "transport/endpoint.h"

namespace verbena::transport {

// Options for tests: no retry hides a frame that finds no receive.
TransportOptions TestOptions();

// One end: its connection, and what its handler saw. Waiting is bounded by kPatience; running out of it fails the test.
class End : public ConnectionHandler {
 public:
  static constexpr absl::Duration kPatience = absl::Seconds(20);

  struct Message {
    uint8_t kind;
    uint64_t call_id;
    std::string header;
    absl::Cord payload;
  };

  // Runs on the connection's loop for each message that arrives; set before the connection is made.
  std::function<void(End&, const Message&)> on_message;
  std::function<Verdict(const MessageHead&)> on_announced;
  std::function<void(Connection&, const MessageHead&, ReceivedPayload&)> on_part;  // The last is a message, too.
  bool keeps_payloads = true;                                                      // Or messages are recorded without.
  bool awaits_sends = true;        // OutboundMessage::awaited, of Send and Reply.
  bool leaves_unreported = false;  // And ends_burst. The same.
  uint64_t left = 0;               // How many of them have. The loop's.

  ~End() override;
  void Adopt(std::unique_ptr<Connection> connection);  // On its loop.

  // Runs `task` on the loop and waits for it.
  void OnLoop(std::function<void(Connection&)> task);
  // Sends `payload` as an attachment; returns the send's id.
  uint64_t Send(uint64_t call_id, absl::Cord payload, absl::string_view header = "head");
  // The same, on the loop: from within on_message, or a task.
  void Reply(uint64_t call_id, absl::Cord payload);
  void Destroy();  // The handle, on its loop.
  // Lets go of the payloads of messages so far, on this thread.
  void DropPayloads();

  bool WaitForMessages(size_t count);
  bool WaitForSent(size_t count);
  bool WaitForClosed();

  std::vector<Message> messages();
  std::vector<std::pair<uint64_t, SendOutcome>> sent();  // By call id.
  std::vector<absl::Status> failed_fetches();
  absl::Status closed_status();
  bool peer_draining();

 private:
  Verdict OnAnnounced(const MessageHead& head) override;
  void OnMessage(const MessageHead& head, ReceivedPayload& payload) override;
  void OnPart(const MessageHead& head, ReceivedPayload& landed) override;
  void OnFetchFailed(const MessageHead& head, const absl::Status& status) override;
  void OnSent(const SentMessage& sent, SendOutcome outcome) override;
  void OnPeerDraining() override;
  void OnClosed(const absl::Status& status) override;
  uint64_t SendOn(Connection& connection, uint64_t call_id, absl::Cord payload, absl::string_view header);
  bool Wait(std::function<bool()> condition);

  EventLoop* loop_ = nullptr;
  std::unique_ptr<Connection> connection_;  // Owned by the loop.

  std::mutex mu_;
  std::condition_variable changed_;
  std::vector<Message> messages_ ABSL_GUARDED_BY(mu_);
  std::vector<std::pair<uint64_t, SendOutcome>> sent_ ABSL_GUARDED_BY(mu_);
  std::vector<absl::Status> failed_fetches_ ABSL_GUARDED_BY(mu_);
  std::vector<absl::Status> closed_ ABSL_GUARDED_BY(mu_);
  bool peer_draining_ ABSL_GUARDED_BY(mu_) = false;
};

class TransportPair {
 public:
  explicit TransportPair(const TransportOptions& options = TestOptions(), WaitPolicy wait = WaitPolicy::kEvent);
  ~TransportPair();

  // Connects once more. Returns the client's end; the server's comes to accepted(). Null, and status() says why, if it
  // failed.
  End* Connect();
  absl::Status status() const { return status_; }
  End* accepted(size_t index);
  const std::string& address() const { return listener_->addresses().front(); }
  Listener& listener() { return *listener_; }
  EventLoop* client_loop() { return client_loops_->loop(0); }

  // For each end that is accepted from now on.
  std::function<void(End&)> prepare_accepted;

  // Closes everything; then what the transport holds must be back to nothing.
  void Close();

 private:
  void Accept(std::unique_ptr<Connection> connection);

  const TransportOptions options_;
  absl::Status status_;
  std::unique_ptr<EventLoopGroup> server_loops_;
  std::unique_ptr<EventLoopGroup> client_loops_;
  std::vector<std::unique_ptr<End>> clients_;
  std::mutex mu_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<End>> servers_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Listener> listener_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TESTS_INTEGRATION_TRANSPORT_PAIR_H_
