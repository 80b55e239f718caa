// A small HTTP server for probes and metrics, on civetweb.
#ifndef PLANWRIGHT_SERVER_OBSERVABILITY_HTTP_SERVER_H_
#define PLANWRIGHT_SERVER_OBSERVABILITY_HTTP_SERVER_H_

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

// Answers GET and HEAD on the given paths with text, everything else with 404 or 405. Serves until it is destroyed.
class HttpServer {
 public:
  // By exact path ("/metrics"). Called on threads of the server, several at once; must not throw.
  using Handlers = std::map<std::string, std::function<HttpResponse()>>;

  // `address`: "127.0.0.1:9464", "[::1]:9464", "localhost:9464"; port 0 takes a free one.
  // Errors: INVALID_ARGUMENT, not an address; UNAVAILABLE, cannot listen there.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& address, Handlers handlers);

  virtual ~HttpServer() = default;

  // Host and port that it listens on.
  virtual std::string address() const = 0;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_OBSERVABILITY_HTTP_SERVER_H_
