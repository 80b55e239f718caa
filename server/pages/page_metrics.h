// What Prometheus is told of pages. No label value comes from a request.
#ifndef PLANWRIGHT_SERVER_PAGES_PAGE_METRICS_H_
#define PLANWRIGHT_SERVER_PAGES_PAGE_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <string>

namespace planwright::server {

// Thread-safe.
class PageMetrics {
 public:
  PageMetrics();

  // A request was answered with `code` of HTTP.
  void Answered(int code, std::chrono::nanoseconds elapsed);
  void SetLoad(int running, int waiting);

  // Returns text as Metrics::Text does, to be put behind it.
  std::string Text() const;

 private:
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& answers_;
  prometheus::Histogram& seconds_;
  prometheus::Gauge& running_;
  prometheus::Gauge& waiting_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_PAGES_PAGE_METRICS_H_
