// Values of enums as text for people.
#ifndef PLANWRIGHT_CLIENT_REPORT_ENUM_TEXT_H_
#define PLANWRIGHT_CLIENT_REPORT_ENUM_TEXT_H_

#include <string>
#include <string_view>

#include "planwright/v1/plan.pb.h"

namespace planwright::client {

// "one_f_one_b", as flags spell it, of SCHEDULE_KIND_ONE_F_ONE_B and SCHEDULE_KIND_; "unknown" where `name` is shorter
// than `prefix`: values that only a newer server knows have no name here.
std::string EnumText(const std::string& name, std::string_view prefix);

// "ideal limit" of STOP_REASON_IDEAL_LIMIT.
std::string StopReasonText(v1::StopReason reason);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_ENUM_TEXT_H_
