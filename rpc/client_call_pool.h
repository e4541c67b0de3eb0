// The calls that a channel has on one loop: the memory that its connections take for a call; and their ids for
// contexts, by which they are cancelled.
//
// What came back last is taken first: unary calls find it in the cache, however many connections they go round. A
// connection gives back the place of one that its response ended, and keeps those of others (streams, calls that ended
// otherwise) for its next calls, until it goes.
//
// An id is a call's place and how often that was used: it is never 0, and is nobody's when its place has been used
// again, but for one of 2^32 - 1 uses later.
//
// Owner: shared by a channel's lane and its connections. Thread: the loop's, but CallCanceller's call and canceller().

#ifndef VERBENA_RPC_CLIENT_CALL_POOL_H_
#define VERBENA_RPC_CLIENT_CALL_POOL_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "rpc/cancel/call_canceller.h"
#include "rpc/client_call.h"
#include "transport/loop_handle.h"

namespace verbena::rpc {

class ClientConnection;

class ClientCallPool {
 public:
  // `loop` is the calls'.
  static std::shared_ptr<ClientCallPool> Create(std::shared_ptr<transport::LoopHandle> loop);

  // A place for calls of `connection`.
  ClientCall& Take(ClientConnection* connection) {
    ClientCall& call = free_ != nullptr ? *std::exchange(free_, free_->next_free_) : Add();
    call.connection_ = connection;
    return call;
  }
  // Of a call that is over.
  void Return(ClientCall& call) {
    call.connection_ = nullptr;
    call.next_free_ = free_;
    free_ = &call;
  }

  // The call that is bound by this id, over or not; null: none is.
  ClientCall* Find(uint64_t id) const;
  // Of calls by these ids; it may outlive the pool.
  const std::shared_ptr<CallCanceller>& canceller() const { return canceller_; }

 private:
  class Canceller;

  ClientCallPool() = default;
  ClientCall& Add();

  std::shared_ptr<CallCanceller> canceller_;  // Constant after construction.
  std::vector<std::unique_ptr<ClientCall>> calls_;
  ClientCall* free_ = nullptr;  // The one that was returned last, and so on by next_free_.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CLIENT_CALL_POOL_H_
