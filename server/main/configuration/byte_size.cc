#include "server/main/configuration/byte_size.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "core/base/strings.h"
#include "core/text/amount.h"

namespace planwright::server {
namespace {

struct SizeUnit {
  const char* name;
  int64_t bytes;
};

// Largest first, so that a size is shown in the largest unit that divides it.
constexpr std::array<SizeUnit, 3> kUnits = {{{"GiB", int64_t{1} << 30}, {"MiB", int64_t{1} << 20}, {"KiB", 1 << 10}}};

}  // namespace

bool AbslParseFlag(absl::string_view text, ByteSize* size, std::string* error) {
  const auto bytes = ParseSize({text.data(), text.size()});
  if (bytes.has_value()) {
    size->bytes = *bytes;
  } else {
    *error = absl::StrCat("must be ", ToAbsl(kSizeDescription));
  }
  return bytes.has_value();
}

std::string AbslUnparseFlag(ByteSize size) {
  for (const SizeUnit& unit : kUnits) {
    if (size.bytes > 0 && size.bytes % unit.bytes == 0) return absl::StrCat(size.bytes / unit.bytes, unit.name);
  }
  return absl::StrCat(size.bytes);
}

}  // namespace planwright::server
