// What a server keeps, as text for people.
#ifndef PLANWRIGHT_CLIENT_REPORT_STORE_REPORT_H_
#define PLANWRIGHT_CLIENT_REPORT_STORE_REPORT_H_

#include <google/protobuf/timestamp.pb.h>

#include <cstddef>
#include <string>
#include <vector>

#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// What is shown of the names that servers give: they are to be copied.
inline constexpr std::size_t kNameLength = 44;

// A time to the second.
std::string TimeText(google::protobuf::Timestamp time);

// One line for each; says so where there are none.
std::string PlansReport(const std::vector<v1::PlanSummary>& plans);
std::string OperationsReport(const std::vector<v1::Operation>& operations);

// How many rows of a sweep have ended, then the rows by rank. REQUIRES: operation.has_sweep().
std::string SweepReport(const v1::Operation& operation);

// "queued", "succeeded".
std::string StateText(v1::Operation::State state);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_STORE_REPORT_H_
