// libcurl's functions, from the shared library when they are first needed. It brings 28 others (TLS, Kerberos, LDAP,
// SSH), a third of all that a program of ours would load before it begins; most never ask over HTTP.

#ifndef VERBENA_RPC_NAMES_LIBCURL_H_
#define VERBENA_RPC_NAMES_LIBCURL_H_

#include <curl/curl.h>

#include "absl/status/statusor.h"

namespace verbena::rpc {

// As libcurl's manual has them.
struct LibCurl {
  decltype(&curl_global_init) global_init;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_perform) multi_perform;
  decltype(&curl_multi_info_read) multi_info_read;
  decltype(&curl_multi_poll) multi_poll;
  decltype(&curl_multi_strerror) multi_strerror;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_cleanup) multi_cleanup;
};

// The ABI of the headers that this was built with, and what Debian calls it where it is built with GnuTLS.
constexpr char kLibCurlFile[] = "libcurl.so.4";
constexpr char kLibCurlGnuTlsFile[] = "libcurl-gnutls.so.4";

// Loads `file` for as long as the process lives. FailedPrecondition, in the loader's words, if it is not installed or
// lacks a function. Any thread.
absl::StatusOr<LibCurl> LoadLibCurl(const char* file);

// The process's, for as long as it lives: loaded and initialised on first use, which takes some milliseconds, and tried
// anew after a failure. ResourceExhausted if libcurl cannot be initialised. Any thread.
absl::StatusOr<const LibCurl*> TheLibCurl();

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_LIBCURL_H_
