// The trace that a call is part of, as the W3C recommendation "Trace Context" (2021, section 3.2) writes it.
#ifndef PLANWRIGHT_SERVER_SERVICE_TRACE_CONTEXT_H_
#define PLANWRIGHT_SERVER_SERVICE_TRACE_CONTEXT_H_

#include <optional>
#include <string>
#include <string_view>

namespace planwright::server {

// The trace-id of a traceparent, "00-<32 hexadecimal digits>-<16>-<2>"; nullopt: it is none, or one of zeros. What
// versions after 00 append may be any printable ASCII: gRPC takes other bytes in, but aborts where they are sent back.
std::optional<std::string> TraceIdOf(std::string_view traceparent);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_TRACE_CONTEXT_H_
