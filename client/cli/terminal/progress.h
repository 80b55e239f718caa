// Progress of a search on standard error.
#ifndef PLANWRIGHT_CLIENT_CLI_TERMINAL_PROGRESS_H_
#define PLANWRIGHT_CLIENT_CLI_TERMINAL_PROGRESS_H_

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>

#include "client/cli/terminal/flags.h"
#include "client/library/planning_client.h"
#include "client/report/line_length.h"

namespace planwright::client {

enum class ProgressStyle {
  // One line that is rewritten, from a moment after the start, cut where notes end (line_length.h); gone at the end.
  kLiveLine,
  // A line for each event, and one when nothing has happened for a while.
  kLog,
};

// Shows progress while it lives. Thread-safe. Nobody else may write to `out` meanwhile.
class ProgressDisplay final : public ProgressListener {
 public:
  // `title` stands before the phases; may be empty.
  ProgressDisplay(ProgressStyle style, std::ostream& out, std::string title = "");
  // Erases the live line.
  ~ProgressDisplay() override;

  void OnPhase(std::string_view phase) override;
  void OnIncumbent(double objective_ms) override;
  void OnBound(double lower_bound_ms) override;

 private:
  // What is known, as one line. REQUIRES: mutex_ is held.
  std::string Line() const;
  // To be called after an event. REQUIRES: mutex_ is held.
  void ShowEvent();
  void Refresh(const std::stop_token& stop);
  void Beat(const std::stop_token& stop);

  const ProgressStyle style_;
  const std::string title_;
  // A terminal begins a new line behind its last column.
  const std::size_t most_columns_ = CurrentLineLengths().note - 1;
  std::ostream& out_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::string phase_ = "starting";
  std::optional<double> objective_ms_;
  std::optional<double> lower_bound_ms_;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point last_line_ = start_;

  // Last: it uses all of the above.
  std::jthread refresher_;
};

// --progress.
Flag ProgressFlag(bool& was_asked_for);

// A display on `out` where it is a terminal, or where it `was_asked_for`; else nullptr.
std::unique_ptr<ProgressDisplay> MakeProgressDisplay(bool is_terminal, bool was_asked_for, std::ostream& out,
                                                     std::string title = "");

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_TERMINAL_PROGRESS_H_
