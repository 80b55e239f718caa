// Numbers as people read them: with their units, and as shares.
#ifndef PLANWRIGHT_CLIENT_REPORT_QUANTITIES_H_
#define PLANWRIGHT_CLIENT_REPORT_QUANTITIES_H_

#include <cstdint>
#include <string>

#include "planwright/v1/problem.pb.h"

namespace planwright::client {

// "1.50 GiB"; exact below 1 KiB.
std::string BytesText(int64_t bytes);

// "12.345 ms", from 10 s on "12.345 s", from 10 min on "21.2 min", from 2 h on "3.5 h", from 2 days on "4.1 days".
std::string DurationText(double milliseconds);

// "0.012 %", "1.2 %", "98 %", "1234 %": two digits, all of those before the point.
std::string TwoDigitPercent(double percent);

// The unit of a column of times, for its largest one.
struct TimeUnit {
  const char* name = "ms";
  double milliseconds = 1;
};
TimeUnit TimeUnitFor(double largest_ms);

// "12.345": the time in that unit.
std::string TimeIn(TimeUnit unit, double milliseconds);

// Which part of an all-reduce of so many replicas counts for one micro-batch of the whole plan (docs/cost-model.md, 14
// and 20).
double AllReduceShare(const v1::PlanningProblem& problem, int replicas);

// 1234567 as "1,234,567".
std::string GroupedText(int64_t count);

// "1 stage", "1,024 stages" of "stage" and "stages".
std::string CountedText(int64_t count, const char* one, const char* many);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_QUANTITIES_H_
