#include "server/serving/uploads.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "server/serving/retry_delay.h"

namespace planwright::server {
namespace {

constexpr std::chrono::milliseconds kRetryDelay{1000};

}  // namespace

absl::Status Uploads::Stream::Open() {
  const std::lock_guard lock(uploads_.mutex_);
  if (uploads_.open_ >= uploads_.max_open_) {
    return WithRetryDelay(
        absl::ResourceExhaustedError(absl::StrCat("the server is full: ", uploads_.open_, " streams are being sent")),
        kRetryDelay);
  }
  ++uploads_.open_;
  is_open_ = true;
  return absl::OkStatus();
}

absl::Status Uploads::Stream::Hold(int64_t bytes) {
  const std::lock_guard lock(uploads_.mutex_);
  const bool is_alone = uploads_.bytes_ == bytes_;
  if (!is_alone && uploads_.bytes_ + bytes > uploads_.max_bytes_) {
    return WithRetryDelay(absl::ResourceExhaustedError(absl::StrCat(
                              "the server is full: streams that are being sent hold ", uploads_.bytes_,
                              " bytes, together they may hold ", uploads_.max_bytes_, " (--memory_budget)")),
                          kRetryDelay);
  }
  bytes_ += bytes;
  uploads_.bytes_ += bytes;
  return absl::OkStatus();
}

Uploads::Stream::~Stream() {
  const std::lock_guard lock(uploads_.mutex_);
  if (is_open_) --uploads_.open_;
  uploads_.bytes_ -= bytes_;
}

}  // namespace planwright::server
