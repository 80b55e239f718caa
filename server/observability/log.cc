#include "server/observability/log.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/strings.h"

namespace planwright::server {
namespace {

std::string_view NameOf(Severity severity) {
  switch (severity) {
    case Severity::kDebug:
      return "DEBUG";
    case Severity::kInfo:
      return "INFO";
    case Severity::kWarning:
      return "WARNING";
    case Severity::kError:
      return "ERROR";
  }
  return "ERROR";
}

std::string FormatTime(std::chrono::system_clock::time_point time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromChrono(time), absl::UTCTimeZone());
}

// JSON text on one line; bytes that are not UTF-8 become replacement characters.
std::string Dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool IsEmpty(const LogField& field) {
  const auto* text = std::get_if<std::string>(&field.value);
  return text != nullptr && text->empty();
}

nlohmann::ordered_json FieldJson(const LogField& field) {
  return std::visit([](const auto& value) { return nlohmann::ordered_json(value); }, field.value);
}

// Words stand as they are, everything else as a JSON string, so that a line can be split again.
std::string TextValue(const LogField& field) {
  const auto* text = std::get_if<std::string>(&field.value);
  const bool is_word = text != nullptr && text->find_first_not_of(
                                              "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                              "-_.:/[]@+,%") == std::string::npos;
  return is_word ? *text : Dump(FieldJson(field));
}

}  // namespace

std::string_view LevelName(Severity level) {
  switch (level) {
    case Severity::kDebug:
      return "debug";
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "error";
}

void Logger::Write(Severity severity, std::string_view message, std::initializer_list<LogField> fields) const {
  if (severity < level_) return;
  sink_(FormatLogLine(format_, std::chrono::system_clock::now(), severity, message, fields));
}

void Logger::Announce(std::string_view message, std::initializer_list<LogField> fields) const {
  sink_(FormatLogLine(format_, std::chrono::system_clock::now(), Severity::kInfo, message, fields));
}

std::string FormatLogLine(LogFormat format, std::chrono::system_clock::time_point time, Severity severity,
                          std::string_view message, std::initializer_list<LogField> fields) {
  if (format == LogFormat::kJson) {
    nlohmann::ordered_json json;
    json["time"] = FormatTime(time);
    json["severity"] = NameOf(severity);
    json["message"] = message;
    for (const LogField& field : fields) {
      if (!IsEmpty(field)) json[std::string(field.name)] = FieldJson(field);
    }
    return Dump(json) + "\n";
  }
  std::string line = absl::StrCat(FormatTime(time), " ", ToAbsl(NameOf(severity)), " ", ToAbsl(message));
  for (const LogField& field : fields) {
    if (!IsEmpty(field)) absl::StrAppend(&line, " ", ToAbsl(field.name), "=", TextValue(field));
  }
  line += "\n";
  return line;
}

}  // namespace planwright::server
