// Progress of a search on standard error.
#ifndef PLANWRIGHT_CLIENT_CLI_PROGRESS_H_
#define PLANWRIGHT_CLIENT_CLI_PROGRESS_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>

#include "client/library/planning_client.h"

namespace planwright::client {

enum class ProgressStyle {
  // One line that is rewritten, from a moment after the start; gone at the end.
  kLiveLine,
  // A line for each event, and one when nothing has happened for a while.
  kLog,
};

// Shows progress while it lives. Thread-safe. Nobody else may write to `out` meanwhile.
class ProgressDisplay final : public ProgressListener {
 public:
  ProgressDisplay(ProgressStyle style, std::ostream& out);
  // Erases the live line.
  ~ProgressDisplay() override;

  void OnPhase(std::string_view phase) override;
  void OnIncumbent(double objective_ms) override;
  void OnBound(double lower_bound_ms) override;

 private:
  // What is known, as one line. REQUIRES: mutex_ is held.
  std::string Line() const;
  // After an event. REQUIRES: mutex_ is held.
  void ShowEvent();
  void Refresh(const std::stop_token& stop);
  void Beat(const std::stop_token& stop);

  const ProgressStyle style_;
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

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_PROGRESS_H_
