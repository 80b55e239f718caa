// What administrators see, as text for people.
#ifndef PLANWRIGHT_CLIENT_REPORT_ADMIN_REPORT_H_
#define PLANWRIGHT_CLIENT_REPORT_ADMIN_REPORT_H_

#include <string>
#include <vector>

#include "planwright/v1/admin_service.pb.h"

namespace planwright::client {

// One line for each; says so where there are none, and how many are not listed.
std::string CallsReport(const v1::ListCallsResponse& response);
std::string TenantsReport(const v1::ListTenantsResponse& response);
std::string TenantOperationsReport(const std::vector<v1::TenantOperation>& operations);
std::string ItemsReport(const std::vector<v1::TenantItem>& items);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_ADMIN_REPORT_H_
