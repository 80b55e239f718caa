// Structured log lines: one event, its fields, one line.
//
//   text  2026-11-21T11:48:01.123Z INFO search ended request_id=7f3a-1 wall_ms=12.5
//   json  {"time":"2026-11-21T11:48:01.123Z","severity":"INFO","message":"search ended","request_id":"7f3a-1",...}
#ifndef PLANWRIGHT_SERVER_OBSERVABILITY_LOG_H_
#define PLANWRIGHT_SERVER_OBSERVABILITY_LOG_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace planwright::server {

enum class LogFormat { kText, kJson };
enum class Severity { kInfo, kWarning, kError };

struct LogField {
  // snake_case.
  std::string_view name;
  std::variant<std::string, int64_t, double, bool> value;
};

// Thread-safe: a line is handed to the sink in one call, and the sinks of this project write it in one system call.
class Logger {
 public:
  using Sink = std::function<void(const std::string& line)>;

  // `sink` gets whole lines, newline included, from any thread, also several at once.
  Logger(LogFormat format, Sink sink) : format_(format), sink_(std::move(sink)) {}

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

 private:
  LogFormat format_;
  Sink sink_;
};

// Writes lines to standard error.
void WriteToStderr(const std::string& line);

// One line, as shown at the top; fields with an empty text are left out. `time` is shown in UTC to the millisecond.
std::string FormatLogLine(LogFormat format, std::chrono::system_clock::time_point time, Severity severity,
                          std::string_view message, std::initializer_list<LogField> fields);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_OBSERVABILITY_LOG_H_
