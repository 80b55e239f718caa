// What Prometheus is told of the hook. No label value comes from a request.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_HOOK_METRICS_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_HOOK_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "client/webhook/review/judge.h"

namespace planwright::webhook {

// Thread-safe.
class HookMetrics {
 public:
  explicit HookMetrics(const std::string& version);

  // A review was judged, or admitted untouched.
  void Judged(Door door, const Judgement& judgement);
  // A review was admitted unjudged because planwrightd took too long, or too many were waiting.
  void AdmittedUnjudged(Door door, Reason reason);
  void Answered(int code, std::chrono::duration<double> took);
  // Files were read again; `ok`: they were right.
  void Reloaded(bool ok);
  // `updated`: when the pools were counted; the epoch: not known.
  void SetPools(int64_t count, absl::Time updated);
  void SetLoad(int connections, int64_t body_bytes, int waiting);
  void SetCertificateExpiry(const std::string& file, std::chrono::system_clock::time_point time);

  // The exposition format, version 0.0.4.
  std::string Text() const;

 private:
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& reviews_;
  prometheus::Family<prometheus::Counter>& warnings_;
  prometheus::Family<prometheus::Counter>& answers_;
  prometheus::Histogram& seconds_;
  prometheus::Family<prometheus::Counter>& reloads_;
  prometheus::Gauge& pools_;
  prometheus::Gauge& pools_updated_;
  prometheus::Gauge& connections_;
  prometheus::Gauge& body_bytes_;
  prometheus::Gauge& waiting_;
  prometheus::Family<prometheus::Gauge>& expiry_;
};

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_HOOK_METRICS_H_
