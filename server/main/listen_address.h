// Where the server listens.
#ifndef PLANWRIGHT_SERVER_MAIN_LISTEN_ADDRESS_H_
#define PLANWRIGHT_SERVER_MAIN_LISTEN_ADDRESS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace planwright::server {

// Whether it is HOST:PORT with a port of at most 65535, or a unix: socket. gRPC takes larger ports modulo 2^16.
bool IsListenAddress(std::string_view address);

// True for 127.x.x.x, [::1], localhost and unix: sockets; false for everything else, names included.
bool IsLoopback(std::string_view address);

// Whether somebody could listen there now, so that what stands in the way can be named: servers do not tell. OK for
// unix: sockets. UNAVAILABLE: "address already in use: 127.0.0.1:50051". REQUIRES: IsListenAddress.
absl::Status CheckCanListen(std::string_view address);

// `address` with the port that was really bound, where it asked for port 0.
std::string WithPort(std::string_view address, int port);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_LISTEN_ADDRESS_H_
