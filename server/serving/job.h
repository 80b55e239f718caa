// A piece of work that is to be done when its turn comes.
#ifndef PLANWRIGHT_SERVER_SERVING_JOB_H_
#define PLANWRIGHT_SERVER_SERVING_JOB_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "server/serving/caller.h"

namespace planwright::server {

// kInteractive: somebody waits for the answer. kBackground: one of many; has its turn after the others, but has it.
enum class Priority { kInteractive, kBackground };

struct Job {
  // When the caller stops waiting; nullopt: never.
  std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;
  // Requested by whoever learns that the caller has gone, and by Executor::StopAll.
  // NOLINTNEXTLINE(readability-redundant-member-init): g++ warns of designated initializers that leave it out.
  std::stop_source stop{};
  // OK: do the work. Else: only answer, with this status; must be quick then, and must not call the executor.
  std::function<void(const absl::Status& admission)> run;
  // What the job holds from Executor::Submit until `run` returns. >= 0.
  int64_t bytes = 0;
  // What it may take besides while it runs. >= 0.
  int64_t running_bytes = 0;
  // Whose share of the server it uses.
  std::string tenant = kDefaultTenant;
  Priority priority = Priority::kInteractive;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_JOB_H_
