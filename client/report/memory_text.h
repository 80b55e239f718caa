// What the memory of a plan counts, for people.
#ifndef PLANWRIGHT_CLIENT_REPORT_MEMORY_TEXT_H_
#define PLANWRIGHT_CLIENT_REPORT_MEMORY_TEXT_H_

#include <string>

#include "planwright/v1/plan.pb.h"

namespace planwright::client {

// "48.00 GiB of 80.00 GiB on the fullest device: parameters, gradients, 1 micro-batch in flight, buffers"; empty where
// nothing takes memory.
std::string CountedMemoryText(const v1::Plan& plan);

// "the optimizer of adam_mixed (would make it 96.00 GiB: too much), ..."; empty where nothing is left out.
std::string UncountedMemoryText(const v1::Plan& plan);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_MEMORY_TEXT_H_
