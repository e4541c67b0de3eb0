#include "rpc/names/http_post.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "rpc/names/libcurl.h"

namespace verbena::rpc {
namespace {

constexpr int kPollMs = 60'000;  // libcurl's own timers end a poll earlier.

// What libcurl gives back to the function that takes the answer.
struct Receiver {
  absl::FunctionRef<absl::Status(absl::string_view)> on_bytes;
  absl::Status status;
};

size_t Receive(char* bytes, size_t size, size_t count, void* receiver_of_request) {
  Receiver& receiver = *static_cast<Receiver*>(receiver_of_request);
  receiver.status = receiver.on_bytes(absl::string_view(bytes, size * count));
  return receiver.status.ok() ? size * count : 0;  // Anything else than all ends the request.
}

using Easy = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using Multi = std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)>;
using Headers = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

// Null: no memory.
Headers HeadersOf(const LibCurl& curl, const HttpPost& post) {
  // "Expect:" keeps libcurl from asking before it sends a long body.
  Headers headers(curl.slist_append(curl.slist_append(nullptr, "Content-Type: application/json"), "Expect:"),
                  curl.slist_free_all);
  if (post.header.empty() || headers == nullptr) return headers;
  if (curl.slist_append(headers.get(), post.header.c_str()) == nullptr) headers.reset();
  return headers;
}

// At least one: none would be for ever.
long Milliseconds(absl::Duration timeout) {
  return static_cast<long>(absl::ToInt64Milliseconds(absl::Ceil(timeout, absl::Milliseconds(1))));
}

void Configure(const LibCurl& curl, CURL* easy, const HttpPost& post, curl_slist* headers, Receiver* receiver) {
  curl.easy_setopt(easy, CURLOPT_URL, post.url.c_str());
  curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
  curl.easy_setopt(easy, CURLOPT_POSTFIELDS, post.body.data());
  curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(post.body.size()));
  curl.easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl.easy_setopt(easy, CURLOPT_NOPROXY, "*");
  curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl.easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl.easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 10L);
  curl.easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 2L);
  curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, Milliseconds(post.connect_timeout));
  if (post.timeout != absl::InfiniteDuration()) {
    curl.easy_setopt(easy, CURLOPT_TIMEOUT_MS, Milliseconds(post.timeout));
  }
  curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Receive);
  curl.easy_setopt(easy, CURLOPT_WRITEDATA, receiver);
}

// Runs the only request of `multi` to its end.
absl::StatusOr<CURLcode> RunToEnd(const LibCurl& curl, CURLM* multi, BackgroundTask* stopped_by) {
  while (true) {
    int running = 0;
    if (const CURLMcode code = curl.multi_perform(multi, &running); code != CURLM_OK) {
      return absl::InternalError(curl.multi_strerror(code));
    }
    int left = 0;
    const CURLMsg* message = curl.multi_info_read(multi, &left);
    if (message != nullptr && message->msg == CURLMSG_DONE) return message->data.result;
    if (stopped_by == nullptr) {
      curl.multi_poll(multi, nullptr, 0, kPollMs, nullptr);
      continue;
    }
    curl_waitfd wake = {stopped_by->wake_fd(), CURL_WAIT_POLLIN, 0};
    curl.multi_poll(multi, &wake, 1, kPollMs, nullptr);
    stopped_by->ClearWake();
    if (stopped_by->stopping()) return absl::CancelledError("stopping");
  }
}

}  // namespace

absl::StatusOr<long> Perform(const HttpPost& post, absl::FunctionRef<absl::Status(absl::string_view)> on_bytes) {
  const absl::StatusOr<const LibCurl*> loaded = TheLibCurl();
  if (!loaded.ok()) {
    return absl::Status(loaded.status().code(), absl::StrCat(post.url, ": ", loaded.status().message()));
  }
  const LibCurl& curl = **loaded;
  const Multi multi(curl.multi_init(), curl.multi_cleanup);
  const Easy easy(curl.easy_init(), curl.easy_cleanup);
  const Headers headers = HeadersOf(curl, post);
  if (multi == nullptr || easy == nullptr || headers == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(post.url, ": libcurl cannot be set up"));
  }
  Receiver receiver = {on_bytes, absl::OkStatus()};
  Configure(curl, easy.get(), post, headers.get(), &receiver);
  if (const CURLMcode added = curl.multi_add_handle(multi.get(), easy.get()); added != CURLM_OK) {
    return absl::ResourceExhaustedError(absl::StrCat(post.url, ": libcurl takes no request: code ", added));
  }
  const absl::StatusOr<CURLcode> end = RunToEnd(curl, multi.get(), post.stopped_by);
  curl.multi_remove_handle(multi.get(), easy.get());
  if (!end.ok()) return end.status();
  if (!receiver.status.ok()) return receiver.status;
  if (*end != CURLE_OK) {
    const std::string words = absl::StrCat(post.url, ": ", curl.easy_strerror(*end));
    return *end == CURLE_OPERATION_TIMEDOUT ? absl::DeadlineExceededError(words) : absl::UnavailableError(words);
  }
  long http_status = 0;
  curl.easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &http_status);
  return http_status;
}

}  // namespace verbena::rpc
