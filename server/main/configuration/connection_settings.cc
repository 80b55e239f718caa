#include "server/main/configuration/connection_settings.h"

#include <algorithm>
#include <limits>

#include "server/connections/descriptor_limit.h"

namespace planwright::server {
namespace {

// What an open connection takes in gRPC, with TLS.
constexpr int64_t kBytesPerConnection = int64_t{64} << 10;
// gRPC's first window is of 4 MiB; headers need none: 4 KiB for each of the thousand calls that a connection may have.
constexpr int64_t kUnopenedBytes = int64_t{8} << 20;
// Eight calls of 16 MiB that begin on one connection at the same time send up to 47 MiB between two answers, a thousand
// of 200 kB 33 MiB: two such clients may come at once.
constexpr int64_t kUnansweredBytes = int64_t{96} << 20;
// Descriptors that are not for connections of gRPC; of few, a half.
constexpr int kOtherDescriptors = 320;

constexpr int kHttpConnections = 128;
// Enough for everything that the metrics port serves; clients that are slower go when others come, or at this age.
constexpr std::chrono::seconds kHttpAge{5};

// A client that takes longer for its first frames, or for TLS, is none.
constexpr std::chrono::seconds kHandshakeTimeout{10};
// How long a client may take to answer a ping.
constexpr std::chrono::seconds kKeepaliveTimeout{20};
// For the answer to be read.
constexpr std::chrono::minutes kGraceBeyondCall{5};

int Milliseconds(std::chrono::nanoseconds time) {
  const int64_t count = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  return static_cast<int>(std::min<int64_t>(count, std::numeric_limits<int>::max()));
}

int MostConnections(const ConnectionSettings& settings, int64_t transport_bytes) {
  const int descriptors = DescriptorLimit();
  const int64_t spare = std::max(descriptors / 2, descriptors - kOtherDescriptors);
  const int64_t wanted =
      settings.max_connections > 0 ? settings.max_connections : transport_bytes / kBytesPerConnection;
  return static_cast<int>(std::max<int64_t>(std::min(spare, wanted), 1));
}

}  // namespace

ConnectionLimits GrpcConnectionLimits(const ConnectionSettings& settings, int64_t transport_bytes,
                                      int64_t max_message_bytes) {
  const int connections = MostConnections(settings, transport_bytes);
  // Two of the largest calls may be a client's first.
  const int64_t unidentified = std::min(transport_bytes, 2 * max_message_bytes + (max_message_bytes / 8));
  return {.connections = connections,
          .unidentified_per_host = std::max(connections / 2, 1),
          .held_bytes = transport_bytes,
          .unidentified_held_bytes = unidentified,
          // Half of it is for those who are known.
          .all_unidentified_held_bytes = std::max(unidentified, transport_bytes / 2),
          .unopened_held_bytes = std::min(unidentified, kUnopenedBytes),
          .unanswered_held_bytes = std::min(unidentified, kUnansweredBytes)};
}

ConnectionLimits HttpConnectionLimits() {
  const int connections = std::clamp(DescriptorLimit() / 8, 1, kHttpConnections);
  return {.connections = connections, .unidentified_per_host = std::max(connections / 2, 1), .max_age = kHttpAge};
}

void LimitConnections(const ConnectionSettings& settings, std::chrono::nanoseconds longest_call,
                      grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, Milliseconds(kHandshakeTimeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(settings.keepalive_time));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(kKeepaliveTimeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, Milliseconds(settings.max_age));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, Milliseconds(longest_call + kGraceBeyondCall));
}

}  // namespace planwright::server
