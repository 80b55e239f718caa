// What connections may take, and how long they live.
#ifndef PLANWRIGHT_SERVER_MAIN_CONFIGURATION_CONNECTION_SETTINGS_H_
#define PLANWRIGHT_SERVER_MAIN_CONFIGURATION_CONNECTION_SETTINGS_H_

#include <grpcpp/server_builder.h>

#include <chrono>
#include <cstdint>

#include "server/connections/connections.h"

namespace planwright::server {

struct ConnectionSettings {
  // 0: as many as descriptors and memory allow. Never more than descriptors allow.
  int max_connections = 0;
  std::chrono::nanoseconds max_age{0};
  std::chrono::nanoseconds keepalive_time{0};
};

// Limits for gRPC. `transport_bytes`: what clients may have sent of messages that are not whole; messages have at most
// `max_message_bytes`. Besides connections, descriptors are for the store, files, and the metrics port.
ConnectionLimits GrpcConnectionLimits(const ConnectionSettings& settings, int64_t transport_bytes,
                                      int64_t max_message_bytes);

// Limits for the metrics port, where nobody is identified and everybody is answered at once.
ConnectionLimits HttpConnectionLimits();

// Keepalive, age and time to shake hands. Calls go on for `longest_call` after their connection has become too old.
void LimitConnections(const ConnectionSettings& settings, std::chrono::nanoseconds longest_call,
                      grpc::ServerBuilder& builder);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_CONFIGURATION_CONNECTION_SETTINGS_H_
