#include "server/codec/scalars.h"

#include <cmath>

namespace planwright::server {

Picoseconds DecodeTime(double milliseconds, const FieldPath& path, Violations& violations) {
  const std::optional<Picoseconds> time = FromMilliseconds(milliseconds);
  if (time.has_value()) return *time;
  const bool too_long = std::isfinite(milliseconds) && milliseconds > 0;
  violations.Add(path.ToString(), absl::StrCat(too_long ? absl::StrCat("must be at most ", kMaxQuantity / 1'000'000'000)
                                                        : "must be finite and >= 0",
                                               ", is ", milliseconds));
  return Picoseconds(0);
}

std::chrono::nanoseconds DecodeDuration(const google::protobuf::Duration& duration, const FieldPath& path,
                                        Violations& violations) {
  const bool valid = duration.seconds() >= 0 && duration.nanos() >= 0 && duration.nanos() < 1'000'000'000;
  if (!valid) {
    violations.Add(path.ToString(), absl::StrCat("must be a duration >= 0, is ", duration.seconds(), " s and ",
                                                 duration.nanos(), " ns"));
    return std::chrono::nanoseconds(0);
  }
  const std::chrono::seconds whole(duration.seconds());
  if (whole >= kMaxDuration) return kMaxDuration;
  return whole + std::chrono::nanoseconds(duration.nanos());
}

}  // namespace planwright::server
