// A large message on its way into one connection: what one of the machine's fetch ids stands for. And payloads as rpc
// receives them.
//
// Owner: an RdmaConnection's table. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_INBOUND_H_
#define VERBENA_TRANSPORT_INBOUND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/types/span.h"
#include "transport/connection.h"
#include "transport/counters.h"
#include "transport/fetch_window.h"
#include "transport/landing_loans.h"
#include "transport/memory_budget.h"
#include "transport/payload_arena.h"
#include "transport/wire/frame.h"

namespace verbena::transport {

using LandingLoan = std::shared_ptr<const LandingLoans::Loan>;

struct Inbound {
  // How far its landing memory is; charged to the poll group's budget from kReady on, until nobody holds it.
  enum class Landing : uint8_t {
    kNone,
    kQueued,   // For its turn. Woken by FetchWindow.
    kWaiting,  // For the budget. Woken by MemoryBudget.
    kReady,    // READs may land.
  };

  uint64_t fetch_id = 0;
  uint8_t kind = 0;
  uint64_t call_id = 0;
  std::vector<std::byte> header;
  uint64_t payload_bytes = 0;
  bool in_parts = false;  // OnPart, for OnMessage.
  bool failed = false;    // OnFetchFailed was made; the record waits for its READs.
  Landing state = Landing::kNone;
  FetchWindow::Ticket ticket = FetchWindow::kNone;
  MemoryBudget::Ticket request = MemoryBudget::kNone;  // While kWaiting.
  uint64_t turn_bytes = 0;                             // While it is queued: it waits among messages of this length.
  BlockRef landing;                                    // See payload_layout.h.
  uint32_t lkey = 0;
  uint64_t charged_bytes = 0;
  LandingLoan loan;  // Of parts that were shared, which has the charge then. It counts as lent when the fetch ends.

  void Clear();
  MessageHead head() const { return {kind, call_id, header, payload_bytes, fetch_id}; }
};

// Whether what has landed is what was announced: the identity block, and the payload's CRC32C if `flags` has
// kFlagChecksum.
bool IdentityMatches(const Inbound& inbound, const wire::Identity& expected, uint16_t flags);

// A payload that lies in a receive buffer: valid during OnMessage, copied by Share.
class EagerPayload : public ReceivedPayload {
 public:
  // `copied` counts the bytes that are.
  EagerPayload(absl::Span<const std::byte> bytes, Counter* copied) : bytes_(bytes), copied_(*copied) {}
  absl::Span<const std::byte> bytes() const override { return bytes_; }
  absl::Cord Share(size_t offset) override;

 private:
  const absl::Span<const std::byte> bytes_;
  Counter& copied_;
};

// A payload that was fetched: lent by Share without a copy.
class LandedPayload : public ReceivedPayload {
 public:
  // `charged_bytes` of the fetch budget are the loan's when something was shared, and stay the caller's if not. `loan`:
  // of what was shared before, if anything was. Not `filled`: the rest of the landing is being READ.
  LandedPayload(LandingLoans* loans, BlockRef landing, size_t size, uint64_t charged_bytes, LandingLoan loan = nullptr,
                bool filled = true)
      : loans_(*loans),
        landing_(std::move(landing)),
        size_(size),
        charged_bytes_(charged_bytes),
        filled_(filled),
        loan_(std::move(loan)) {}
  absl::Span<const std::byte> bytes() const override;
  absl::Cord Share(size_t offset) override;
  bool lent() const { return loan_ != nullptr; }
  LandingLoan TakeLoan() { return std::move(loan_); }  // Null: nothing was shared. The last call.

 private:
  LandingLoans& loans_;
  const BlockRef landing_;
  const size_t size_;
  const uint64_t charged_bytes_;
  const bool filled_;
  LandingLoan loan_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_INBOUND_H_
