#include "server/serving/callers/caller.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace planwright::server {

bool IsPlainName(std::string_view name) {
  constexpr std::size_t kMaxBytes = 64;
  return !name.empty() && name.size() <= kMaxBytes && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_';
  });
}

const char* NameOf(Role role) {
  switch (role) {
    case Role::kReader:
      return "reader";
    case Role::kPlanner:
      return "planner";
    case Role::kAdmin:
      return "admin";
  }
  return "admin";
}

}  // namespace planwright::server
