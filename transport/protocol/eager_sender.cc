#include "transport/protocol/eager_sender.h"

namespace verbena::protocol {

uint64_t EagerSender::Add(const SendHead& head) {
  const uint32_t index = table_.Allocate();
  table_[index] = Message{head, false};
  table_.PushBack(queued_, index);
  return table_.IdOf(index);
}

void EagerSender::Cancel(uint64_t send_id) {
  const uint32_t index = table_.Find(send_id);
  if (index == SlotQueue::kNone || table_[index].posted) return;
  table_.Remove(queued_, index);
  End(index, SendOutcome::kNotSent);
}

PostEager EagerSender::NextFrame() {
  const uint32_t index = table_.PopFront(queued_);
  table_.PushBack(posted_, index);
  Message& message = table_[index];
  message.posted = true;
  PostEager frame{table_.IdOf(index), {}};
  frame.header.type = wire::FrameType::kEager;
  frame.header.call_header_bytes = message.head.header_bytes;
  frame.header.message_kind = message.head.message_kind;
  frame.header.call_id = message.head.call_id;
  frame.header.payload_bytes = message.head.payload_bytes;
  return frame;
}

void EagerSender::OnCompleted(uint64_t send_id) {
  const uint32_t index = table_.Find(send_id);
  if (index == SlotQueue::kNone) return;
  table_.Remove(posted_, index);
  End(index, SendOutcome::kDelivered);
}

void EagerSender::Close() {
  EndPosted(SendOutcome::kUnknown);
  while (!queued_.empty()) End(table_.PopFront(queued_), SendOutcome::kNotSent);
}

void EagerSender::EndPosted(SendOutcome outcome) {
  while (!posted_.empty()) End(table_.PopFront(posted_), outcome);
}

void EagerSender::End(uint32_t index, SendOutcome outcome) {
  actions_->Push(Sent{table_.IdOf(index), outcome});
  table_.Free(index);
}

}  // namespace verbena::protocol
