#include "server/store/database/store_status.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "core/base/strings.h"

namespace planwright::server {
namespace {

constexpr char kPayload[] = "planwright.server/store";
constexpr char kFull[] = "full";

}  // namespace

absl::Status StoreUnavailable(std::string_view why) {
  absl::Status status = absl::UnavailableError(absl::StrCat("the store does not work: ", ToAbsl(why)));
  status.SetPayload(kPayload, absl::Cord());
  return status;
}

absl::Status StoreFull(std::string_view why) {
  absl::Status status = absl::UnavailableError(
      absl::StrCat("the store is full: ", ToAbsl(why),
                   "; what is stored can be read and deleted: delete some of it, or make room on its disk"));
  status.SetPayload(kPayload, absl::Cord(kFull));
  return status;
}

bool IsStoreFull(const absl::Status& status) { return status.GetPayload(kPayload) == absl::Cord(kFull); }

bool IsStoreUnavailable(const absl::Status& status) { return status.GetPayload(kPayload).has_value(); }

}  // namespace planwright::server
