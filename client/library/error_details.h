// What an error of the service says beyond its code and message.
//
// Details travel as they do on the wire: each google.rpc detail is a payload of the absl::Status, keyed by its type
// URL. So errors read the same whether they come from a server, from planning in-process or from an importer.
#ifndef PLANWRIGHT_CLIENT_LIBRARY_ERROR_DETAILS_H_
#define PLANWRIGHT_CLIENT_LIBRARY_ERROR_DETAILS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// One rule that the input breaks.
struct FieldViolation {
  // Path as the writer of the input knows it: "graph.operators[17].name" or "nodes[17].fpgaLatency"; may be empty.
  std::string field;
  // "must be >= 0, is -1".
  std::string description;

  bool operator==(const FieldViolation&) const = default;
};

struct ErrorDetails {
  // google.rpc.ErrorInfo.reason, e.g. "INFEASIBLE"; empty when there is none.
  std::string reason;
  // Only with NO_PLAN_FOUND: the limit that was spent, "time_limit" or "work_limit"; empty when there is none.
  std::string limit;
  // In the order found; the first ones where there are very many.
  std::vector<FieldViolation> violations;
  // How many there are.
  int64_t violation_count = 0;
  // The proof that no plan exists.
  std::optional<v1::InfeasibleDetail> infeasible;
  // How many reasons the proof has; `infeasible` holds the first ones where there are very many.
  int64_t infeasible_reason_count = 0;
  // How long the server asks to wait before the next attempt.
  std::optional<absl::Duration> retry_after;
};

// The details that `status` carries; all empty when it carries none.
ErrorDetails ErrorDetailsOf(const absl::Status& status);

// `status` with the details of a serialized google.rpc.Status (grpc::Status::error_details). Bytes that are none are
// ignored: the code and the message still say what happened.
absl::Status WithErrorDetails(absl::Status status, std::string_view serialized_rpc_status);

// Collects what is wrong with an input. Keeps the first kMaxListed violations and counts the rest.
class ViolationList {
 public:
  static constexpr std::size_t kMaxListed = 100;

  void Add(std::string field, std::string description);

  bool empty() const { return listed_.empty(); }

  // INVALID_ARGUMENT with every listed violation, readable in its message and by ErrorDetailsOf. `source` names the
  // input, e.g. a file. REQUIRES: !empty().
  absl::Status ToStatus(std::string_view source) const;

 private:
  std::vector<FieldViolation> listed_;
  std::size_t unlisted_count_ = 0;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LIBRARY_ERROR_DETAILS_H_
