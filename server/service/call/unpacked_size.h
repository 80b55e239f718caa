// How much memory a message takes once it is unpacked, estimated from its bytes.
//
// An empty operator is two bytes on the wire and hundreds in memory, so a limit on the size of messages alone does not
// keep a hostile one from exhausting the server. The bytes are walked along the descriptor before they are parsed:
// nothing is allocated.
#ifndef PLANWRIGHT_SERVER_SERVICE_CALL_UNPACKED_SIZE_H_
#define PLANWRIGHT_SERVER_SERVICE_CALL_UNPACKED_SIZE_H_

#include <google/protobuf/descriptor.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>

#include "core/model/validator.h"

namespace planwright::server {

// What the largest graphs that `limits` allow take, with some room for the rest of a request.
int64_t UnpackedSizeLimit(const ModelLimits& limits);

// What the bytes unpack to as a `type`, fields that it does not know included, since these are kept; nullopt: to more
// than `limit` bytes. What is no such message counts as far as it can be read; parsing will refuse it. O(bytes).
std::optional<int64_t> UnpackedSize(const grpc::ByteBuffer& bytes, const google::protobuf::Descriptor& type,
                                    int64_t limit);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_CALL_UNPACKED_SIZE_H_
