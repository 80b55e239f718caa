// Who changed what, for those who have to answer for it.
#ifndef PLANWRIGHT_SERVER_OBSERVABILITY_AUDIT_LOG_H_
#define PLANWRIGHT_SERVER_OBSERVABILITY_AUDIT_LOG_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "server/observability/log.h"

namespace planwright::server {

// One attempt to change something.
struct AuditEntry {
  // The method of the contract, or what was done without one: "reload".
  std::string action;
  // "plans/bert-4", "tenants/team-a"; empty: it is not known.
  std::string resource;
  // The tenant whose resource that is.
  std::string tenant;
  // "OK", "NotFound", as gRPC spells codes.
  std::string outcome;
  // Who: the name of a token or certificate (empty: nobody was asked), and the tenant and role that go with it.
  std::string caller;
  std::string caller_tenant;
  std::string role;
  std::string peer;
  std::string request_id;
  // What else there is to say, e.g. the limits that were set.
  std::string details;
};

// Writes a line "audit" for each entry, with the field audit=true: into a file of its own, JSON, appended; or, where
// there is none, into the log. Thread-safe. A line that the file does not take goes to the log, and is counted.
class AuditLog {
 public:
  using Clock = std::chrono::steady_clock;

  // Lines about calls that were refused: so many at once, and so many a second. The next one says how many were left
  // out.
  static constexpr int kMostRefusals = 20;
  static constexpr int kRefusalsPerSecond = 5;

  struct Counts {
    int64_t lines = 0;
    // Refused calls, those without a line among them.
    int64_t refused = 0;
    // Lines that the file did not take.
    int64_t failed = 0;
  };

  // Into `log`, which outlives the object, until Open.
  explicit AuditLog(const Logger& log) : log_(log) {}
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // Appends to the file `path`, which is made where there is none, for its owner only. Said again, goes on with the
  // file that has the name then: logrotate may have moved the one before. UNAVAILABLE: it cannot be opened, or is no
  // file; the one before goes on.
  absl::Status Open(const std::string& path);

  // Something was changed, or was to be.
  void Changed(const AuditEntry& entry);
  // A call was refused because of who called.
  void Refused(const AuditEntry& entry, Clock::time_point now = Clock::now());

  Counts counts() const;

 private:
  void Write(const AuditEntry& entry, int64_t left_out);
  // REQUIRES: mutex_ is held.
  bool WriteToFile(const std::string& line);

  const Logger& log_;
  mutable std::mutex mutex_;
  // Guarded by mutex_. -1: there is no file.
  int file_ = -1;
  // Its last line was not written whole.
  bool is_torn_ = false;
  Counts counts_;
  double refusals_left_ = kMostRefusals;
  Clock::time_point refused_at_;
  int64_t left_out_ = 0;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_OBSERVABILITY_AUDIT_LOG_H_
