#include "server/observability/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planwright::server {
namespace {

constexpr char kMessage[] = "audit";

// Names come from requests: no line is longer than a few of them.
constexpr std::size_t kMaxFieldBytes = 300;

std::string Cut(const std::string& text) { return text.substr(0, kMaxFieldBytes); }

}  // namespace

AuditLog::~AuditLog() {
  if (file_ >= 0) close(file_);
}

absl::Status AuditLog::Open(const std::string& path) {
  // What is no file, such as a pipe that nobody reads, could hold up every call.
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, S_IRUSR | S_IWUSR);
  if (file < 0) return absl::UnavailableError(absl::StrCat("cannot append to ", path, ": ", std::strerror(errno)));
  struct stat status {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    return absl::UnavailableError(absl::StrCat(path, " is not a regular file"));
  }
  const std::lock_guard lock(mutex_);
  const int before = std::exchange(file_, file);
  is_torn_ = false;
  if (before >= 0) close(before);
  return absl::OkStatus();
}

void AuditLog::Changed(const AuditEntry& entry) { Write(entry, /*left_out=*/0); }

void AuditLog::Refused(const AuditEntry& entry, Clock::time_point now) {
  int64_t left_out = 0;
  {
    const std::lock_guard lock(mutex_);
    ++counts_.refused;
    const double seconds = std::chrono::duration<double>(now - std::exchange(refused_at_, now)).count();
    refusals_left_ = std::min<double>(kMostRefusals, refusals_left_ + seconds * kRefusalsPerSecond);
    if (refusals_left_ < 1) {
      ++left_out_;
      return;
    }
    --refusals_left_;
    left_out = std::exchange(left_out_, 0);
  }
  Write(entry, left_out);
}

AuditLog::Counts AuditLog::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void AuditLog::Write(const AuditEntry& entry, int64_t left_out) {
  const std::initializer_list<LogField> fields = {{"audit", true},
                                                  {"action", entry.action},
                                                  {"resource", Cut(entry.resource)},
                                                  {"tenant", entry.tenant},
                                                  {"outcome", entry.outcome},
                                                  {"caller", entry.caller},
                                                  {"caller_tenant", entry.caller_tenant},
                                                  {"role", entry.role},
                                                  {"peer", entry.peer},
                                                  {"request_id", entry.request_id},
                                                  {"details", Cut(entry.details)},
                                                  {"left_out", left_out > 0 ? absl::StrCat(left_out) : ""}};
  {
    const std::lock_guard lock(mutex_);
    ++counts_.lines;
    if (file_ >= 0) {
      const auto now = std::chrono::system_clock::now();
      if (WriteToFile(FormatLogLine(LogFormat::kJson, now, Severity::kInfo, kMessage, fields))) return;
      ++counts_.failed;
    }
  }
  log_.Announce(kMessage, fields);
}

bool AuditLog::WriteToFile(const std::string& line) {
  // A disk that is full takes some of a line: the next one begins anew behind it.
  const std::string text = is_torn_ ? absl::StrCat("\n", line) : line;
  const ssize_t written = write(file_, text.data(), text.size());
  if (written > 0) is_torn_ = text[static_cast<std::size_t>(written) - 1] != '\n';
  return written == static_cast<ssize_t>(text.size());
}

}  // namespace planwright::server
