#include "rpc/names/libcurl.h"

#include <dlfcn.h>

#include <mutex>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace verbena::rpc {
namespace {

absl::Status LoaderError() {
  return absl::FailedPreconditionError(absl::StrCat("HTTP needs libcurl, which cannot be loaded: ", dlerror()));
}

// The functions of one library. The first that it lacks stays in status().
class Functions {
 public:
  explicit Functions(void* library) : library_(library) {}
  const absl::Status& status() const { return status_; }

  template <typename Function>
  void Find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr) status_.Update(LoaderError());
  }

 private:
  void* const library_;
  absl::Status status_;
};

absl::StatusOr<LibCurl> LoadAndInitialise() {
  absl::StatusOr<LibCurl> curl = LoadLibCurl(kLibCurlFile);
  if (!curl.ok()) {
    if (absl::StatusOr<LibCurl> other = LoadLibCurl(kLibCurlGnuTlsFile); other.ok()) curl = *other;
  }
  if (curl.ok() && curl->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return absl::ResourceExhaustedError("libcurl cannot be initialised");
  }
  return curl;
}

}  // namespace

absl::StatusOr<LibCurl> LoadLibCurl(const char* file) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return LoaderError();
  Functions functions(library);
  LibCurl curl;
  functions.Find("curl_global_init", curl.global_init);
  functions.Find("curl_slist_append", curl.slist_append);
  functions.Find("curl_slist_free_all", curl.slist_free_all);
  functions.Find("curl_easy_init", curl.easy_init);
  functions.Find("curl_easy_setopt", curl.easy_setopt);
  functions.Find("curl_easy_getinfo", curl.easy_getinfo);
  functions.Find("curl_easy_strerror", curl.easy_strerror);
  functions.Find("curl_easy_cleanup", curl.easy_cleanup);
  functions.Find("curl_multi_init", curl.multi_init);
  functions.Find("curl_multi_add_handle", curl.multi_add_handle);
  functions.Find("curl_multi_perform", curl.multi_perform);
  functions.Find("curl_multi_info_read", curl.multi_info_read);
  functions.Find("curl_multi_poll", curl.multi_poll);
  functions.Find("curl_multi_strerror", curl.multi_strerror);
  functions.Find("curl_multi_remove_handle", curl.multi_remove_handle);
  functions.Find("curl_multi_cleanup", curl.multi_cleanup);
  if (!functions.status().ok()) return functions.status();
  return curl;
}

absl::StatusOr<const LibCurl*> TheLibCurl() {
  static std::mutex mu;
  static const LibCurl* loaded = nullptr;  // Never deleted: threads may ask until the process ends.
  const std::lock_guard<std::mutex> lock(mu);
  if (loaded == nullptr) {
    const absl::StatusOr<LibCurl> curl = LoadAndInitialise();
    if (!curl.ok()) return curl.status();
    loaded = new LibCurl(*curl);
  }
  return loaded;
}

}  // namespace verbena::rpc
