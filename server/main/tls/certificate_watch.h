// Warns before certificates expire.
#ifndef PLANWRIGHT_SERVER_MAIN_TLS_CERTIFICATE_WATCH_H_
#define PLANWRIGHT_SERVER_MAIN_TLS_CERTIFICATE_WATCH_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "server/main/tls/tls_identity.h"
#include "server/observability/log.h"
#include "server/observability/metrics.h"

namespace planwright::server {

// Tells the metrics when what is in the files expires, and logs what does so soon: at once where it is told of files,
// and once a day. Thread-safe.
class CertificateWatch {
 public:
  // What expires within `warning` is soon. `metrics` and `log` outlive the object.
  CertificateWatch(std::chrono::nanoseconds warning, Metrics& metrics, const Logger& log);

  // From now on `expiries` counts, nothing else.
  void Watch(std::vector<Expiry> expiries);

 private:
  void Work(const std::stop_token& stop);
  // REQUIRES: mutex_ is held.
  void Warn() const;

  const std::chrono::nanoseconds warning_;
  Metrics& metrics_;
  const Logger& log_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  // Guarded by mutex_.
  std::vector<Expiry> expiries_;
  // Last: uses the above.
  std::jthread worker_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_TLS_CERTIFICATE_WATCH_H_
