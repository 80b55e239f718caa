// Answers of the service as text for people.
#ifndef PLANWRIGHT_CLIENT_REPORT_TEXT_REPORT_H_
#define PLANWRIGHT_CLIENT_REPORT_TEXT_REPORT_H_

#include <string>

#include "client/report/cpu_use.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// The time per micro-batch and how good it is, then the stages, the devices and the warnings. `title` says what was
// planned, e.g. "zoo:bert-large on zoo:dgx1-v100:1".
std::string PlanReport(const v1::Plan& plan, const std::string& title, const CpuNames& cpus = {});

// What MIN_DEVICES proves of a plan that it found: " on 3 devices, proven the fewest that meet the target of 60.000
// ms". Empty for joint plans, which are asked for something else than a time.
std::string FewestText(const v1::Plan& plan);

// The judgement with every violation, then the plan as far as it could be costed.
std::string EvaluationReport(const v1::EvaluatePlanResponse& evaluation, const std::string& title,
                             const CpuNames& cpus = {});

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_TEXT_REPORT_H_
