// Spans of calls on their way to an OpenTelemetry collector: OTLP 1.x over HTTP, as JSON.
#ifndef PLANWRIGHT_SERVER_OBSERVABILITY_SPAN_EXPORTER_H_
#define PLANWRIGHT_SERVER_OBSERVABILITY_SPAN_EXPORTER_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace planwright::server {

// One stretch of time of a trace.
struct Span {
  // 32 and 16 hexadecimal digits in lower case; an empty parent: the trace begins here.
  std::string trace_id;
  std::string span_id;
  std::string parent_id;
  std::string name;
  // Whether it is a whole call; else it is a part of one.
  bool is_server = false;
  std::chrono::system_clock::time_point start;
  std::chrono::system_clock::time_point end;
  // Empty: it went well.
  std::string error;
  std::vector<std::pair<std::string, std::string>> attributes;
};

// A random id of `digits` hexadecimal digits that is not zero.
std::string RandomHexId(int digits);

// The body of a request to /v1/traces (opentelemetry-proto, ExportTraceServiceRequest in the JSON mapping of OTLP: ids
// in hexadecimal, times as strings of nanoseconds).
std::string ToOtlpJson(std::span<const Span> spans, const std::string& version);

// OK: "http://HOST[:PORT]/PATH" or the same with https. INVALID_ARGUMENT: it is no such address.
absl::Status CheckOtlpEndpoint(const std::string& endpoint);

// A bounded queue of spans and a thread that sends them, some hundreds at a time. Whoever adds spans never waits; what
// finds no room, and what the collector does not take within Options::timeout, is dropped and counted. Thread-safe.
class SpanExporter {
 public:
  struct Options {
    // What CheckOtlpEndpoint takes.
    std::string endpoint;
    // The version of this program.
    std::string version;
    std::size_t max_waiting = 8192;
    std::chrono::milliseconds timeout{5000};
    // How long spans wait for others to go with.
    std::chrono::milliseconds interval{1000};
    // How long the destructor may go on with what is left.
    std::chrono::milliseconds last_words{1000};
  };
  struct Counts {
    int64_t exported = 0;
    int64_t dropped = 0;
  };

  explicit SpanExporter(Options options);

  void Add(std::vector<Span> spans);
  Counts counts() const;

 private:
  class Patience;

  void Work(const std::stop_token& stop);
  // Whether the collector took it.
  bool Send(const std::string& body, Patience& patience) const;

  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by mutex_.
  std::deque<Span> waiting_;
  Counts counts_;
  // Last: uses the above.
  std::jthread worker_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_OBSERVABILITY_SPAN_EXPORTER_H_
