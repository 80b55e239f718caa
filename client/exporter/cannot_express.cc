#include "client/exporter/cannot_express.h"

#include "absl/strings/str_cat.h"

namespace planwright::client {

absl::Status CannotExpress(std::string_view target, std::string_view reason) {
  return absl::FailedPreconditionError(
      absl::StrCat(std::string(target), " cannot express this plan: ", std::string(reason)));
}

}  // namespace planwright::client
