// What GetServerInfo answers.
#ifndef PLANWRIGHT_SERVER_ENGINE_SERVER_INFO_H_
#define PLANWRIGHT_SERVER_ENGINE_SERVER_INFO_H_

#include <string_view>

#include "planwright/v1/planning_service.pb.h"
#include "server/engine/planning_engine.h"

namespace planwright::server {

// `store`: "sqlite", "postgresql" or "none".
v1::GetServerInfoResponse MakeServerInfo(const EngineConfig& config, std::string_view store);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_SERVER_INFO_H_
