// Where the server listens.
#ifndef PLANWRIGHT_SERVER_MAIN_CONFIGURATION_LISTEN_ADDRESS_H_
#define PLANWRIGHT_SERVER_MAIN_CONFIGURATION_LISTEN_ADDRESS_H_

#include <string_view>

namespace planwright::server {

// Whether it is HOST:PORT with a port of at most 65535, or a unix: socket. gRPC takes larger ports modulo 2^16.
bool IsListenAddress(std::string_view address);

// True for 127.x.x.x, [::1], localhost and unix: sockets; false for everything else, names included.
bool IsLoopback(std::string_view address);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_CONFIGURATION_LISTEN_ADDRESS_H_
