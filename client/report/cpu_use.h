// What CPUs beside accelerators do in a plan.
#ifndef PLANWRIGHT_CLIENT_REPORT_CPU_USE_H_
#define PLANWRIGHT_CLIENT_REPORT_CPU_USE_H_

#include <set>
#include <string>

#include "planwright/v1/cluster.pb.h"
#include "planwright/v1/plan.pb.h"

namespace planwright::client {

// Names of the devices that are CPUs; empty: none, or not known.
using CpuNames = std::set<std::string, std::less<>>;
CpuNames CpusOf(const v1::Cluster& cluster);

// The share of the plan's time that the accelerators in use wait, in [0, 1]; of all devices in use where CPUs are not
// told apart, or nothing else is used.
double IdleShare(const v1::Plan& plan, const CpuNames& cpus);

// "accelerators in use idle 1.2 % of the time", or "devices ...".
std::string IdleText(const v1::Plan& plan, const CpuNames& cpus);

// Says that accelerators wait for a CPU; empty where they do not.
std::string SlowCpuText(const v1::Plan& plan, const CpuNames& cpus);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_CPU_USE_H_
