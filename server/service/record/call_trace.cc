#include "server/service/record/call_trace.h"

#include <cstddef>

namespace planwright::server {
namespace {

constexpr int kTraceDigits = 32;
constexpr int kSpanDigits = 16;

}  // namespace

CallTrace::CallTrace(const std::optional<TraceContext>& context, SpanExporter& exporter)
    : exporter_(exporter),
      trace_id_(context.has_value() ? context->trace_id : RandomHexId(kTraceDigits)),
      parent_id_(context.has_value() ? context->parent_id : "") {}

void CallTrace::Mark(Moment moment) {
  Clock::rep not_yet = 0;
  moments_[static_cast<std::size_t>(moment)].compare_exchange_strong(not_yet, Clock::now().time_since_epoch().count());
}

std::optional<CallTrace::Clock::time_point> CallTrace::At(Moment moment) const {
  const Clock::rep count = moments_[static_cast<std::size_t>(moment)].load();
  return count == 0 ? std::nullopt : std::optional(Clock::time_point(Clock::duration(count)));
}

void CallTrace::End(std::string name, std::string error, std::vector<std::pair<std::string, std::string>> attributes) {
  const Clock::time_point end = Clock::now();
  std::vector<Span> spans;
  const std::string span_id = RandomHexId(kSpanDigits);
  spans.push_back({.trace_id = trace_id_,
                   .span_id = span_id,
                   .parent_id = parent_id_,
                   .name = std::move(name),
                   .is_server = true,
                   .start = start_,
                   .end = end,
                   .error = std::move(error),
                   .attributes = std::move(attributes)});
  const auto add_part = [&](const char* part, std::optional<Clock::time_point> from,
                            std::optional<Clock::time_point> to) {
    if (!from.has_value()) return;
    spans.push_back({.trace_id = trace_id_,
                     .span_id = RandomHexId(kSpanDigits),
                     .parent_id = span_id,
                     .name = part,
                     .is_server = false,
                     .start = *from,
                     .end = to.value_or(end),
                     .error = "",
                     .attributes = {}});
  };
  const auto search = At(Moment::kSearchBegin);
  // Another thread may begin the search before the one that read the request has noted that it is done.
  auto read_end = At(Moment::kReadEnd);
  if (search.has_value() && read_end.value_or(*search) >= *search) read_end = search;
  add_part("read", At(Moment::kReadBegin), read_end);
  if (search.has_value()) add_part("wait", read_end, search);
  add_part("search", search, At(Moment::kSearchEnd));
  exporter_.Add(std::move(spans));
}

}  // namespace planwright::server
