#include "server/service/call/unpacked_size.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "planwright/v1/planning_service.pb.h"

namespace planwright::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MessageFactory;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
constexpr std::array kWireTypes = {WireFormatLite::WIRETYPE_VARINT, WireFormatLite::WIRETYPE_FIXED64,
                                   WireFormatLite::WIRETYPE_LENGTH_DELIMITED, WireFormatLite::WIRETYPE_START_GROUP,
                                   WireFormatLite::WIRETYPE_FIXED32};

grpc::ByteBuffer Buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

// A field with as little in it as its wire type allows, again and again.
std::string Repeated(int field, WireFormatLite::WireType type, const std::string& content, int count) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  CodedOutputStream out(&stream);
  for (int i = 0; i < count; ++i) {
    out.WriteTag(WireFormatLite::MakeTag(field, type));
    if (type == WireFormatLite::WIRETYPE_VARINT) out.WriteVarint32(0);
    if (type == WireFormatLite::WIRETYPE_FIXED64) out.WriteLittleEndian64(0);
    if (type == WireFormatLite::WIRETYPE_FIXED32) out.WriteLittleEndian32(0);
    if (type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      out.WriteVarint32(static_cast<uint32_t>(content.size()));
      out.WriteString(content);
    }
    if (type == WireFormatLite::WIRETYPE_START_GROUP) {
      out.WriteTag(WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_END_GROUP));
    }
  }
  out.Trim();
  return bytes;
}

// What a message of `type` takes that is read from `bytes`; 0: they are none.
int64_t TakenBy(const Descriptor& type, const std::string& bytes) {
  const std::unique_ptr<google::protobuf::Message> message(
      MessageFactory::generated_factory()->GetPrototype(&type)->New());
  return message->ParseFromString(bytes) ? static_cast<int64_t>(message->SpaceUsedLong()) : 0;
}

void CollectTypes(const Descriptor& type, std::set<const Descriptor*>& types) {
  if (!types.insert(&type).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->message_type() != nullptr) CollectTypes(*type.field(i)->message_type(), types);
  }
}

// Every type of message that requests can contain.
std::set<const Descriptor*> RequestTypes() {
  std::set<const Descriptor*> types;
  const google::protobuf::ServiceDescriptor* service =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName("planwright.v1.PlanningService");
  for (int i = 0; i < service->method_count(); ++i) CollectTypes(*service->method(i)->input_type(), types);
  return types;
}

// The numbers of all fields of the type, and one that it does not have.
std::vector<int> FieldNumbers(const Descriptor& type) {
  std::vector<int> numbers = {12345};
  for (int i = 0; i < type.field_count(); ++i) numbers.push_back(type.field(i)->number());
  return numbers;
}

TEST(UnpackedSizeTest, NoFieldOfAnyRequestWrittenInAnyWayTakesMoreThanItCounts) {
  const std::string few(1, '\0');
  const std::string many(1000, '\0');
  for (const Descriptor* type : RequestTypes()) {
    if (type->options().map_entry()) continue;
    for (const int field : FieldNumbers(*type)) {
      for (const auto wire_type : kWireTypes) {
        for (const std::string& content : {std::string(), few, many}) {
          const std::string bytes = Repeated(field, wire_type, content, 2000);
          const std::optional<int64_t> size = UnpackedSize(Buffer(bytes), *type, kNoLimit);
          ASSERT_TRUE(size.has_value());
          ASSERT_GE(*size, TakenBy(*type, bytes)) << type->full_name() << " field " << field << " wire type "
                                                  << wire_type << " with " << content.size() << " bytes";
        }
      }
    }
  }
}

TEST(UnpackedSizeTest, GroupsInGroupsCount) {
  std::string bytes;
  for (int i = 0; i < 90; ++i) bytes += static_cast<char>(15 << 3 | 3);
  for (int i = 0; i < 90; ++i) bytes += static_cast<char>(15 << 3 | 4);
  const Descriptor& type = *v1::CreatePlanRequest::descriptor();
  ASSERT_GT(TakenBy(type, bytes), 0);
  EXPECT_GE(*UnpackedSize(Buffer(bytes), type, kNoLimit), TakenBy(type, bytes));
}

TEST(UnpackedSizeTest, GroupsThatGoOnForEverAreNotFollowed) {
  const std::string bytes(1 << 20, static_cast<char>(15 << 3 | 3));
  EXPECT_TRUE(UnpackedSize(Buffer(bytes), *v1::CreatePlanRequest::descriptor(), kNoLimit).has_value());
}

TEST(UnpackedSizeTest, StopsAtTheLimit) {
  const std::string bytes = Repeated(12345, WireFormatLite::WIRETYPE_START_GROUP, "", 1000);
  const Descriptor& type = *v1::CreatePlanRequest::descriptor();
  const int64_t size = *UnpackedSize(Buffer(bytes), type, kNoLimit);
  EXPECT_TRUE(UnpackedSize(Buffer(bytes), type, size).has_value());
  EXPECT_FALSE(UnpackedSize(Buffer(bytes), type, size - 1).has_value());
}

}  // namespace
}  // namespace planwright::server
