#include "transport/verbs/verbs_error.h"

#include <sys/resource.h>

#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace verbena::verbs {
namespace {

std::string LockedMemoryAdvice() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return "; locked memory is not limited here, so the machine or the device is out of memory";
  }
  return absl::StrCat("; the limit of locked memory (RLIMIT_MEMLOCK) is ", limit.rlim_cur,
                      " bytes: raise it with `ulimit -l unlimited`, or LimitMEMLOCK=infinity in a systemd unit");
}

std::string DescriptorAdvice() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return "";
  return absl::StrCat("; the limit of open files (RLIMIT_NOFILE) is ", limit.rlim_cur,
                      ": raise it with `ulimit -n`, up to ", limit.rlim_max,
                      " here, or LimitNOFILE= in a systemd unit");
}

absl::StatusCode CodeOf(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return absl::StatusCode::kOk;
    case IBV_WC_WR_FLUSH_ERR:
      return absl::StatusCode::kCancelled;
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
    case IBV_WC_REM_ABORT_ERR:
    case IBV_WC_FATAL_ERR:
      return absl::StatusCode::kUnavailable;
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_LOC_EEC_OP_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_MW_BIND_ERR:
    case IBV_WC_BAD_RESP_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_LOC_RDD_VIOL_ERR:
    case IBV_WC_REM_INV_RD_REQ_ERR:
    case IBV_WC_INV_EECN_ERR:
    case IBV_WC_INV_EEC_STATE_ERR:
    case IBV_WC_GENERAL_ERR:
    case IBV_WC_TM_ERR:
    case IBV_WC_TM_RNDV_INCOMPLETE:
      return absl::StatusCode::kInternal;
  }
  return absl::StatusCode::kInternal;  // A status that this version of verbs.h does not know.
}

}  // namespace

int ErrorNumber(int result) {
  if (result > 0) return result;
  return errno != 0 ? errno : EIO;
}

absl::Status CallError(absl::string_view operation, int error_number, absl::string_view object) {
  std::string message =
      absl::StrCat(operation, " failed: ", std::error_code(error_number, std::generic_category()).message());
  if (!object.empty()) absl::StrAppend(&message, " (", object, ")");
  if (error_number == EMFILE) absl::StrAppend(&message, DescriptorAdvice());
  return absl::Status(absl::ErrnoToStatusCode(error_number), message);
}

absl::Status PinningError(absl::string_view operation, int error_number, absl::string_view object) {
  absl::Status error = CallError(operation, error_number, object);
  if (error_number != ENOMEM) return error;
  return absl::Status(error.code(), absl::StrCat(error.message(), LockedMemoryAdvice()));
}

absl::Status CompletionError(const ibv_wc& completion, absl::string_view operation) {
  return absl::Status(CodeOf(completion.status),
                      absl::StrFormat("%s failed: %s (queue pair %u, vendor error %#x)", operation,
                                      ibv_wc_status_str(completion.status), completion.qp_num, completion.vendor_err));
}

}  // namespace verbena::verbs
