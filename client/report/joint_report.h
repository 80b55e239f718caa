// Plans of the joint search as text for people.
#ifndef PLANWRIGHT_CLIENT_REPORT_JOINT_REPORT_H_
#define PLANWRIGHT_CLIENT_REPORT_JOINT_REPORT_H_

#include <string>

#include "planwright/v1/plan.pb.h"

namespace planwright::client {

// The step, what it is chosen of, stages by layers with degrees and memory by part, what each choice is worth, and the
// simple configurations. REQUIRES: plan.joint is set.
std::string JointPlanReport(const v1::Plan& plan, const std::string& title);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_JOINT_REPORT_H_
