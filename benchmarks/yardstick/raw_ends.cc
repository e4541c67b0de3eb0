#include "benchmarks/yardstick/raw_ends.h"

#include <utility>

#include "benchmarks/yardstick/raw_send.h"

namespace verbena::benchmarks {

absl::StatusOr<std::unique_ptr<RawEnds>> RawEnds::Connect(const verbs::VerbsApi& api, const std::string& host,
                                                          uint16_t port, transport::WaitPolicy wait,
                                                          const LoadShape& shape) {
  std::unique_ptr<RawEnds> ends(new RawEnds(wait, shape));
  while (ends->pairs_.size() < shape.connections) {
    absl::StatusOr<ConnectingId> resolved = ResolveRaw(api, host, port);
    if (!resolved.ok()) return resolved.status();
    if (absl::Status status = ends->Add(*std::move(resolved)); !status.ok()) return status;
    ConnectingId& connection = ends->pairs_.back()->connection;
    if (absl::Status status = connection.id.Connect({}); !status.ok()) return status;
    const absl::Status established = WaitForCmEvent(connection.channel, RDMA_CM_EVENT_ESTABLISHED).status();
    if (!established.ok()) return established;
  }
  return ends;
}

absl::StatusOr<std::unique_ptr<RawEnds>> RawEnds::Accept(RawListener& listener, transport::WaitPolicy wait,
                                                         const LoadShape& shape) {
  std::unique_ptr<RawEnds> ends(new RawEnds(wait, shape));
  while (ends->pairs_.size() < shape.connections) {
    absl::StatusOr<ConnectingId> request = listener.NextRequest();
    if (!request.ok()) return request.status();
    if (absl::Status status = ends->Add(*std::move(request)); !status.ok()) return status;
    if (absl::Status status = ends->pairs_.back()->connection.id.Accept({}); !status.ok()) return status;
  }
  return ends;
}

RawEnds::RawEnds(transport::WaitPolicy wait, const LoadShape& shape)
    : wait_(wait), shape_(shape), memory_(area_bytes() * (receives() + 1), std::byte{0x5a}) {}

RawEnds::~RawEnds() {
  for (const std::unique_ptr<Pair>& pair : pairs_) pair->queue_pair.ModifyToError().IgnoreError();
}

absl::Status RawEnds::Add(ConnectingId connection) {
  if (queue_ == nullptr) {
    if (absl::Status status = MakeQueues(connection.id); !status.ok()) return status;
  }
  absl::StatusOr<verbs::QueuePair> queue_pair =
      verbs::QueuePair::Create(connection.id, queue_->domain(),
                               {.send_completions = &queue_->queue(),
                                .receive_completions = &queue_->queue(),
                                .shared_receives = receives_.get(),
                                .sends_max = static_cast<uint32_t>(shape_.in_flight) + kRawSignalEvery,
                                .inline_bytes_max = kRawInlineBytesWanted});
  if (!queue_pair.ok()) return queue_pair.status();
  pairs_.push_back(std::make_unique<Pair>(Pair{std::move(connection), *std::move(queue_pair), 0, {}}));
  by_number_[pairs_.back()->queue_pair.number()] = pairs_.back().get();
  return absl::OkStatus();
}

absl::Status RawEnds::MakeQueues(const verbs::ConnectionId& id) {
  const auto connections = static_cast<uint32_t>(shape_.connections);
  const uint32_t signaled_max = static_cast<uint32_t>(shape_.in_flight) / kRawSignalEvery + 2;  // Of one connection.
  absl::StatusOr<std::unique_ptr<RawQueue>> queue =
      RawQueue::Create(id, wait_, receives() + connections * signaled_max);
  if (!queue.ok()) return queue.status();
  queue_ = *std::move(queue);
  absl::StatusOr<verbs::MemoryRegion> region =
      verbs::MemoryRegion::Register(queue_->domain(), absl::MakeSpan(memory_), IBV_ACCESS_LOCAL_WRITE);
  if (!region.ok()) return region.status();
  region_ = std::make_unique<verbs::MemoryRegion>(*std::move(region));
  absl::StatusOr<verbs::SharedReceiveQueue> shared =
      verbs::SharedReceiveQueue::Create(queue_->domain(), receives(), /*segments_max=*/1);
  if (!shared.ok()) return shared.status();
  receives_ = std::make_unique<verbs::SharedReceiveQueue>(*std::move(shared));
  for (uint32_t area = 0; area < receives(); ++area) {
    if (absl::Status status = PostReceive(area); !status.ok()) return status;
  }
  return absl::OkStatus();
}

size_t RawEnds::area_bytes() const { return RawAreaBytes(message_bytes()); }

ibv_sge RawEnds::Area(uint32_t index) const {
  return {.addr = reinterpret_cast<uint64_t>(memory_.data()) + index * area_bytes(),
          .length = static_cast<uint32_t>(message_bytes()),
          .lkey = region_->lkey()};
}

absl::Status RawEnds::PostReceive(uint32_t area) {
  ibv_sge segment = Area(area);
  ibv_recv_wr request = {};
  request.wr_id = area;
  request.sg_list = &segment;
  request.num_sge = 1;
  ibv_recv_wr* first_unposted = nullptr;
  return receives_->PostReceives(&request, &first_unposted);
}

absl::Status RawEnds::PostSend(Pair& pair, bool last) {
  return PostRawSend(pair.queue_pair, Area(receives()), &pair.sends, last);
}

absl::Status RawEnds::StartNext(Clock::time_point now) {
  Pair& pair = *pairs_[next_];
  next_ = next_ + 1 == pairs_.size() ? 0 : next_ + 1;
  pair.starts.push(now);
  return PostSend(pair, /*last=*/false);
}

absl::StatusOr<RawEnds::Pair*> RawEnds::ReceiveMessage(ibv_wc* completion) {
  do {
    if (absl::Status status = queue_->Next(completion); !status.ok()) return status;
  } while ((completion->opcode & IBV_WC_RECV) == 0);
  if (absl::Status status = PostReceive(static_cast<uint32_t>(completion->wr_id)); !status.ok()) return status;
  return pairs_.size() == 1 ? pairs_.front().get() : by_number_.at(completion->qp_num);
}

absl::StatusOr<LoadFigures> RawEnds::RunRoundTrips() {
  ibv_wc completion;
  LatencyHistogram latencies;
  Clock::time_point now = Clock::now();
  const LoadWindow window(shape_, now);
  for (size_t i = 0; i < shape_.in_flight; ++i) {
    if (absl::Status status = StartNext(now); !status.ok()) return status;
  }
  for (size_t on_their_way = shape_.in_flight; on_their_way > 0;) {
    const absl::StatusOr<Pair*> pair = ReceiveMessage(&completion);
    if (!pair.ok()) return pair.status();
    now = Clock::now();
    window.Count((*pair)->starts.front(), now, &latencies);
    (*pair)->starts.pop();
    if (window.IsOver(now)) {
      --on_their_way;
    } else if (absl::Status status = StartNext(now); !status.ok()) {
      return status;
    }
  }
  if (absl::Status status = PostSend(*pairs_.front(), /*last=*/true); !status.ok()) return status;
  if (absl::Status status = ReceiveMessage(&completion).status(); !status.ok()) return status;
  return LoadFigures(std::move(latencies), shape_);
}

absl::Status RawEnds::Serve() {
  ibv_wc completion;
  for (bool last = false; !last;) {
    const absl::StatusOr<Pair*> pair = ReceiveMessage(&completion);
    if (!pair.ok()) return pair.status();
    last = IsLastRawMessage(completion);
    if (absl::Status status = PostSend(**pair, last); !status.ok()) return status;
  }
  // The last answer has to arrive before its queue pair goes.
  do {
    if (absl::Status status = queue_->Next(&completion); !status.ok()) return status;
  } while (!IsLastRawMessage(completion));
  return absl::OkStatus();
}

}  // namespace verbena::benchmarks
