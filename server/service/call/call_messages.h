// Requests and answers as bytes, for handlers that get them raw.
//
// gRPC's callback threads are few, so nothing is computed on them: requests arrive as bytes and are parsed, planned and
// encoded by a worker of the executor. Parsing them ourselves also makes bytes that are no message INVALID_ARGUMENT;
// gRPC would answer UNIMPLEMENTED.
#ifndef PLANWRIGHT_SERVER_SERVICE_CALL_CALL_MESSAGES_H_
#define PLANWRIGHT_SERVER_SERVICE_CALL_CALL_MESSAGES_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/model/validator.h"
#include "server/service/call/call_services.h"
#include "server/service/call/call_start.h"
#include "server/serving/admission/memory_account.h"
#include "server/serving/admission/unsent_answers.h"

namespace planwright::server {

// Reads a message, and adds what it takes to `unpacked`, which is to live as long. Errors: INVALID_ARGUMENT, the bytes
// are no such message; RESOURCE_EXHAUSTED, it would unpack to more than graphs within `limits` can take, or to more
// than the account of `unpacked` has for one; the same with a RetryInfo, others leave no room.
absl::Status ReadMessage(const grpc::ByteBuffer& bytes, const ModelLimits& limits, MemoryAccount::Hold& unpacked,
                         google::protobuf::Message& message);

// Gives back the bytes of a request that has been read: gRPC keeps them until the call ends.
// REQUIRES: they are not looked at any more.
void DropBytes(const grpc::ByteBuffer& request);

// Errors: INTERNAL, the message cannot be encoded.
absl::Status WriteMessage(const google::protobuf::Message& message, grpc::ByteBuffer& bytes);

// Counts an answer of `bytes` to a call until the hold ends, which is to be when gRPC has sent it. Errors:
// RESOURCE_EXHAUSTED with a RetryInfo, those that are not read yet leave no room.
absl::StatusOr<UnsentAnswers::Hold> HoldAnswer(const CallServices& services, const CallStart& start, int64_t bytes);

// Every answer of a call is written by this: counts it and writes it. Errors: those of both.
absl::StatusOr<UnsentAnswers::Hold> WriteAnswer(const CallServices& services, const CallStart& start,
                                                const google::protobuf::Message& message, grpc::ByteBuffer& bytes);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_CALL_CALL_MESSAGES_H_
