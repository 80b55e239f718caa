// Requests and answers as bytes, for handlers that get them raw.
//
// gRPC's callback threads are few, so nothing is computed on them: requests arrive as bytes and are parsed, planned and
// encoded by a worker of the executor. Parsing them ourselves also makes bytes that are no message INVALID_ARGUMENT;
// gRPC would answer UNIMPLEMENTED.
#ifndef PLANWRIGHT_SERVER_SERVICE_CALL_MESSAGES_H_
#define PLANWRIGHT_SERVER_SERVICE_CALL_MESSAGES_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include "absl/status/status.h"
#include "core/model/validator.h"

namespace planwright::server {

// Errors: INVALID_ARGUMENT, the bytes are no such message; RESOURCE_EXHAUSTED, it would unpack to more than graphs
// within `limits` can take.
absl::Status ReadMessage(const grpc::ByteBuffer& bytes, const ModelLimits& limits, google::protobuf::Message& message);

// Errors: INTERNAL, the message cannot be encoded.
absl::Status WriteMessage(const google::protobuf::Message& message, grpc::ByteBuffer& bytes);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_CALL_MESSAGES_H_
