#include "server/main/tls/certificate_watch.h"

#include <string>
#include <utility>

#include "absl/time/time.h"

namespace planwright::server {
namespace {

constexpr std::chrono::hours kDay{24};

}  // namespace

CertificateWatch::CertificateWatch(std::chrono::nanoseconds warning, Metrics& metrics, const Logger& log)
    : warning_(warning), metrics_(metrics), log_(log), worker_([this](const std::stop_token& stop) { Work(stop); }) {}

void CertificateWatch::Watch(std::vector<Expiry> expiries) {
  const std::lock_guard lock(mutex_);
  expiries_ = std::move(expiries);
  for (const Expiry& expiry : expiries_) metrics_.SetCertificateExpiry(expiry.file, expiry.time);
  Warn();
}

void CertificateWatch::Work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  // Ends early only when the server does.
  while (!ended_.wait_for(lock, stop, kDay, [&] { return stop.stop_requested(); })) Warn();
}

void CertificateWatch::Warn() const {
  const auto now = std::chrono::system_clock::now();
  for (const Expiry& expiry : expiries_) {
    if (expiry.time - now > warning_) continue;
    const std::string time = absl::FormatTime(absl::FromChrono(expiry.time), absl::UTCTimeZone());
    const int64_t days = std::chrono::duration_cast<std::chrono::hours>(expiry.time - now) / kDay;
    log_.Warning(
        expiry.time < now ? "has expired: replace it and send SIGHUP" : "expires soon: replace it and send SIGHUP",
        {{"file", expiry.file}, {"what", expiry.what}, {"expires", time}, {"days", days}});
  }
}

}  // namespace planwright::server
