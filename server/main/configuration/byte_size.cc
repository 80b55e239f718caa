#include "server/main/configuration/byte_size.h"

#include <array>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace planwright::server {
namespace {

struct Unit {
  const char* name;
  int64_t bytes;
};

// Largest first, so that a size is shown in the largest unit that divides it.
constexpr std::array<Unit, 3> kUnits = {{{"GiB", int64_t{1} << 30}, {"MiB", int64_t{1} << 20}, {"KiB", 1 << 10}}};

}  // namespace

bool AbslParseFlag(absl::string_view text, ByteSize* size, std::string* error) {
  int64_t factor = 1;
  for (const Unit& unit : kUnits) {
    if (absl::ConsumeSuffix(&text, unit.name)) factor = unit.bytes;
  }
  int64_t count = 0;
  if (!absl::SimpleAtoi(text, &count) || count < 0 || count > std::numeric_limits<int64_t>::max() / factor) {
    *error = "must be a number of bytes, or one followed by KiB, MiB or GiB";
    return false;
  }
  size->bytes = count * factor;
  return true;
}

std::string AbslUnparseFlag(ByteSize size) {
  for (const Unit& unit : kUnits) {
    if (size.bytes > 0 && size.bytes % unit.bytes == 0) return absl::StrCat(size.bytes / unit.bytes, unit.name);
  }
  return absl::StrCat(size.bytes);
}

}  // namespace planwright::server
