// Whether a server answers at its own door.
#ifndef PLANWRIGHT_SERVER_CONNECTIONS_OWN_CALL_H_
#define PLANWRIGHT_SERVER_CONNECTIONS_OWN_CALL_H_

#include <chrono>

#include "absl/status/status.h"
#include "server/connections/connections.h"
#include "server/connections/listener.h"

namespace planwright::server {

// Connects to the listener as a client would, greets in HTTP/2, or with `tls` begins a handshake, and waits for the
// answer to that: a new client gets through accepting, and to the threads that read what clients send. The connection
// is expected beside the limits of `connections`. Errors: UNAVAILABLE, which step failed; DEADLINE_EXCEEDED, no answer
// within `timeout`.
absl::Status CallOwnDoor(const Listener& listener, Connections& connections, bool tls,
                         std::chrono::milliseconds timeout);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CONNECTIONS_OWN_CALL_H_
