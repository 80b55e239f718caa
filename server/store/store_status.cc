#include "server/store/store_status.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "core/base/strings.h"

namespace planwright::server {
namespace {

constexpr char kPayload[] = "planwright.server/store";

}  // namespace

absl::Status StoreUnavailable(std::string_view why) {
  absl::Status status = absl::UnavailableError(absl::StrCat("the store does not work: ", ToAbsl(why)));
  status.SetPayload(kPayload, absl::Cord());
  return status;
}

bool IsStoreUnavailable(const absl::Status& status) { return status.GetPayload(kPayload).has_value(); }

}  // namespace planwright::server
