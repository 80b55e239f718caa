// Structured log lines: one event, its fields, one line.
//
//   text  2026-11-21T11:48:01.123Z INFO search ended request_id=7f3a-1 wall_ms=12.5
//   json  {"time":"2026-11-21T11:48:01.123Z","severity":"INFO","message":"search ended","request_id":"7f3a-1",...}
#ifndef PLANWRIGHT_SERVER_OBSERVABILITY_LOG_H_
#define PLANWRIGHT_SERVER_OBSERVABILITY_LOG_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace planwright::server {

enum class LogFormat { kText, kJson };
// In the order of their weight.
enum class Severity { kDebug, kInfo, kWarning, kError };

// "debug", "info", "warning", "error".
std::string_view LevelName(Severity level);

struct LogField {
  // snake_case.
  std::string_view name;
  std::variant<std::string, int64_t, double, bool> value;
};

// Thread-safe: a line is handed to the sink in one call.
class Logger {
 public:
  using Sink = std::function<void(const std::string& line)>;

  // How many lines the sink has dropped so far.
  using Dropped = std::function<int64_t()>;

  // `sink` gets whole lines, newline included, from any thread, also several at once, and must not wait.
  Logger(
      LogFormat format, Sink sink, Severity level = Severity::kInfo, Dropped dropped = [] { return int64_t{0}; })
      : format_(format), sink_(std::move(sink)), dropped_(std::move(dropped)), level_(level) {}

  // Lines of less weight are not written.
  Severity level() const { return level_; }
  void SetLevel(Severity level) { level_ = level; }

  int64_t dropped() const { return dropped_(); }

  void Debug(std::string_view message, std::initializer_list<LogField> fields = {}) const {
    Write(Severity::kDebug, message, fields);
  }
  void Info(std::string_view message, std::initializer_list<LogField> fields = {}) const {
    Write(Severity::kInfo, message, fields);
  }
  void Warning(std::string_view message, std::initializer_list<LogField> fields = {}) const {
    Write(Severity::kWarning, message, fields);
  }
  void Error(std::string_view message, std::initializer_list<LogField> fields = {}) const {
    Write(Severity::kError, message, fields);
  }

  void Write(Severity severity, std::string_view message, std::initializer_list<LogField> fields) const;
  // A line of Severity::kInfo that every level shows.
  void Announce(std::string_view message, std::initializer_list<LogField> fields) const;

 private:
  const LogFormat format_;
  const Sink sink_;
  const Dropped dropped_;
  std::atomic<Severity> level_;
};

// One line, as shown at the top; fields with an empty text are left out. `time` is shown in UTC to the millisecond.
std::string FormatLogLine(LogFormat format, std::chrono::system_clock::time_point time, Severity severity,
                          std::string_view message, std::initializer_list<LogField> fields);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_OBSERVABILITY_LOG_H_
