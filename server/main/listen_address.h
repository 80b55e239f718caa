// Whether an address can be reached from other machines.
#ifndef PLANWRIGHT_SERVER_MAIN_LISTEN_ADDRESS_H_
#define PLANWRIGHT_SERVER_MAIN_LISTEN_ADDRESS_H_

#include <string>
#include <string_view>

namespace planwright::server {

// True for 127.x.x.x, [::1], localhost and unix: sockets; false for everything else, names included.
bool IsLoopback(std::string_view address);

// `address` with the port that was really bound, where it asked for port 0.
std::string WithPort(std::string_view address, int port);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_LISTEN_ADDRESS_H_
