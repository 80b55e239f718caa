#include "server/service/record/trace_context.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace planwright::server {
namespace {

bool IsLowerHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isxdigit(c) && !absl::ascii_isupper(c); });
}

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return absl::ascii_isprint(c); });
}

bool IsZero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

}  // namespace

std::optional<TraceContext> TraceContextOf(std::string_view traceparent) {
  constexpr std::size_t kSize = 55;
  if (traceparent.size() < kSize) return std::nullopt;
  const std::string_view version = traceparent.substr(0, 2);
  const std::string_view trace = traceparent.substr(3, 32);
  const std::string_view parent = traceparent.substr(36, 16);
  const std::string_view flags = traceparent.substr(53, 2);
  const bool has_dashes = traceparent[2] == '-' && traceparent[35] == '-' && traceparent[52] == '-';
  const bool ends_well = traceparent.size() == kSize || (version != "00" && traceparent[kSize] == '-');
  if (!has_dashes || !ends_well || version == "ff" || !IsPrintable(traceparent)) return std::nullopt;
  if (!IsLowerHex(version) || !IsLowerHex(trace) || !IsLowerHex(parent) || !IsLowerHex(flags)) return std::nullopt;
  if (IsZero(trace) || IsZero(parent)) return std::nullopt;
  // The last bit of the last digit.
  const bool is_sampled = std::string_view("13579bdf").find(flags.back()) != std::string_view::npos;
  return TraceContext{.trace_id = std::string(trace), .parent_id = std::string(parent), .is_sampled = is_sampled};
}

}  // namespace planwright::server
