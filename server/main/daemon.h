// The running server: gRPC, HTTP, queue and engine, from start to drain.
#ifndef PLANWRIGHT_SERVER_MAIN_DAEMON_H_
#define PLANWRIGHT_SERVER_MAIN_DAEMON_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "server/main/configuration/configuration.h"
#include "server/observability/log.h"

namespace planwright::server {

class Daemon {
 public:
  // Opens the store, listens and serves from now on. `log` outlives the daemon.
  // Errors: UNAVAILABLE, INVALID_ARGUMENT or DATA_LOSS, cannot listen or store; the message names the flag.
  // `others`: services of somebody else's, such as a benchmark's, to be served beside our own; they outlive the daemon.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const Configuration& configuration, const Logger& log,
                                                       std::span<grpc::Service* const> others = {});

  // Drains, if that has not been done.
  virtual ~Daemon() = default;

  // Reads certificates, tokens and limits of tenants again, and takes the limits of models from `configuration`, for
  // later connections and calls. Where one of them is wrong all stay as they were, and the log says what is wrong.
  virtual void Reload(const absl::StatusOr<Configuration>& configuration) = 0;

  // Says NOT_SERVING, refuses new requests with UNAVAILABLE, waits for those in flight; after the drain timeout stops
  // their searches, which then answer with the best plan they have. Returns when all is answered.
  virtual void Drain() = 0;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_DAEMON_H_
