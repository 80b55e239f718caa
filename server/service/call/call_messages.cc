#include "server/service/call/call_messages.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/service/call/unpacked_size.h"

namespace planwright::server {

using google::protobuf::Message;

absl::Status ReadMessage(const grpc::ByteBuffer& bytes, const ModelLimits& limits, MemoryAccount::Hold& unpacked,
                         Message& message) {
  const int64_t most = std::min(UnpackedSizeLimit(limits), unpacked.account().max_hold());
  const std::optional<int64_t> size = UnpackedSize(bytes, *message.GetDescriptor(), most);
  if (!size.has_value()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the message would unpack to more than ", most,
        " bytes, what --max_operators, --max_tensors and --memory_budget of the server allow; make it smaller"));
  }
  RETURN_IF_ERROR(unpacked.Add(*size));
  grpc::ByteBuffer consumed = bytes;
  if (grpc::GenericDeserialize<grpc::ProtoBufferReader, Message>(&consumed, &message).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the message is no ", message.GetDescriptor()->full_name(), ", or a string in it is not UTF-8"));
}

void DropBytes(const grpc::ByteBuffer& request) {
  // gRPC made the buffer for this call alone, and not as a constant.
  const_cast<grpc::ByteBuffer&>(request).Clear();
}

absl::Status WriteMessage(const Message& message, grpc::ByteBuffer& bytes) {
  bool own_buffer = false;
  if (grpc::GenericSerialize<grpc::ProtoBufferWriter, Message>(message, &bytes, &own_buffer).ok()) {
    return absl::OkStatus();
  }
  return absl::InternalError("the answer could not be encoded");
}

absl::StatusOr<UnsentAnswers::Hold> HoldAnswer(const CallServices& services, const CallStart& start, int64_t bytes) {
  return services.unsent.Take(start.caller.tenant, bytes, start.give_up);
}

absl::StatusOr<UnsentAnswers::Hold> WriteAnswer(const CallServices& services, const CallStart& start,
                                                const Message& message, grpc::ByteBuffer& bytes) {
  ASSIGN_OR_RETURN(UnsentAnswers::Hold hold, HoldAnswer(services, start, static_cast<int64_t>(message.ByteSizeLong())));
  RETURN_IF_ERROR(WriteMessage(message, bytes));
  return hold;
}

}  // namespace planwright::server
