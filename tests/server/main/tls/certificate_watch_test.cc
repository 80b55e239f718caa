#include "server/main/tls/certificate_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace planwright::server {
namespace {

using std::chrono::hours;
using testing::HasSubstr;
using testing::Not;

TEST(CertificateWatchTest, WarnsOfWhatExpiresSoonAndTellsTheMetricsOfEverything) {
  std::string written;
  const Logger log(LogFormat::kText, [&written](const std::string& line) { written += line; });
  Metrics metrics("1");
  CertificateWatch watch(hours(48), metrics, log);
  const auto now = std::chrono::system_clock::now();
  watch.Watch({{"later.pem", "certificate CN=later", now + hours(72)},
               {"soon.pem", "certificate CN=soon", now + hours(24)},
               {"gone.pem", "revocation list", now - hours(1)}});
  EXPECT_THAT(written, Not(HasSubstr("later.pem")));
  EXPECT_THAT(written, HasSubstr("WARNING expires soon: replace it and send SIGHUP file=soon.pem"));
  EXPECT_THAT(written, HasSubstr("WARNING has expired: replace it and send SIGHUP file=gone.pem"));
  for (const char* file : {"later.pem", "soon.pem", "gone.pem"}) {
    EXPECT_THAT(metrics.Text(),
                HasSubstr("planwright_certificate_expiry_timestamp_seconds{file=\"" + std::string(file) + "\"} 1"));
  }
}

}  // namespace
}  // namespace planwright::server
