// Finds the peers of queue pairs that no connection manager connects: programs exchange queue pair numbers by
// themselves and move their queue pairs to RTR and RTS with ibv_modify_qp.
//
// A queue pair number leads to its process: its upper 10 bits are a slot of the network namespace, which a process
// takes by binding the abstract socket "verbena-soft-qp/<slot>". Of two queue pairs that name each other, the one with
// the smaller number connects to the other's slot and makes the offer of link.h there; the other answers when it is
// ready to receive, whoever comes first. Two of one process are linked on the spot, by whoever is second. The socket
// stays, and its end says that the peer is gone.
//
// A number whose process is not there leads nowhere: sends run into their timeout, as on a network that has lost it.
// ibv_modify_qp does not take the GID of another host: ENETUNREACH, as on a network without a route to it.
//
// Owner: the device. Thread: any; sockets are read on a thread of its own, which exists from the first peer of another
// process on. Its lock is taken before those of queue pairs.

#ifndef VERBENA_TRANSPORT_SOFT_OUT_OF_BAND_H_
#define VERBENA_TRANSPORT_SOFT_OUT_OF_BAND_H_

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "absl/base/thread_annotations.h"
#include "transport/soft/control_io/control_thread.h"
#include "transport/soft/link.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

// This process' place in the network namespace: from 1 to 1,023, and the socket that stands for it.
struct ProcessSlot {
  uint32_t number = 0;
  UniqueFd socket;
};

// EADDRINUSE if all are taken; another errno value if the kernel has no socket to give.
int TakeProcessSlot(ProcessSlot* slot);

class OutOfBand : private ControlThread::Delegate {
 public:
  explicit OutOfBand(ProcessSlot slot) : slot_(std::move(slot)) {}
  OutOfBand(const OutOfBand&) = delete;
  OutOfBand& operator=(const OutOfBand&) = delete;

  // `index` is a queue pair's, less than kQueuePairsMax.
  uint32_t NumberOf(uint32_t index) const;

  // After ibv_modify_qp changed a queue pair: looks for its peer if it wants one and has none.
  void OnModified(QueuePair& queue_pair);
  // Before a queue pair is destroyed or reset: it is not touched any more when this returns.
  void Forget(QueuePair& queue_pair);

  // Children of fork() made from here on close what they inherit: only the parent's end may be the end of a link. Once,
  // on the one object of its kind.
  void SurviveForks();

 private:
  using TimePoint = ControlThread::TimePoint;

  // A queue pair of ours that looks for its peer, or has found it.
  struct Seeker {
    QueuePair* queue_pair;
    uint32_t peer;            // Its number.
    uint64_t socket_key = 0;  // 0: none.
  };

  // An offer whose queue pair is not ready yet.
  struct Offer {
    uint32_t from;
    uint32_t to;
    LinkOffer link;
  };

  struct PeerSocket {
    UniqueFd fd;
    ucred peer;
    uint32_t queue_pair = 0;       // Ours that it serves; 0: none yet.
    std::optional<Offer> waiting;  // Without `queue_pair`.
  };

  // Accepted sockets that serve no queue pair yet. For one more the oldest is disconnected.
  static constexpr size_t kUnmatchedSocketsMax = 1024;
  static constexpr uint64_t kSlotKey = 1;  // Of the thread's keys: the slot's socket. Peers count up from it.

  // ControlThread::Delegate.
  void OnReadable(uint64_t key) override;
  std::optional<TimePoint> OnTime(TimePoint now) override;

  // Everything below needs mu_.
  bool IsOurs(uint32_t number) const;
  int StartThread();
  void LinkWithin(Seeker& seeker);
  void MakeOfferTo(uint32_t number, Seeker& seeker);
  void AnswerWaitingOffer(uint32_t number, Seeker& seeker);
  void AcceptPeers();
  void PauseAccepting();
  void ReadSocket(uint64_t key);
  void OnOffer(uint64_t key, Offer offer);
  void Answer(uint64_t key, Seeker& seeker, LinkOffer offer);
  uint64_t AddSocket(PeerSocket socket);
  void CloseSocket(uint64_t key);
  void AbandonSockets();

  ProcessSlot slot_;  // Constant, but in the child of a fork.

  std::mutex mu_;
  std::map<uint32_t, Seeker> seekers_ ABSL_GUARDED_BY(mu_);  // By own number.
  std::map<uint64_t, PeerSocket> sockets_ ABSL_GUARDED_BY(mu_);
  std::set<uint32_t> crowded_out_ ABSL_GUARDED_BY(mu_);  // Seekers whose peer had no room for another connection.
  std::set<uint64_t> unmatched_ ABSL_GUARDED_BY(mu_);    // Keys of accepted sockets without a queue pair: by age.
  std::optional<TimePoint> accept_pause_end_ ABSL_GUARDED_BY(mu_);  // Until then the slot's socket is not watched.
  uint64_t last_key_ ABSL_GUARDED_BY(mu_) = kSlotKey;
  bool started_ ABSL_GUARDED_BY(mu_) = false;
  ControlThread thread_{*this};  // Last: its destructor stops what uses the rest.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_OUT_OF_BAND_H_
