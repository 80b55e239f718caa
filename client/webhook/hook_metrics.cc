#include "client/webhook/hook_metrics.h"

#include <prometheus/text_serializer.h>

namespace planwright::webhook {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Registry;

Family<Counter>& MakeCounter(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

Gauge& MakeGauge(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

// From an answer without a question to planwrightd to the longest that an API server waits.
prometheus::Histogram::BucketBoundaries Buckets() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
}

std::string DoorName(Door door) { return door == Door::kMutate ? "mutate" : "validate"; }

}  // namespace

HookMetrics::HookMetrics(const std::string& version)
    : reviews_(MakeCounter(registry_, "planwright_webhook_reviews_total", "Reviews, by door and by what came out.")),
      warnings_(MakeCounter(registry_, "planwright_webhook_warnings_total", "Warnings of reviews, by reason.")),
      answers_(MakeCounter(registry_, "planwright_webhook_http_answers_total", "Answers, by HTTP code.")),
      seconds_(prometheus::BuildHistogram()
                   .Name("planwright_webhook_request_seconds")
                   .Help("Time from the first byte of a request to its answer.")
                   .Register(registry_)
                   .Add({}, Buckets())),
      reloads_(MakeCounter(registry_, "planwright_webhook_reloads_total", "Files that were read again, by result.")),
      pools_(MakeGauge(registry_, "planwright_webhook_pools", "Pools that are known.")),
      pools_updated_(MakeGauge(registry_, "planwright_webhook_pools_updated_timestamp_seconds",
                               "When the inventory counted the pools; 0: not known.")),
      connections_(MakeGauge(registry_, "planwright_webhook_connections", "Connections that are open.")),
      body_bytes_(MakeGauge(registry_, "planwright_webhook_body_bytes", "Bytes of bodies that are held.")),
      waiting_(MakeGauge(registry_, "planwright_webhook_waiting_reviews", "Reviews that planwrightd is asked about.")),
      expiry_(prometheus::BuildGauge()
                  .Name("planwright_webhook_certificate_expiry_timestamp_seconds")
                  .Help("When the first certificate of a file expires.")
                  .Register(registry_)) {
  prometheus::BuildGauge()
      .Name("planwright_webhook_build_info")
      .Help("1, with the version.")
      .Register(registry_)
      .Add({{"version", version}})
      .Set(1);
}

void HookMetrics::Judged(Door door, const Judgement& judgement) {
  reviews_.Add({{"door", DoorName(door)}, {"outcome", std::string(OutcomeName(judgement.outcome))}}).Increment();
  for (const Warning& warning : judgement.warnings) {
    warnings_.Add({{"reason", std::string(ReasonName(warning.reason))}}).Increment();
  }
}

void HookMetrics::AdmittedUnjudged(Door door, Reason reason) {
  reviews_.Add({{"door", DoorName(door)}, {"outcome", std::string(OutcomeName(Outcome::kWarned))}}).Increment();
  warnings_.Add({{"reason", std::string(ReasonName(reason))}}).Increment();
}

void HookMetrics::Answered(int code, std::chrono::duration<double> took) {
  answers_.Add({{"code", std::to_string(code)}}).Increment();
  seconds_.Observe(took.count());
}

void HookMetrics::Reloaded(bool ok) { reloads_.Add({{"result", ok ? "ok" : "refused"}}).Increment(); }

void HookMetrics::SetPools(int64_t count, absl::Time updated) {
  pools_.Set(static_cast<double>(count));
  pools_updated_.Set(static_cast<double>(absl::ToUnixSeconds(updated)));
}

void HookMetrics::SetLoad(int connections, int64_t body_bytes, int waiting) {
  connections_.Set(connections);
  body_bytes_.Set(static_cast<double>(body_bytes));
  waiting_.Set(waiting);
}

void HookMetrics::SetCertificateExpiry(const std::string& file, std::chrono::system_clock::time_point time) {
  expiry_.Add({{"file", file}}).Set(std::chrono::duration<double>(time.time_since_epoch()).count());
}

std::string HookMetrics::Text() const { return prometheus::TextSerializer().Serialize(registry_.Collect()); }

}  // namespace planwright::webhook
