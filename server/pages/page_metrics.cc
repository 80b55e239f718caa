#include "server/pages/page_metrics.h"

#include <prometheus/text_serializer.h>

namespace planwright::server {

PageMetrics::PageMetrics()
    : answers_(prometheus::BuildCounter()
                   .Name("planwright_pages_total")
                   .Help("Requests for pages that were answered, by code of HTTP.")
                   .Register(registry_)),
      seconds_(prometheus::BuildHistogram()
                   .Name("planwright_page_seconds")
                   .Help("Time from a request for a page to its answer.")
                   .Register(registry_)
                   .Add({}, prometheus::Histogram::BucketBoundaries{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30})),
      running_(prometheus::BuildGauge()
                   .Name("planwright_running_pages")
                   .Help("Pages that are being made.")
                   .Register(registry_)
                   .Add({})),
      waiting_(prometheus::BuildGauge()
                   .Name("planwright_waiting_pages")
                   .Help("Pages that wait for their turn.")
                   .Register(registry_)
                   .Add({})) {}

void PageMetrics::Answered(int code, std::chrono::nanoseconds elapsed) {
  answers_.Add({{"code", std::to_string(code)}}).Increment();
  seconds_.Observe(std::chrono::duration<double>(elapsed).count());
}

void PageMetrics::SetLoad(int running, int waiting) {
  running_.Set(running);
  waiting_.Set(waiting);
}

std::string PageMetrics::Text() const { return prometheus::TextSerializer().Serialize(registry_.Collect()); }

}  // namespace planwright::server
