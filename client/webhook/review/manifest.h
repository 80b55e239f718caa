// Manifests in YAML as the JSON objects that an API server makes of them.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_MANIFEST_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_MANIFEST_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/webhook/review/envelope.h"
#include "client/webhook/review/json_tree.h"

namespace planwright::webhook {

// The documents of `text`, YAML or JSON, without empty ones. Aliases count as what they stand for.
// Errors: INVALID_ARGUMENT that begins with `source`, for anything that is no YAML or not UTF-8, for more than 8 MiB,
// 1,000,000 values or 100 levels, and for documents that are no objects.
absl::StatusOr<std::vector<Json>> ReadManifests(std::string_view text, std::string_view source);

// The review of an object that is created as it stands; `name_space` counts where it names none. INVALID_ARGUMENT: it
// has no apiVersion or kind.
absl::StatusOr<Review> ReviewOfManifest(Json object, std::string_view name_space);

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_MANIFEST_H_
