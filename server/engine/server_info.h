// What GetServerInfo answers.
#ifndef PLANWRIGHT_SERVER_ENGINE_SERVER_INFO_H_
#define PLANWRIGHT_SERVER_ENGINE_SERVER_INFO_H_

#include "planwright/v1/planning_service.pb.h"
#include "server/engine/planning_engine.h"

namespace planwright::server {

v1::GetServerInfoResponse MakeServerInfo(const EngineConfig& config);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_SERVER_INFO_H_
