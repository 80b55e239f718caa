#include "server/service/call/unpacked_size.h"

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
// Fields that are lists or maps, before anything is in them.
constexpr int64_t kBytesPerList = 32;
constexpr int64_t kBytesPerMap = 128;
// A string apart from its text, and what its arena knows of it.
constexpr int64_t kBytesPerText = 48;
// An element of a list: lists grow by half of what they will have, and in an arena the old one stays.
constexpr int64_t kBytesPerPointer = 32;
constexpr int64_t kBytesPerNumber = 24;
// A field that the type does not know, in a list of its own; those in a group make another list.
constexpr int64_t kBytesPerUnknown = 96;
// Groups in groups: protobuf reads no more.
constexpr int kMaxDepth = 100;
// For the cluster, the problem and a plan beside the graph.
constexpr int64_t kRoom = int64_t{256} << 20;

using WireType = WireFormatLite::WireType;

// How a field of the kind is written, unless it is a packed list.
WireType WireTypeOf(const FieldDescriptor& field) {
  return WireFormatLite::WireTypeForFieldType(static_cast<WireFormatLite::FieldType>(field.type()));
}

bool IsMessage(const FieldDescriptor& field) { return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE; }

int64_t SizeOf(const Descriptor& type) {
  int64_t bytes = kBytesPerMessage;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    bytes += field.is_map() ? kBytesPerMap : field.is_repeated() ? kBytesPerList : kBytesPerField;
  }
  return bytes;
}

// Walks a message along its type and takes what it finds off a number of bytes. Message types of the contract do not
// nest in themselves, so the recursion is as deep as the contract.
class Walker {
 public:
  Walker(CodedInputStream& in, int64_t limit) : in_(in), left_(limit) {}

  int64_t left() const { return left_; }

  // These go on up to the end of what they are for, and return whether there may be more: it could be read so far, and
  // something is left.
  bool WalkMessage(const Descriptor& type) {
    left_ -= SizeOf(type);
    while (left_ >= 0) {
      const uint32_t tag = in_.ReadTag();
      if (tag == 0) return in_.ConsumedEntireMessage();
      const FieldDescriptor* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      if (!(field != nullptr && IsWrittenSo(*field, tag) ? WalkKnown(*field, tag) : WalkUnknown(tag, 0))) return false;
    }
    return false;
  }

 private:
  static bool IsWrittenSo(const FieldDescriptor& field, uint32_t tag) {
    const WireType type = WireFormatLite::GetTagWireType(tag);
    return type == WireTypeOf(field) || (field.is_packable() && type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  }

  bool WalkKnown(const FieldDescriptor& field, uint32_t tag) {
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      left_ -= field.is_repeated() ? kBytesPerNumber : 0;
      return WireFormatLite::SkipField(&in_, tag);
    }
    if (field.is_packable()) return WalkPacked(WireTypeOf(field));
    left_ -= field.is_repeated() ? kBytesPerPointer : 0;
    return IsMessage(field) ? WalkInner(*field.message_type()) : WalkText();
  }

  bool WalkInner(const Descriptor& type) {
    int length = 0;
    if (!in_.ReadVarintSizeAsInt(&length)) return false;
    const CodedInputStream::Limit outer = in_.PushLimit(length);
    const bool goes_on = WalkMessage(type) && in_.BytesUntilLimit() == 0;
    in_.PopLimit(outer);
    return goes_on;
  }

  bool WalkText() {
    int length = 0;
    if (!in_.ReadVarintSizeAsInt(&length)) return false;
    left_ -= kBytesPerText + length;
    return left_ >= 0 && in_.Skip(length);
  }

  bool WalkPacked(WireType element) {
    int length = 0;
    if (!in_.ReadVarintSizeAsInt(&length)) return false;
    if (element != WireFormatLite::WIRETYPE_VARINT) {
      left_ -= kBytesPerNumber * (length / (element == WireFormatLite::WIRETYPE_FIXED32 ? 4 : 8));
      return left_ >= 0 && in_.Skip(length);
    }
    const CodedInputStream::Limit outer = in_.PushLimit(length);
    uint64_t number = 0;
    bool goes_on = true;
    while (goes_on && in_.BytesUntilLimit() > 0) {
      left_ -= kBytesPerNumber;
      goes_on = left_ >= 0 && in_.ReadVarint64(&number);
    }
    in_.PopLimit(outer);
    return goes_on;
  }

  bool WalkUnknown(uint32_t tag, int depth) {
    left_ -= kBytesPerUnknown;
    if (left_ < 0) return false;
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        return WalkText();
      case WireFormatLite::WIRETYPE_START_GROUP:
        return depth < kMaxDepth && WalkGroup(tag, depth + 1);
      default:
        return WireFormatLite::SkipField(&in_, tag);
    }
  }

  bool WalkGroup(uint32_t start, int depth) {
    const uint32_t end = start - WireFormatLite::WIRETYPE_START_GROUP + WireFormatLite::WIRETYPE_END_GROUP;
    while (true) {
      const uint32_t tag = in_.ReadTag();
      if (tag == end) return true;
      if (tag == 0 || !WalkUnknown(tag, depth)) return false;
    }
  }

  CodedInputStream& in_;
  int64_t left_;
};

}  // namespace

int64_t UnpackedSizeLimit(const ModelLimits& limits) {
  constexpr int64_t kBytesPerOperator = 768;
  constexpr int64_t kBytesPerTensor = 320;
  return SaturatingAdd(SaturatingAdd(SaturatingMultiply(limits.max_operators, kBytesPerOperator),
                                     SaturatingMultiply(limits.max_tensors, kBytesPerTensor)),
                       kRoom);
}

std::optional<int64_t> UnpackedSize(const grpc::ByteBuffer& bytes, const Descriptor& type, int64_t limit) {
  grpc::ByteBuffer walked = bytes;
  grpc::ProtoBufferReader reader(&walked);
  CodedInputStream in(&reader);
  Walker walker(in, limit);
  walker.WalkMessage(type);
  if (walker.left() < 0) return std::nullopt;
  return limit - walker.left();
}

}  // namespace planwright::server
