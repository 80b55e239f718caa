// Numbers, enums and names from the wire, one field at a time.
//
// A value that core cannot express adds a violation and is replaced by one that breaks no rule, so that the rest of the
// request can still be checked and every violation reported at once.
#ifndef PLANWRIGHT_SERVER_CODEC_SCALARS_H_
#define PLANWRIGHT_SERVER_CODEC_SCALARS_H_

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/generated_enum_reflection.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/strings.h"
#include "core/base/units.h"
#include "core/base/violations.h"
#include "server/codec/enums.h"
#include "server/codec/field_path.h"

namespace planwright::server {

// Milliseconds as exact time. Violation: not finite, or beyond kMaxQuantity. Replacement: 0.
Picoseconds DecodeTime(double milliseconds, const FieldPath& path, Violations& violations);

// A duration of at most kMaxDuration; longer ones are cut to it. Violation: negative, or no valid Duration.
// Replacement: 0.
inline constexpr std::chrono::hours kMaxDuration{24 * 365};
std::chrono::nanoseconds DecodeDuration(const google::protobuf::Duration& duration, const FieldPath& path,
                                        Violations& violations);

// The core value of an enum. Violation: a number that the contract does not know. Replacement: the first value.
template <typename Wire>
auto DecodeEnum(Wire wire, const FieldPath& path, Violations& violations) {
  const auto core = ToCore(wire);
  if (core.has_value()) return *core;
  violations.Add(path.ToString(),
                 absl::StrCat("must be a value of ", google::protobuf::GetEnumDescriptor<Wire>()->name(), ", is ",
                              static_cast<int>(wire)));
  return typename decltype(ToCore(wire))::value_type{};
}

// As DecodeEnum, where UNSPECIFIED (0) means that the value is chosen later.
template <typename Wire>
auto DecodeOptionalEnum(Wire wire, const FieldPath& path, Violations& violations) -> decltype(ToCore(wire)) {
  if (static_cast<int>(wire) == 0) return std::nullopt;
  return DecodeEnum(wire, path, violations);
}

// Finds elements of a list by name; of equal names the first counts. The names must outlive the index.
template <typename Id>
class NameIndex {
 public:
  explicit NameIndex(std::size_t expected_size) { ids_.reserve(expected_size); }

  // The next element of the list. False: its name was there before.
  bool Add(std::string_view name) { return ids_.try_emplace(ToAbsl(name), Id(count_++)).second; }

  std::optional<Id> Find(std::string_view name) const {
    const auto found = ids_.find(ToAbsl(name));
    if (found == ids_.end()) return std::nullopt;
    return found->second;
  }

  // Find, with a violation where there is none. `noun`: what must be named, "an operator of the graph".
  std::optional<Id> Resolve(std::string_view name, std::string_view noun, const FieldPath& path,
                            Violations& violations) const {
    const std::optional<Id> id = Find(name);
    if (!id.has_value()) {
      violations.Add(path.ToString(), absl::StrCat("must name ", ToAbsl(noun), ", is \"", ToAbsl(name), "\""));
    }
    return id;
  }

 private:
  absl::flat_hash_map<absl::string_view, Id> ids_;
  std::size_t count_ = 0;
};

// The names of a list of elements that have a `name`.
template <typename Id, typename Elements>
NameIndex<Id> IndexNames(const Elements& elements) {
  NameIndex<Id> index(elements.size());
  for (const auto& element : elements) index.Add(element.name);
  return index;
}

// `field` of a message as std::optional, for fields declared `optional`.
#define PLANWRIGHT_OPTIONAL_FIELD(message, field) \
  ((message).has_##field() ? std::optional((message).field()) : std::nullopt)

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CODEC_SCALARS_H_
