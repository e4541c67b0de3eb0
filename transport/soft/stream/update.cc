#include "transport/soft/stream/update.h"

#include "base/little_endian.h"
#include "transport/soft/shared_layout.h"

namespace verbena::soft {
namespace {

constexpr uint32_t kMark = 0x55425356;  // "VSBU" in memory: a stream out of step is noticed at once.
constexpr uint8_t kRnrRetryMax = 7;

// A whole update fits a ring beside what a reader may have left there.
static_assert(kUpdateRingBytesMax * 4 <= kRingBytes);

bool IsRingPart(uint32_t bytes) { return bytes <= kUpdateRingBytesMax && bytes % kCacheLineBytes == 0; }

}  // namespace

UpdateHeaderBytes EncodeUpdateHeader(const UpdateHeader& header) {
  UpdateHeaderBytes bytes;
  StoreLittleEndian<uint32_t>(kMark, &bytes[0]);
  StoreLittleEndian<uint32_t>(header.response_bytes, &bytes[4]);
  StoreLittleEndian<uint32_t>(header.request_bytes, &bytes[8]);
  StoreLittleEndian<uint16_t>(header.refusal, &bytes[12]);
  StoreLittleEndian<uint8_t>(header.closed ? 1 : 0, &bytes[14]);
  StoreLittleEndian<uint8_t>(header.rnr_retry, &bytes[15]);
  StoreLittleEndian<uint64_t>(header.requests_consumed, &bytes[16]);
  StoreLittleEndian<uint64_t>(header.responses_consumed, &bytes[24]);
  StoreLittleEndian<uint64_t>(header.accepted, &bytes[32]);
  StoreLittleEndian<uint64_t>(header.probe, &bytes[40]);
  StoreLittleEndian<uint64_t>(header.probe_answer, &bytes[48]);
  return bytes;
}

std::optional<UpdateHeader> DecodeUpdateHeader(const UpdateHeaderBytes& bytes) {
  if (LoadLittleEndian<uint32_t>(&bytes[0]) != kMark) return std::nullopt;
  UpdateHeader header;
  header.response_bytes = LoadLittleEndian<uint32_t>(&bytes[4]);
  header.request_bytes = LoadLittleEndian<uint32_t>(&bytes[8]);
  header.refusal = LoadLittleEndian<uint16_t>(&bytes[12]);
  auto closed = LoadLittleEndian<uint8_t>(&bytes[14]);
  header.closed = closed != 0;
  header.rnr_retry = LoadLittleEndian<uint8_t>(&bytes[15]);
  header.requests_consumed = LoadLittleEndian<uint64_t>(&bytes[16]);
  header.responses_consumed = LoadLittleEndian<uint64_t>(&bytes[24]);
  header.accepted = LoadLittleEndian<uint64_t>(&bytes[32]);
  header.probe = LoadLittleEndian<uint64_t>(&bytes[40]);
  header.probe_answer = LoadLittleEndian<uint64_t>(&bytes[48]);
  bool possible = IsRingPart(header.response_bytes) && IsRingPart(header.request_bytes) && closed <= 1 &&
                  header.rnr_retry <= kRnrRetryMax;
  if (!possible) return std::nullopt;
  return header;
}

}  // namespace verbena::soft
