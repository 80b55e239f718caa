#include "client/cli/terminal/progress.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/report/quantities.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

// Quick searches show nothing.
constexpr auto kFirstShown = std::chrono::milliseconds(300);
constexpr auto kRefreshEvery = std::chrono::milliseconds(100);
constexpr auto kHeartbeatEvery = std::chrono::seconds(10);
constexpr char kEraseLine[] = "\r\x1b[K";

}  // namespace

ProgressDisplay::ProgressDisplay(ProgressStyle style, std::ostream& out, std::string title)
    : style_(style), title_(std::move(title)), out_(out) {
  refresher_ = std::jthread(
      [this](const std::stop_token& stop) { style_ == ProgressStyle::kLiveLine ? Refresh(stop) : Beat(stop); });
}

ProgressDisplay::~ProgressDisplay() {
  if (refresher_.joinable()) {
    refresher_.request_stop();
    refresher_.join();
  }
  if (is_shown_) out_ << kEraseLine << std::flush;
}

Flag ProgressFlag(bool& was_asked_for) {
  return SwitchFlag("progress", "report progress on standard error (a live line where that is a terminal)",
                    was_asked_for);
}

std::unique_ptr<ProgressDisplay> MakeProgressDisplay(bool is_terminal, bool was_asked_for, std::ostream& out,
                                                     std::string title) {
  if (!is_terminal && !was_asked_for) return nullptr;
  const ProgressStyle style = is_terminal ? ProgressStyle::kLiveLine : ProgressStyle::kLog;
  return std::make_unique<ProgressDisplay>(style, out, std::move(title));
}

void ProgressDisplay::OnPhase(std::string_view phase) {
  const std::lock_guard lock(mutex_);
  phase_ = phase;
  ShowEvent();
}

void ProgressDisplay::OnIncumbent(double objective_ms) {
  const std::lock_guard lock(mutex_);
  objective_ms_ = objective_ms;
  ShowEvent();
}

void ProgressDisplay::OnBound(double lower_bound_ms) {
  const std::lock_guard lock(mutex_);
  lower_bound_ms_ = lower_bound_ms;
  ShowEvent();
}

std::string ProgressDisplay::Line() const {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  std::string line =
      absl::StrFormat("%6.1f s  %s%s%-16s", elapsed.count(), title_, title_.empty() ? "" : ": ", Printable(phase_));
  if (objective_ms_.has_value()) absl::StrAppend(&line, "  incumbent ", DurationText(*objective_ms_));
  if (lower_bound_ms_.has_value()) absl::StrAppend(&line, "  bound ", DurationText(*lower_bound_ms_));
  if (objective_ms_.has_value() && lower_bound_ms_.has_value() && *objective_ms_ > 0) {
    absl::StrAppendFormat(&line, "  gap %.2f %%", (*objective_ms_ - *lower_bound_ms_) / *objective_ms_ * 100);
  }
  return line;
}

void ProgressDisplay::ShowEvent() {
  if (style_ != ProgressStyle::kLog) return;
  out_ << Line() << '\n' << std::flush;
  last_line_ = std::chrono::steady_clock::now();
}

void ProgressDisplay::Beat(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_until(lock, stop, last_line_ + kHeartbeatEvery, [&stop] { return stop.stop_requested(); })) {
    if (std::chrono::steady_clock::now() >= last_line_ + kHeartbeatEvery) ShowEvent();
  }
}

void ProgressDisplay::Refresh(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  auto pause = kFirstShown;
  while (!wake_.wait_for(lock, stop, pause, [&stop] { return stop.stop_requested(); })) {
    out_ << kEraseLine << FirstCharacters(Line(), most_columns_) << std::flush;
    is_shown_ = true;
    pause = kRefreshEvery;
  }
}

}  // namespace planwright::client
