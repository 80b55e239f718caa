#include "server/serving/admission/memory_account.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "server/serving/admission/retry_delay.h"

namespace planwright::server {

absl::Status MemoryAccount::Hold::Add(int64_t bytes) {
  const Options& options = account_.options_;
  const std::lock_guard lock(account_.mutex_);
  const int64_t wanted = bytes_ + bytes;
  if (wanted > options.max_hold) {
    return absl::ResourceExhaustedError(absl::StrCat("this would take ", wanted, " bytes of memory, more than the ",
                                                     options.max_hold, " that --memory_budget has for one of ",
                                                     options.holders, "; make it smaller"));
  }
  account_.Replace(bytes_, wanted);
  if (account_.bytes_ - *account_.holds_.rbegin() > options.max_bytes) {
    account_.Replace(wanted, bytes_);
    return WithRetryDelay(
        absl::ResourceExhaustedError(absl::StrCat("the server is full: ", options.holders, " hold ", account_.bytes_,
                                                  " bytes, this one would take ", wanted, ", together they may have ",
                                                  options.max_bytes, " beside the largest (--memory_budget)")),
        kRetryDelay);
  }
  bytes_ = wanted;
  return absl::OkStatus();
}

void MemoryAccount::Hold::Clear() {
  const std::lock_guard lock(account_.mutex_);
  account_.Replace(bytes_, 0);
  bytes_ = 0;
}

int64_t MemoryAccount::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void MemoryAccount::Replace(int64_t from, int64_t to) {
  if (from > 0) holds_.erase(holds_.find(from));
  if (to > 0) holds_.insert(to);
  bytes_ += to - from;
}

}  // namespace planwright::server
