// "Try again in a moment", carried inside an absl::Status.
#ifndef PLANWRIGHT_SERVER_SERVING_ADMISSION_RETRY_DELAY_H_
#define PLANWRIGHT_SERVER_SERVING_ADMISSION_RETRY_DELAY_H_

#include <chrono>
#include <optional>

#include "absl/status/status.h"

namespace planwright::server {

// What those are told to wait for whom there is no room.
inline constexpr std::chrono::milliseconds kRetryDelay{1000};

// `status` with the time after which a caller may try again. REQUIRES: status is not OK.
absl::Status WithRetryDelay(absl::Status status, std::chrono::milliseconds delay);

// What WithRetryDelay packed; nullopt for any other status.
std::optional<std::chrono::milliseconds> RetryDelayOf(const absl::Status& status);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_ADMISSION_RETRY_DELAY_H_
