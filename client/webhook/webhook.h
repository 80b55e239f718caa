// The running hook: HTTPS, metrics, files that are read again, from start to drain.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_WEBHOOK_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_WEBHOOK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/webhook/settings.h"
#include "server/observability/log.h"

namespace planwright::webhook {

class Webhook {
 public:
  // Serves from now on. `log` outlives the hook. Errors: UNAVAILABLE or INVALID_ARGUMENT; the message names the flag.
  static absl::StatusOr<std::unique_ptr<Webhook>> Start(const Settings& settings, const server::Logger& log);

  virtual ~Webhook() = default;

  // Reads certificates, tokens and pools again. Those of them that are wrong stay as they were, and the log says what
  // is wrong. Happens by itself where a file has changed.
  virtual void Reload() = 0;

  // Is not ready any more, but goes on taking reviews; each connection ends with its next answer.
  virtual void AnnounceEnd() = 0;

  // Takes no new connections, and returns when all reviews are answered. Is not ready, if it was until now.
  virtual void Drain() = 0;
};

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_WEBHOOK_H_
