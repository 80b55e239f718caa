#include "server/engine/operations/operation_codec.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/time_util.h>

#include <array>
#include <utility>

#include "server/engine/library/resource_name.h"
#include "server/engine/rpc_status.h"

namespace planwright::server {
namespace {

using google::protobuf::util::TimeUtil;

constexpr std::array kStates = {
    std::pair(OperationState::kQueued, v1::Operation::STATE_QUEUED),
    std::pair(OperationState::kRunning, v1::Operation::STATE_RUNNING),
    std::pair(OperationState::kSucceeded, v1::Operation::STATE_SUCCEEDED),
    std::pair(OperationState::kFailed, v1::Operation::STATE_FAILED),
    std::pair(OperationState::kCancelled, v1::Operation::STATE_CANCELLED),
};

// The most bytes that the message and the details of one error take.
constexpr std::size_t kMaxErrorBytes = 64 << 10;

void EncodeMetadata(const Operation& operation, v1::OperationMetadata& metadata) {
  metadata.set_request_id(operation.request_id);
  *metadata.mutable_create_time() = TimeUtil::MillisecondsToTimestamp(operation.create_time);
  if (operation.start_time != 0) {
    *metadata.mutable_start_time() = TimeUtil::MillisecondsToTimestamp(operation.start_time);
  }
  if (operation.end_time != 0) *metadata.mutable_end_time() = TimeUtil::MillisecondsToTimestamp(operation.end_time);
  metadata.set_attempts(operation.attempts);
  metadata.set_cancel_requested(operation.cancel_requested);
  v1::SweepResult::Row row;
  row.ParseFromString(operation.summary.empty() ? operation.progress : operation.summary);
  if (row.has_objective_ms()) metadata.set_objective_ms(row.objective_ms());
  if (!operation.parent.empty()) metadata.set_sweep(ResourceName(kOperations, operation.parent));
}

// What the operation ended with.
void EncodeResult(const Operation& operation, v1::Operation& wire) {
  const bool has_failed = operation.state == OperationState::kFailed;
  const std::string& bytes = operation.result.empty() && operation.state == OperationState::kCancelled
                                 ? operation.incumbent
                                 : operation.result;
  if (bytes.empty() && !has_failed) return;
  const bool is_read =
      has_failed ? wire.mutable_error()->ParseFromString(bytes) : wire.mutable_plan()->ParseFromString(bytes);
  if (!is_read || bytes.empty())
    *wire.mutable_error() =
        ToRpcStatus(absl::DataLossError("what is stored of the operation is damaged: submit it anew"));
}

}  // namespace

std::string ToBytes(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

std::string SummaryOf(const v1::Plan& plan) {
  v1::SweepResult::Row row;
  row.set_objective_ms(plan.objective_ms());
  row.set_lower_bound_ms(plan.lower_bound_ms());
  row.set_relative_gap(plan.relative_gap());
  return row.SerializeAsString();
}

std::string SummaryOf(const absl::Status& error) {
  v1::SweepResult::Row row;
  *row.mutable_error() = ToRpcStatus(error, kMaxErrorBytes);
  return row.SerializeAsString();
}

v1::Operation EncodeOperation(const Operation& operation) {
  v1::Operation wire;
  wire.set_name(ResourceName(kOperations, operation.id));
  wire.set_state(ToWire(operation.state));
  EncodeMetadata(operation, *wire.mutable_metadata());
  if (HasEnded(operation.state) && !operation.has_rows) EncodeResult(operation, wire);
  return wire;
}

v1::Operation::State ToWire(OperationState state) {
  for (const auto& [core, wire] : kStates) {
    if (core == state) return wire;
  }
  return v1::Operation::STATE_UNSPECIFIED;
}

std::optional<OperationState> FromWire(v1::Operation::State state) {
  for (const auto& [core, wire] : kStates) {
    if (wire == state) return core;
  }
  return std::nullopt;
}

v1::SweepResult::Row EncodeRow(const Operation& operation, const v1::SweepResult::Settings& settings) {
  v1::SweepResult::Row row;
  row.ParseFromString(operation.summary.empty() ? operation.progress : operation.summary);
  row.set_operation(ResourceName(kOperations, operation.id));
  row.set_state(ToWire(operation.state));
  *row.mutable_settings() = settings;
  return row;
}

}  // namespace planwright::server
