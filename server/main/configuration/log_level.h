// How much is logged, changed by signals.
#ifndef PLANWRIGHT_SERVER_MAIN_CONFIGURATION_LOG_LEVEL_H_
#define PLANWRIGHT_SERVER_MAIN_CONFIGURATION_LOG_LEVEL_H_

#include <optional>
#include <string_view>

#include "server/observability/log.h"

namespace planwright::server {

// nullopt: there is no such level.
std::optional<Severity> LevelNamed(std::string_view name);

// SIGUSR1: the level below, so that more is written; SIGUSR2: the one above. At an end the level itself.
Severity LevelAfter(int signal, Severity level);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_CONFIGURATION_LOG_LEVEL_H_
