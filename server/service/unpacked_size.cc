#include "server/service/unpacked_size.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

namespace planwright::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// An object of generated code: its header and about two words a field, once in the message and once in core.
constexpr int64_t kBytesPerMessage = 64;
constexpr int64_t kBytesPerField = 16;
// A string apart from its text.
constexpr int64_t kBytesPerText = 32;
// For the cluster, the problem and a plan beside the graph.
constexpr int64_t kRoom = int64_t{256} << 20;

int64_t SizeOf(const Descriptor& type) { return kBytesPerMessage + kBytesPerField * type.field_count(); }

// Takes what is left of `in` off `left`; false: more than that. Message types of the contract do not nest in
// themselves, so the recursion is as deep as the contract.
bool Walk(CodedInputStream& in, const Descriptor& type, int64_t& left) {
  left -= SizeOf(type);
  while (left >= 0) {
    const uint32_t tag = in.ReadTag();
    if (tag == 0) return true;
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&in, tag)) return true;
      continue;
    }
    int length = 0;
    if (!in.ReadVarintSizeAsInt(&length)) return true;
    const FieldDescriptor* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    if (field == nullptr || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      left -= kBytesPerText + length;
      if (!in.Skip(length)) return true;
      continue;
    }
    const CodedInputStream::Limit outer = in.PushLimit(length);
    if (!Walk(in, *field->message_type(), left)) return false;
    if (!in.Skip(in.BytesUntilLimit())) return true;
    in.PopLimit(outer);
  }
  return false;
}

}  // namespace

int64_t UnpackedSizeLimit(const ModelLimits& limits) {
  constexpr int64_t kBytesPerOperator = 768;
  constexpr int64_t kBytesPerTensor = 320;
  return SaturatingAdd(SaturatingAdd(SaturatingMultiply(limits.max_operators, kBytesPerOperator),
                                     SaturatingMultiply(limits.max_tensors, kBytesPerTensor)),
                       kRoom);
}

bool UnpacksWithin(const grpc::ByteBuffer& bytes, const Descriptor& type, int64_t limit) {
  grpc::ByteBuffer walked = bytes;
  grpc::ProtoBufferReader reader(&walked);
  CodedInputStream in(&reader);
  return Walk(in, type, limit);
}

}  // namespace planwright::server
