// Numbers with their units as text for people.
#ifndef PLANWRIGHT_CLIENT_REPORT_QUANTITIES_H_
#define PLANWRIGHT_CLIENT_REPORT_QUANTITIES_H_

#include <cstdint>
#include <string>

namespace planwright::client {

// "1.50 GiB"; exact below 1 KiB.
std::string BytesText(int64_t bytes);

// "12.345 ms".
std::string MillisecondsText(double milliseconds);

// 1234567 as "1,234,567".
std::string GroupedText(int64_t count);

// "1 stage", "1,024 stages" of "stage" and "stages".
std::string CountedText(int64_t count, const char* one, const char* many);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_QUANTITIES_H_
