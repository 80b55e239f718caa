#include "server/engine/library/resource_name.h"

#include <algorithm>
#include <cstdint>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/strings.h"
#include "core/base/violations.h"

namespace planwright::server {
namespace {

bool IsIdCharacter(char c) {
  return absl::ascii_islower(static_cast<unsigned char>(c)) || absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
         c == '-';
}

}  // namespace

std::string ResourceName(std::string_view collection, std::string_view id) {
  return absl::StrCat(ToAbsl(collection), ToAbsl(id));
}

absl::StatusOr<std::string> ResourceId(std::string_view name, std::string_view collection, std::string_view field) {
  constexpr std::size_t kMaxBytes = 128;
  const std::string_view id = name.starts_with(collection) ? name.substr(collection.size()) : std::string_view();
  if (!id.empty() && id.size() <= kMaxBytes && std::all_of(id.begin(), id.end(), &IsIdCharacter)) {
    return std::string(id);
  }
  Violations violations;
  violations.Add(std::string(field), absl::StrCat("must be \"", ToAbsl(collection), "{id}\", is \"",
                                                  ToAbsl(name.substr(0, kMaxBytes)), "\""));
  return violations.ToStatus();
}

std::string MakeResourceId() {
  std::random_device random;
  std::string id = "r";
  for (int i = 0; i < 4; ++i) absl::StrAppend(&id, absl::Hex(uint32_t{random()}, absl::kZeroPad8));
  return id;
}

std::string ResourceIdOf(CanonicalHash& hash) {
  constexpr std::size_t kDigits = 40;
  return absl::StrCat("p", hash.Hex().substr(0, kDigits));
}

bool IsResourceId(std::string_view id) {
  constexpr std::size_t kLeast = 4;
  constexpr std::size_t kMost = 63;
  return id.size() >= kLeast && id.size() <= kMost && std::all_of(id.begin(), id.end(), &IsIdCharacter) &&
         absl::ascii_islower(static_cast<unsigned char>(id.front())) && id.back() != '-';
}

}  // namespace planwright::server
