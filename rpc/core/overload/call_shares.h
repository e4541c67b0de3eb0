// How a server's calls in flight are shared among its clients: what keeps one that takes all it can get from locking
// the others out.
//
// What runs cannot be taken back, so there must be something left to give when somebody comes who has little. Hence two
// rules (trunk reservation, as in telephone exchanges), for so many calls at most and the clients that are connected:
//
//   1. While more than the last eighth of the places is free, anybody may take one.
//   2. The last eighth is for clients with less than a fair share: calls_max / clients, rounded down, and one at least.
//
// A client that is alone has a fair share of everything, and so may have every place. If it has them when another
// connects, it gets none back of those that its calls leave, until that one has what it asks for or an eighth is free.
// In the long run, whoever asks for less than a fair share has what he asks for.
//
// Owner: the tally of one event loop; outlives the shares. Thread: the loop's. Join allocates, nothing else does.

#ifndef VERBENA_RPC_CORE_OVERLOAD_CALL_SHARES_H_
#define VERBENA_RPC_CORE_OVERLOAD_CALL_SHARES_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/node_hash_map.h"
#include "rpc/core/overload/client_id.h"

namespace verbena::rpc {

class CallShares {
 private:
  struct Client {
    uint32_t connections = 0;
    uint64_t calls = 0;
  };

 public:
  // What one connection has of its client's share; its end gives everything back.
  class Share {
   public:
    ~Share() { shares_.Leave(id_, client_, calls_); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Whether its client may have one call more.
    bool MayTake() const { return shares_.MayTake(client_); }
    // Only if it may.
    void Take() {
      assert(MayTake());
      ++calls_;
      ++client_.calls;
      ++shares_.calls_;
    }
    void GiveBack() {
      assert(calls_ > 0);
      --calls_;
      --client_.calls;
      --shares_.calls_;
    }

   private:
    friend class CallShares;
    Share(CallShares* shares, ClientId id, Client* client) : shares_(*shares), id_(id), client_(*client) {}

    CallShares& shares_;
    const ClientId id_;
    Client& client_;
    uint64_t calls_ = 0;
  };

  explicit CallShares(uint32_t calls_max) : calls_max_(calls_max), reserve_(calls_max / kReservedPart) {}
  CallShares(const CallShares&) = delete;
  CallShares& operator=(const CallShares&) = delete;

  // A connection of this client's.
  Share Join(ClientId id) {
    Client& client = clients_[id];
    ++client.connections;
    return Share(this, id, &client);
  }

  uint64_t calls() const { return calls_; }
  uint64_t calls_max() const { return calls_max_; }
  size_t clients() const { return clients_.size(); }

 private:
  static constexpr uint32_t kReservedPart = 8;

  bool MayTake(const Client& client) const {
    if (calls_ >= calls_max_) return false;
    if (calls_ + reserve_ < calls_max_) return true;
    return client.calls == 0 || (client.calls + 1) * clients_.size() <= calls_max_;
  }
  void Leave(ClientId id, Client& client, uint64_t calls) {
    calls_ -= calls;
    client.calls -= calls;
    if (--client.connections == 0) clients_.erase(id);
  }

  const uint64_t calls_max_;
  const uint64_t reserve_;
  uint64_t calls_ = 0;
  absl::node_hash_map<ClientId, Client> clients_;  // That have a connection.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_OVERLOAD_CALL_SHARES_H_
