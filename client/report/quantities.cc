#include "client/report/quantities.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace planwright::client {

std::string BytesText(int64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return absl::StrFormat("%.2f %s", value, kUnits[unit]);
}

TimeUnit TimeUnitFor(double largest_ms) {
  constexpr double kSecond = 1000;
  constexpr double kMinute = 60 * kSecond;
  constexpr double kHour = 60 * kMinute;
  constexpr double kDay = 24 * kHour;
  if (largest_ms < 10 * kSecond) return {};
  if (largest_ms < 10 * kMinute) return {"s", kSecond};
  if (largest_ms < 2 * kHour) return {"min", kMinute};
  return largest_ms < 2 * kDay ? TimeUnit{"h", kHour} : TimeUnit{"days", kDay};
}

std::string TimeIn(TimeUnit unit, double milliseconds) {
  return absl::StrFormat("%.3f", milliseconds / unit.milliseconds);
}

std::string DurationText(double milliseconds) {
  const TimeUnit unit = TimeUnitFor(milliseconds);
  constexpr double kSecond = 1000;
  if (unit.milliseconds <= kSecond) return absl::StrCat(TimeIn(unit, milliseconds), " ", unit.name);
  return absl::StrFormat("%.1f %s", milliseconds / unit.milliseconds, unit.name);
}

std::string TwoDigitPercent(double percent) {
  // From where two digits would be rounded to three.
  constexpr double kThreeDigits = 99.5;
  return percent < kThreeDigits ? absl::StrFormat("%.2g %%", percent) : absl::StrFormat("%.0f %%", percent);
}

double AllReduceShare(const v1::PlanningProblem& problem, int replicas) {
  const double share = 1.0 / std::max(replicas, 1);
  if (problem.micro_batches() > 0) {
    // Once a step; of UNIFORM its micro-batches are those of one replica.
    const bool counts_one_replica = problem.replication() == v1::REPLICATION_UNIFORM;
    return (counts_one_replica ? share : 1) / static_cast<double>(problem.micro_batches());
  }
  return problem.allreduce().charge() == v1::AllReduce::CHARGE_PER_MICRO_BATCH ? 1 : share;
}

std::string GroupedText(int64_t count) {
  const std::string digits = absl::StrCat(count);
  std::string grouped;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool group_begins = (digits.size() - i) % 3 == 0;
    if (group_begins && !grouped.empty() && grouped != "-") grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string CountedText(int64_t count, const char* one, const char* many) {
  return absl::StrCat(GroupedText(count), " ", count == 1 ? one : many);
}

}  // namespace planwright::client
