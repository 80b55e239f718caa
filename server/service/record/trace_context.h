// The trace that a call is part of, as the W3C recommendation "Trace Context" (2021, section 3.2) writes it.
#ifndef PLANWRIGHT_SERVER_SERVICE_RECORD_TRACE_CONTEXT_H_
#define PLANWRIGHT_SERVER_SERVICE_RECORD_TRACE_CONTEXT_H_

#include <optional>
#include <string>
#include <string_view>

namespace planwright::server {

struct TraceContext {
  // 32 and 16 hexadecimal digits in lower case.
  std::string trace_id;
  std::string parent_id;
  // Whether whoever began the trace keeps it.
  bool is_sampled = false;
};

// The context in a traceparent, "00-<32 hexadecimal digits>-<16>-<2>"; nullopt: it is none, or one of zeros. What
// versions after 00 append may be any printable ASCII: gRPC takes other bytes in, but aborts where they are sent back.
std::optional<TraceContext> TraceContextOf(std::string_view traceparent);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_RECORD_TRACE_CONTEXT_H_
