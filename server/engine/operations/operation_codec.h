// Operations of the store -> operations of the wire, and the bytes that the store keeps of them.
#ifndef PLANWRIGHT_SERVER_ENGINE_OPERATIONS_OPERATION_CODEC_H_
#define PLANWRIGHT_SERVER_ENGINE_OPERATIONS_OPERATION_CODEC_H_

#include <google/protobuf/message.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "planwright/v1/operation.pb.h"
#include "planwright/v1/plan.pb.h"
#include "server/store/store.h"

namespace planwright::server {

// Equal messages give equal bytes.
std::string ToBytes(const google::protobuf::Message& message);

// What Operation::progress and Operation::summary hold: a row of a sweep, as far as it is known.
std::string SummaryOf(const v1::Plan& plan);
std::string SummaryOf(const absl::Status& error);

// Name, state and metadata, and the result where the operation was read with OperationView::kFull. A damaged result is
// an error (DATA_LOSS) in its place.
v1::Operation EncodeOperation(const Operation& operation);

v1::Operation::State ToWire(OperationState state);
// nullopt: unspecified, or a state that this version does not know.
std::optional<OperationState> FromWire(v1::Operation::State state);

// The row of a sweep that `operation` is.
v1::SweepResult::Row EncodeRow(const Operation& operation, const v1::SweepResult::Settings& settings);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_OPERATIONS_OPERATION_CODEC_H_
