// How an exporter refuses a plan that its target has no words for.
#ifndef PLANWRIGHT_CLIENT_EXPORTER_CANNOT_EXPRESS_H_
#define PLANWRIGHT_CLIENT_EXPORTER_CANNOT_EXPRESS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace planwright::client {

// FAILED_PRECONDITION: "megatron cannot express this plan: layer layer.3 is split".
absl::Status CannotExpress(std::string_view target, std::string_view reason);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_EXPORTER_CANNOT_EXPRESS_H_
