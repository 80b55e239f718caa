// A small HTTP server for probes and metrics, on libmicrohttpd.
#ifndef PLANWRIGHT_SERVER_OBSERVABILITY_HTTP_SERVER_H_
#define PLANWRIGHT_SERVER_OBSERVABILITY_HTTP_SERVER_H_

#include <sys/socket.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace planwright::server {

struct HttpResponse {
  int code = 200;
  std::string body;
};

// Answers GET and HEAD on the given paths with text, everything else with 404 or 405, and closes the connection. One
// thread serves all connections as they can be read and written, so that a slow client delays nobody; one that is
// silent for five seconds is closed. Serves until it is destroyed.
class HttpServer {
 public:
  struct Handler {
    // Must not throw.
    std::function<HttpResponse()> answer;
    // Answers from memory. Those that do not have a thread of their own, where requests that come while one is being
    // answered share the next answer: they delay no quick one.
    bool is_quick = true;
  };
  // By exact path ("/metrics").
  using Handlers = std::map<std::string, Handler>;

  // Errors: UNAVAILABLE, the system refuses what the server needs.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(Handlers handlers);

  virtual ~HttpServer() = default;

  // Takes over and serves a connection: a non-blocking socket. Thread-safe.
  virtual void Serve(int file, const sockaddr* peer, socklen_t length) = 0;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_OBSERVABILITY_HTTP_SERVER_H_
