// A piece of work that is to be done when its turn comes.
#ifndef PLANWRIGHT_SERVER_SERVING_ADMISSION_QUEUED_JOB_H_
#define PLANWRIGHT_SERVER_SERVING_ADMISSION_QUEUED_JOB_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace planwright::server {

// kInteractive: somebody waits for the answer. kBackground: one of many; has its turn after the others, but has it.
enum class Priority { kInteractive, kBackground };

// The name of a tenant. There is none by default: a job that was queued for nobody in particular would have its turn in
// one line with the jobs of all tenants.
class TenantName {
 public:
  TenantName(std::string name) : name_(std::move(name)) {}  // NOLINT(google-explicit-constructor)
  TenantName(const char* name) : name_(name) {}             // NOLINT(google-explicit-constructor)

  operator const std::string&() const { return name_; }  // NOLINT(google-explicit-constructor)
  bool operator==(const TenantName&) const = default;

 private:
  std::string name_;
};

struct QueuedJob {
  // When the caller stops waiting; nullopt: never.
  std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;
  // Requested by whoever learns that the caller has gone, and by Executor::StopAll. A job that waits is answered then.
  // NOLINTNEXTLINE(readability-redundant-member-init): g++ warns of designated initializers that leave it out.
  std::stop_source stop{};
  // OK: do the work. Else: only answer, with this status; must be quick then, and must not call the executor.
  std::function<void(const absl::Status& admission)> run;
  // What the job holds from Executor::Submit until `run` returns. >= 0.
  int64_t bytes = 0;
  // What it may take besides while it runs. >= 0.
  int64_t running_bytes = 0;
  // The tenant whose share of the server it uses.
  TenantName tenant;
  Priority priority = Priority::kInteractive;

  // The executor's, which sets them: the job's number, what tells it that `stop` was requested, and whether the job
  // keeps its place whatever others bring.
  uint64_t number = 0;
  std::shared_ptr<void> watch = nullptr;
  bool has_place = false;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_ADMISSION_QUEUED_JOB_H_
