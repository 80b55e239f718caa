// Who is at the other end of a socket.
#ifndef PLANWRIGHT_SERVER_CONNECTIONS_PEER_H_
#define PLANWRIGHT_SERVER_CONNECTIONS_PEER_H_

#include <sys/socket.h>

#include <string>

namespace planwright::server {

struct Peer {
  // As gRPC spells it (grpc::ServerContext::peer): "ipv4:10.0.0.1:3333", "ipv6:%5B::1%5D:3333",
  // "ipv6:%5Bfe80::1%252%5D:3333" on link 2, "unix:PATH". IPv4 within IPv6 is IPv4. Clients of Unix sockets have no
  // name unless they bind one.
  std::string name;
  // What its connections are counted by: the IPv4 address, the first 64 bits of an IPv6 address, "unix".
  std::string host;
  // On this machine, let in by the mode of the file.
  bool is_unix = false;
};

// `address`: as accept and getsockname give it.
Peer PeerOf(const sockaddr_storage& address, socklen_t length);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CONNECTIONS_PEER_H_
