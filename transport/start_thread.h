// A thread, or a status where the system has none left: std::thread throws then, through whoever starts it.
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_START_THREAD_H_
#define VERBENA_TRANSPORT_START_THREAD_H_

#include <functional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace verbena {

// A new thread that runs `run`. ResourceExhausted: "no thread for <purpose>: …", with the system's reason.
inline absl::StatusOr<std::thread> StartThread(absl::string_view purpose, std::function<void()> run) {
  try {
    return std::thread(std::move(run));
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("no thread for ", purpose, ": ", error.code().message()));
  }
}

}  // namespace verbena

#endif  // VERBENA_TRANSPORT_START_THREAD_H_
