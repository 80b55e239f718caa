#include "server/service/call_messages.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include "absl/strings/str_cat.h"
#include "server/service/unpacked_size.h"

namespace planwright::server {

using google::protobuf::Message;

absl::Status ReadMessage(const grpc::ByteBuffer& bytes, const ModelLimits& limits, Message& message) {
  const int64_t most = UnpackedSizeLimit(limits);
  if (!UnpacksWithin(bytes, *message.GetDescriptor(), most)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the message would unpack to more than ", most,
                     " bytes, what --max_operators and --max_tensors of the server allow; make it smaller"));
  }
  grpc::ByteBuffer consumed = bytes;
  if (grpc::GenericDeserialize<grpc::ProtoBufferReader, Message>(&consumed, &message).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the message is no ", message.GetDescriptor()->full_name(), ", or a string in it is not UTF-8"));
}

absl::Status WriteMessage(const Message& message, grpc::ByteBuffer& bytes) {
  bool own_buffer = false;
  if (grpc::GenericSerialize<grpc::ProtoBufferWriter, Message>(message, &bytes, &own_buffer).ok()) {
    return absl::OkStatus();
  }
  return absl::InternalError("the answer could not be encoded");
}

}  // namespace planwright::server
