// Any bytes as a trace of PyTorch's profiler, packed or not: the reader answers with an error, or with times that are
// numbers >= 0, each of another name.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>

#include "client/importer/graphs/kineto.h"

namespace planwright::client {
namespace {

bool IsTime(double value) { return std::isfinite(value) && value >= 0; }

void ReadOnce(std::string_view bytes) {
  const auto times = ReadKineto(bytes, "input");
  if (!times.ok()) return;
  std::set<std::string_view> names;
  for (const ProfileRow& row : times->rows) {
    if (IsTime(row.forward_ms) && IsTime(row.backward_ms) && names.insert(row.name).second) continue;
    std::fprintf(stderr, "%s: %g and %g ms\n", row.name.c_str(), row.forward_ms, row.backward_ms);
    std::abort();
  }
}

}  // namespace
}  // namespace planwright::client

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  planwright::client::ReadOnce({reinterpret_cast<const char*>(data), size});
  return 0;
}
