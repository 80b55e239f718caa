// What a server is and offers, as text for people.
#ifndef PLANWRIGHT_CLIENT_REPORT_INFO_REPORT_H_
#define PLANWRIGHT_CLIENT_REPORT_INFO_REPORT_H_

#include <string>

#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// What --graph=zoo:... and --cluster=zoo:... accept.
std::string ModelsReport(const v1::GetServerInfoResponse& info);
std::string TopologiesReport(const v1::GetServerInfoResponse& info);

// Version, what is planned by which algorithm, limits.
std::string ServerInfoReport(const v1::GetServerInfoResponse& info);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_INFO_REPORT_H_
