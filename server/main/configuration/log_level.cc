#include "server/main/configuration/log_level.h"

#include <algorithm>
#include <csignal>

namespace planwright::server {

std::optional<Severity> LevelNamed(std::string_view name) {
  for (const Severity level : {Severity::kDebug, Severity::kInfo, Severity::kWarning, Severity::kError}) {
    if (name == LevelName(level)) return level;
  }
  return std::nullopt;
}

Severity LevelAfter(int signal, Severity level) {
  const int wanted = static_cast<int>(level) + (signal == SIGUSR1 ? -1 : 1);
  return static_cast<Severity>(
      std::clamp(wanted, static_cast<int>(Severity::kDebug), static_cast<int>(Severity::kError)));
}

}  // namespace planwright::server
