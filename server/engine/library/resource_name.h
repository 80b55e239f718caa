// Names of stored things: "plans/{id}", "graphs/{sha256}", "clusters/{sha256}", "operations/{id}".
#ifndef PLANWRIGHT_SERVER_ENGINE_LIBRARY_RESOURCE_NAME_H_
#define PLANWRIGHT_SERVER_ENGINE_LIBRARY_RESOURCE_NAME_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/codec/canonical_hash.h"

namespace planwright::server {

inline constexpr std::string_view kPlans = "plans/";
inline constexpr std::string_view kGraphs = "graphs/";
inline constexpr std::string_view kClusters = "clusters/";
inline constexpr std::string_view kOperations = "operations/";

std::string ResourceName(std::string_view collection, std::string_view id);

// The id in `name`, the value of the request's field `field`. INVALID_ARGUMENT: it is not `collection` and an id.
absl::StatusOr<std::string> ResourceId(std::string_view name, std::string_view collection, std::string_view field);

// A new one, 128 random bits, that begins with a letter.
std::string MakeResourceId();

// One that is always the same for what was added to `hash`, which is used up.
std::string ResourceIdOf(CanonicalHash& hash);

// Whether callers may choose `id`: 4 to 63 lower-case letters, digits and hyphens, first a letter, last no hyphen.
bool IsResourceId(std::string_view id);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_LIBRARY_RESOURCE_NAME_H_
