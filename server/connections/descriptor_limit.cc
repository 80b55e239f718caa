#include "server/connections/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace planwright::server {
namespace {

// More than any machine has use for; some systems say "unlimited".
constexpr rlim_t kMost = 1'000'000;
// Where the system does not tell: what it guarantees to every program.
constexpr rlim_t kLeast = 256;

}  // namespace

void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int DescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return static_cast<int>(kLeast);
  return static_cast<int>(std::min(limit.rlim_cur, kMost));
}

}  // namespace planwright::server
