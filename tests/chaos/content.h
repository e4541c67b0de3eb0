// The bytes of a call, which both ends know from its token: whatever arrives is compared to the last byte. Pure.

#ifndef VERBENA_TESTS_CHAOS_CONTENT_H_
#define VERBENA_TESTS_CHAOS_CONTENT_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace verbena::chaos {

// Which of a call's contents.
enum class Part : uint8_t { kRequest, kReply, kAttachment };

// The first `bytes` of the `index`-th of its kind.
std::string Content(uint64_t token, Part part, uint32_t index, size_t bytes);

}  // namespace verbena::chaos

#endif  // VERBENA_TESTS_CHAOS_CONTENT_H_
