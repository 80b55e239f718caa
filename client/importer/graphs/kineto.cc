#include "client/importer/graphs/kineto.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/importer/reading/json_stream.h"

namespace planwright::client {
namespace {

constexpr std::string_view kStep = "ProfilerStep#";
constexpr int32_t kNone = -1;
constexpr double kMicrosecondsPerMillisecond = 1000;

using Span = KinetoEvents::Span;
using Op = KinetoEvents::Op;

// The steps of a trace, and when those begin that count.
struct Steps {
  int count = 0;
  double begin_us = -std::numeric_limits<double>::infinity();
};

Steps StepsOf(const KinetoEvents& events) {
  Steps steps;
  const Span* first = nullptr;
  for (const Span& span : events.spans) {
    if (!std::string_view(events.names[static_cast<std::size_t>(span.name)]).starts_with(kStep)) continue;
    ++steps.count;
    if (first == nullptr || span.begin_us < first->begin_us) first = &span;
  }
  // A single one is all that there is.
  if (steps.count > 1) steps.begin_us = first->end_us;
  return steps;
}

// What a stretch has taken, those inside of it included.
struct Taken {
  int32_t parent = kNone;
  double forward_us = 0;
  double backward_us = 0;
  // Inside of another one of its name, which has it already.
  bool is_repeated = false;
  // Begins before the steps that count.
  bool is_left_out = false;
};

// Goes through the events of all threads in the order of their times, with a stack of what is open.
class Sweep {
 public:
  Sweep(const KinetoEvents& events, double begin_us)
      : events_(events), begin_us_(begin_us), taken_(events.spans.size()), open_(events.names.size()) {
    for (const KinetoEvents::Kernel& kernel : events.kernels) kernel_us_[kernel.correlation] += kernel.duration_us;
  }

  std::vector<Taken> Run() && {
    for (const auto& [thread, time, kind, minus_end, index] : Sorted()) {
      if (thread != thread_) CloseUntil(std::numeric_limits<double>::infinity());
      thread_ = thread;
      CloseUntil(time);
      if (kind == kSpan) Enter(index);
      if (kind == kOp) EnterOp(index);
      if (kind == kLaunch) Launched(events_.launches[static_cast<std::size_t>(index)].correlation);
    }
    Settle();
    return std::move(taken_);
  }

 private:
  // In the order in which those of one time are taken.
  enum Kind { kSpan, kOp, kLaunch };
  // Thread, begin, kind, minus the end (of two that begin together the longer one is around the other), position.
  using Entry = std::tuple<int32_t, double, int, double, int32_t>;

  struct Open {
    double end_us = 0;
    // One of both: the stretch, or the number of an operator of the backward pass.
    int32_t span = kNone;
    int64_t sequence = -1;
  };

  std::vector<Entry> Sorted() const {
    std::vector<Entry> entries;
    entries.reserve(events_.spans.size() + events_.ops.size() + events_.launches.size());
    for (std::size_t i = 0; i < events_.spans.size(); ++i) {
      const Span& span = events_.spans[i];
      entries.emplace_back(span.thread, span.begin_us, kSpan, -span.end_us, static_cast<int32_t>(i));
    }
    for (std::size_t i = 0; i < events_.ops.size(); ++i) {
      const Op& op = events_.ops[i];
      entries.emplace_back(op.thread, op.begin_us, kOp, -op.end_us, static_cast<int32_t>(i));
    }
    for (std::size_t i = 0; i < events_.launches.size(); ++i) {
      const KinetoEvents::Launch& launch = events_.launches[i];
      entries.emplace_back(launch.thread, launch.time_us, kLaunch, 0, static_cast<int32_t>(i));
    }
    std::sort(entries.begin(), entries.end());
    return entries;
  }

  void CloseUntil(double time) {
    while (!stack_.empty() && stack_.back().end_us < time) {
      if (stack_.back().span != kNone) --open_[NameOf(stack_.back().span)];
      stack_.pop_back();
    }
  }

  std::size_t NameOf(int32_t span) const {
    return static_cast<std::size_t>(events_.spans[static_cast<std::size_t>(span)].name);
  }

  void Enter(int32_t index) {
    const Span& span = events_.spans[static_cast<std::size_t>(index)];
    Taken& taken = taken_[static_cast<std::size_t>(index)];
    taken.is_left_out = span.begin_us < begin_us_;
    taken.is_repeated = open_[NameOf(index)]++ > 0;
    if (!stack_.empty()) taken.parent = stack_.back().span;
    order_.push_back(index);
    stack_.push_back({.end_us = span.end_us, .span = index});
  }

  void EnterOp(int32_t index) {
    const Op& op = events_.ops[static_cast<std::size_t>(index)];
    if (!op.is_backward) {
      // Operators without a backward pass carry the number of the next one that has it.
      span_of_[op.sequence] = stack_.empty() ? kNone : stack_.back().span;
      return;
    }
    const bool is_inside = !stack_.empty() && stack_.back().sequence >= 0;
    if (events_.kernels.empty() && !is_inside) backward_us_[op.sequence] += op.end_us - op.begin_us;
    stack_.push_back({.end_us = op.end_us, .sequence = op.sequence});
  }

  void Launched(int64_t correlation) {
    const auto kernel = kernel_us_.find(correlation);
    if (kernel == kernel_us_.end() || stack_.empty()) return;
    const Open& inside = stack_.back();
    if (inside.span != kNone) {
      taken_[static_cast<std::size_t>(inside.span)].forward_us += kernel->second;
    } else {
      backward_us_[inside.sequence] += kernel->second;
    }
    // The first of several launches with one number has it.
    kernel_us_.erase(kernel);
  }

  // Gives backward times to the stretches of their forward operators, and each stretch what those inside of it took.
  void Settle() {
    for (const auto& [sequence, time] : backward_us_) {
      const auto span = span_of_.find(sequence);
      if (span != span_of_.end() && span->second != kNone)
        taken_[static_cast<std::size_t>(span->second)].backward_us += time;
    }
    // Stretches around others were entered before them.
    for (auto index = order_.rbegin(); index != order_.rend(); ++index) {
      Taken& taken = taken_[static_cast<std::size_t>(*index)];
      const Span& span = events_.spans[static_cast<std::size_t>(*index)];
      if (events_.kernels.empty()) taken.forward_us = span.end_us - span.begin_us;
      if (taken.parent == kNone) continue;
      Taken& parent = taken_[static_cast<std::size_t>(taken.parent)];
      if (!events_.kernels.empty()) parent.forward_us += taken.forward_us;
      parent.backward_us += taken.backward_us;
    }
  }

  const KinetoEvents& events_;
  const double begin_us_;
  std::vector<Taken> taken_;
  // How many of each name are open.
  std::vector<int> open_;
  int32_t thread_ = kNone;
  std::vector<Open> stack_;
  std::vector<int32_t> order_;
  std::unordered_map<int64_t, double> kernel_us_;
  // By sequence number: the stretch of the forward operator, and what the backward one took.
  std::unordered_map<int64_t, int32_t> span_of_;
  std::unordered_map<int64_t, double> backward_us_;
};

// Sums of a name.
struct Sums {
  double forward_us = 0;
  double backward_us = 0;
  int64_t forwards = 0;
  // Stretches with a backward pass: what is computed again has two forward passes for one of them.
  int64_t backwards = 0;
};

double MeanMs(double sum_us, int64_t count) {
  return count == 0 ? 0 : sum_us / static_cast<double>(count) / kMicrosecondsPerMillisecond;
}

std::vector<ProfileRow> RowsOf(const KinetoEvents& events, const std::vector<Taken>& taken) {
  std::vector<Sums> sums(events.names.size());
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (taken[i].is_left_out || taken[i].is_repeated) continue;
    Sums& sum = sums[static_cast<std::size_t>(events.spans[i].name)];
    sum.forward_us += taken[i].forward_us;
    sum.backward_us += taken[i].backward_us;
    ++sum.forwards;
    sum.backwards += taken[i].backward_us > 0 ? 1 : 0;
  }
  std::vector<ProfileRow> rows;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const bool is_name = !events.names[i].empty() && !std::string_view(events.names[i]).starts_with(kStep);
    if (!is_name || sums[i].forwards == 0) continue;
    rows.push_back({.name = events.names[i],
                    .forward_ms = MeanMs(sums[i].forward_us, sums[i].forwards),
                    .backward_ms = MeanMs(sums[i].backward_us, sums[i].backwards)});
  }
  return rows;
}

std::string AssumptionText(const KinetoEvents& events, const Steps& steps, std::size_t names) {
  const std::string kind = events.kernels.empty() ? "the stretches themselves, since there are no kernels" : "kernels";
  const std::string text =
      absl::StrCat("times of ", names, names == 1 ? " name" : " names", " are means of ", kind, " over ");
  if (steps.count > 1) return absl::StrCat(text, steps.count - 1, " of ", steps.count, " steps, the first left out");
  return absl::StrCat(text, "the whole trace, since it has ",
                      steps.count == 1 ? "one step" : "no steps (ProfilerStep#)");
}

}  // namespace

bool MayBeTrace(std::string_view bytes) {
  const std::size_t begin = bytes.find_first_not_of(" \t\r\n");
  return IsGzip(bytes) || (begin != std::string_view::npos && (bytes[begin] == '{' || bytes[begin] == '['));
}

absl::StatusOr<KinetoTimes> TimesOf(const KinetoEvents& events, std::string_view source) {
  const Steps steps = StepsOf(events);
  KinetoTimes times;
  times.rows = RowsOf(events, Sweep(events, steps.begin_us).Run());
  if (times.rows.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        std::string(source),
        ": names no layer: put `with torch.profiler.record_function(NAME):` around each, with the names of "
        "the graph's operators"));
  }
  times.assumption = AssumptionText(events, steps, times.rows.size());
  return times;
}

absl::StatusOr<KinetoTimes> ReadKineto(std::string_view bytes, std::string_view source) {
  const auto events = ReadKinetoEvents(bytes, source);
  if (!events.ok()) return events.status();
  return TimesOf(*events, source);
}

}  // namespace planwright::client
