// Whether the server serves, found out by itself.
#ifndef PLANWRIGHT_SERVER_MAIN_LIVENESS_H_
#define PLANWRIGHT_SERVER_MAIN_LIVENESS_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "server/observability/log.h"

namespace planwright::server {

// A thread that every second looks at each part of what serves calls. A part that has not been well for as long as it
// may be makes the server as good as dead: it cannot help itself, and a new start can. Thread-safe.
class Liveness {
 public:
  struct Part {
    // OK, or what is wrong now. Called on the thread; may take as long as it likes: that counts.
    std::function<absl::Status()> check;
    // How long something may be wrong with it before it is not just busy.
    std::chrono::nanoseconds patience{0};
  };
  // By name ("listener").
  using Parts = std::map<std::string, Part>;

  // `log` and what the checks use outlive it. Everything is well at first.
  Liveness(Parts parts, const Logger& log);

  // Looks no more; what is well then stays so. Waits for the check that is under way.
  void Stop();

  // OK, or what has been wrong for too long. From memory.
  absl::Status status() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct State {
    Clock::time_point last_well;
    std::string what;
  };

  void Work(const std::stop_token& stop);
  void Note(const std::string& part, const absl::Status& now);

  const Parts parts_;
  const Logger& log_;
  mutable std::mutex mutex_;
  std::condition_variable_any ended_;
  // Guarded by mutex_.
  std::map<std::string, State> states_;
  bool is_stopped_ = false;
  // Last: uses the above.
  std::jthread worker_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_LIVENESS_H_
