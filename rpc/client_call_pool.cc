#include "rpc/client_call_pool.h"

#include "absl/strings/string_view.h"
#include "rpc/client_connection.h"

namespace verbena::rpc {

class ClientCallPool::Canceller : public CallCanceller, public std::enable_shared_from_this<Canceller> {
 public:
  Canceller(std::weak_ptr<ClientCallPool> pool, std::shared_ptr<transport::LoopHandle> loop)
      : pool_(std::move(pool)), loop_(std::move(loop)) {}

  void CancelCall(uint64_t id, absl::string_view reason) override {
    transport::LoopHandle::Task task = [self = shared_from_this(), id, reason] {
      const std::shared_ptr<ClientCallPool> pool = self->pool_.lock();
      if (pool == nullptr) return;
      ClientCall* const call = pool->Find(id);
      if (call != nullptr && call->connection() != nullptr) call->connection()->CancelCall(call->call_id(), reason);
    };
    loop_->Post(task);
  }

 private:
  const std::weak_ptr<ClientCallPool> pool_;
  const std::shared_ptr<transport::LoopHandle> loop_;
};

std::shared_ptr<ClientCallPool> ClientCallPool::Create(std::shared_ptr<transport::LoopHandle> loop) {
  std::shared_ptr<ClientCallPool> pool(new ClientCallPool);
  pool->canceller_ = std::make_shared<Canceller>(pool, std::move(loop));
  return pool;
}

ClientCall& ClientCallPool::Add() {
  calls_.push_back(std::make_unique<ClientCall>(static_cast<uint32_t>(calls_.size())));
  return *calls_.back();
}

ClientCall* ClientCallPool::Find(uint64_t id) const {
  const uint32_t place = ClientCall::PlaceOf(id);
  return place < calls_.size() && calls_[place]->id() == id ? calls_[place].get() : nullptr;
}

}  // namespace verbena::rpc
