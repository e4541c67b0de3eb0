// Connections in memory: pairs of ends that keep the promises of transport/connection.h, with faults on demand.
//
// Small messages arrive as they are; larger ones than `eager_bytes_max` are announced, fetched or refused, and
// withdrawn, like the transport's. Everything between the two ends goes through their loops' Post, so ends may live on
// different threads.
//
// Owner: each end its user, as the seam says. Thread: each end its loop's, faults too.

#ifndef VERBENA_RPC_TESTING_MEMORY_CONNECTION_H_
#define VERBENA_RPC_TESTING_MEMORY_CONNECTION_H_

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "transport/authentication.h"
#include "transport/connection.h"
#include "transport/event_loop.h"

namespace verbena::testing {

class MemoryLink;

class MemoryConnection : public transport::Connection {
 public:
  struct Options {
    size_t eager_bytes_max = 4096;  // Header and payload.
    size_t header_bytes_max = 1024;
    absl::Duration silence_max = absl::InfiniteDuration();  // How long after BlackHole an end closes, as by keepalive.
    // Who each end takes its peer for.
    std::shared_ptr<const transport::PeerIdentity> peer_identity = std::make_shared<transport::PeerIdentity>();
  };
  using Pair = std::pair<std::unique_ptr<MemoryConnection>, std::unique_ptr<MemoryConnection>>;

  // Two ends on their loops; `peer_of_first` is what the first says of its peer.
  static Pair MakePair(transport::EventLoop* first_loop, transport::EventLoop* second_loop, std::string peer_of_first,
                       std::string peer_of_second, const Options& options);
  static Pair MakePair(transport::EventLoop* loop) { return MakePair(loop, loop, "memory:b", "memory:a", Options()); }

  ~MemoryConnection() override;

  uint64_t Send(transport::OutboundMessage&& message) override;
  void CancelSend(uint64_t send_id) override;
  void CancelFetch(uint64_t call_id) override;
  void Drain() override;
  void Abort(absl::Status status) override;
  void set_handler(transport::ConnectionHandler* handler) override { handler_ = handler; }
  size_t header_bytes_max() const override { return options_.header_bytes_max; }
  const std::string& peer() const override { return peer_; }
  transport::EventLoop* loop() const override { return loop_; }
  const std::shared_ptr<const transport::PeerIdentity>& peer_identity() const override {
    return options_.peer_identity;
  }

  const std::shared_ptr<MemoryLink>& link() const { return link_; }
  // Expires with this end.
  std::weak_ptr<MemoryConnection> life() const { return life_; }

  // Faults. No credit: sends queue, unwritten, until Unstall.
  void Stall() { stalled_ = true; }
  void Unstall();
  // What became of a send is never reported.
  void HoldReports() { hold_reports_ = true; }
  // No memory to send large messages from: they wait, unwritten, for ReleaseExports; FailExports ends those that wait.
  void HoldExports() { hold_exports_ = true; }
  void ReleaseExports();
  void FailExports();
  size_t exporting() const { return exporting_.size(); }  // Those that wait.
  // Fetches of this end begin and stay unfinished until ReleaseFetches.
  void HoldFetches() { hold_fetches_ = true; }
  void ReleaseFetches();
  // Of what this end fetches in parts the second half comes with ReleaseLastParts.
  void HoldLastParts() { hold_last_parts_ = true; }
  void ReleaseLastParts();
  // Or it does not come: the fetch fails.
  void FailParts(const absl::Status& status);
  // A peer that is gone without a word: nothing that is sent arrives, no outcome is reported; after silence_max this
  // end closes as UNAVAILABLE.
  void BlackHole();
  // The link breaks: both ends close with UNAVAILABLE; what was queued was not sent, the rest is unknown.
  void Sever();

  size_t messages_sent() const { return messages_sent_; }
  size_t awaited_sent() const { return awaited_sent_; }  // Of them, those with OutboundMessage::awaited.
  size_t tasks_posted() const { return tasks_posted_; }  // By this end, to a loop: what a transport does without.
  bool closed() const { return closed_; }

 private:
  // A name for this end, not its owner.
  const std::shared_ptr<MemoryConnection> life_{this, [](MemoryConnection*) {}};

  struct Message {
    uint8_t kind = 0;
    uint64_t call_id = 0;
    std::string header;
    std::string body;
    uint64_t tag = 0;
    uint64_t fetch_id = 0;  // At the receiver, of a large one.
  };
  struct Queued {
    uint64_t send_id = 0;
    Message message;
    transport::PayloadSource* payload = nullptr;
    absl::Cord attachment;
  };

  MemoryConnection(std::shared_ptr<MemoryLink> link, int side, transport::EventLoop* loop, std::string peer,
                   const Options& options);

  using EndTask = absl::AnyInvocable<void(MemoryConnection&)>;
  void PostToPeer(EndTask task);
  void Arrive(EndTask task);  // From the peer: at once, or when the link's delay has passed.
  void PostToSelf(EndTask task);
  transport::MessageHead HeadOf(const Message& message) const;

  // The sender's side.
  bool IsEager(const Queued& queued) const;
  void Write(Queued& queued);  // Its payload and attachment, as its body.
  void DeliverToPeer(uint64_t send_id, Message message);
  void Transmit(Queued queued);
  void ReportLater(uint64_t send_id, transport::SendOutcome outcome);  // Of an unreported one.
  void Report(uint64_t send_id, transport::SendOutcome outcome);
  void Tell(uint64_t send_id, const Message& message, transport::SendOutcome outcome);
  void OnFetchRequested(uint64_t send_id);
  void DrainIfFinished();

  // The receiver's side.
  void Deliver(uint64_t send_id, const Message& message);
  void OnAnnouncement(uint64_t send_id, Message head, size_t payload_bytes);
  void OnFetched(uint64_t send_id, const Message& message);
  void DeliverInParts(uint64_t send_id, Message message);
  void DeliverLastPart(uint64_t send_id);
  void FailFetch(uint64_t send_id, const absl::Status& status);  // If it is under way.
  void OnWithdrawn(uint64_t send_id);

  void CloseLater(absl::Status status);
  void Close(absl::Status status);

  // Constant after construction.
  const std::shared_ptr<MemoryLink> link_;
  const int side_;
  transport::EventLoop* const loop_;
  const std::string peer_;
  const Options options_;

  // Owned by the loop's thread.
  transport::ConnectionHandler* handler_ = nullptr;
  uint64_t last_send_id_ = 0;
  std::deque<Queued> queued_;               // For want of credit.
  std::deque<Queued> exporting_;            // For want of memory.
  std::map<uint64_t, Message> announced_;   // By send id; not fetched yet.
  std::set<uint64_t> being_fetched_;        // The same, from then on.
  std::map<uint64_t, Message> unreported_;  // Sent; no outcome reported yet. Bodies empty.
  std::map<uint64_t, Message> fetching_;    // By the peer's send id; bodies empty, but of those that come in parts.
  std::set<uint64_t> in_parts_;             // The same.
  std::deque<EndTask> arriving_;            // From the peer; a timer runs for each, in order.
  absl::Time last_arrival_ = absl::InfinitePast();
  size_t messages_sent_ = 0;
  size_t awaited_sent_ = 0;
  size_t tasks_posted_ = 0;
  bool stalled_ = false;
  bool hold_reports_ = false;
  bool hold_exports_ = false;
  bool hold_fetches_ = false;
  bool hold_last_parts_ = false;
  bool black_hole_ = false;
  bool draining_ = false;
  bool closing_ = false;
  bool closed_ = false;
};

}  // namespace verbena::testing

#endif  // VERBENA_RPC_TESTING_MEMORY_CONNECTION_H_
