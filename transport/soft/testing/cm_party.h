// One side of a connection in a test: an event channel, and ids that are destroyed with it.
//
// Waiting for an event ends after ten seconds with a failed test and an event of type kNoEvent. Thread: one.

#ifndef VERBENA_TRANSPORT_SOFT_TESTING_CM_PARTY_H_
#define VERBENA_TRANSPORT_SOFT_TESTING_CM_PARTY_H_

#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <string>
#include <vector>

namespace verbena::soft {

inline constexpr auto kNoEvent = static_cast<rdma_cm_event_type>(-1);

// What an event said, copied out.
struct SeenEvent {
  rdma_cm_event_type type = kNoEvent;
  int status = 0;
  rdma_cm_id* id = nullptr;
  rdma_cm_id* listen_id = nullptr;
  rdma_conn_param parameters = {};
  std::string private_data;
};

sockaddr_in Address4(const char* text, uint16_t port);

class CmParty {
 public:
  CmParty();
  ~CmParty();
  CmParty(const CmParty&) = delete;
  CmParty& operator=(const CmParty&) = delete;

  rdma_event_channel* channel() { return channel_; }

  rdma_cm_id* NewId();
  // Destroys the queue pair, if any, and the id.
  void Destroy(rdma_cm_id* id);
  // An id that listens on 127.0.0.1, any port.
  rdma_cm_id* Listen(int backlog = 0);
  // An id with its route resolved and a queue pair, ready to connect to 127.0.0.1.
  rdma_cm_id* Resolve(uint16_t port);
  void MakeQueuePair(rdma_cm_id* id);
  // 0 or -1, with errno.
  int Connect(rdma_cm_id* id, const std::string& private_data = "");
  int Accept(rdma_cm_id* id, const std::string& private_data = "");

  // Takes the next event without acknowledging it; null after ten seconds.
  rdma_cm_event* Take();
  // Takes and acknowledges it. The id of a connect request becomes ours to destroy.
  SeenEvent Next();
  // No event is queued.
  bool Quiet() const;

 private:
  rdma_event_channel* channel_;
  std::vector<rdma_cm_id*> ids_;
};

uint16_t PortOf(rdma_cm_id* id);

// Both ends of a connection from `active` to `passive` that is established on both sides.
struct ConnectedIds {
  rdma_cm_id* listener;
  rdma_cm_id* active;
  rdma_cm_id* passive;
};
ConnectedIds ConnectParties(CmParty& active, CmParty& passive);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_TESTING_CM_PARTY_H_
