// What all reports for people have in common.
#ifndef PLANWRIGHT_TESTS_CLIENT_REPORT_REPORT_LINES_H_
#define PLANWRIGHT_TESTS_CLIENT_REPORT_REPORT_LINES_H_

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "client/report/table.h"

namespace planwright::client {

inline void ExpectLinesThatFit(const std::string& report) {
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kMaxLineLength) << line;
}

}  // namespace planwright::client

#endif  // PLANWRIGHT_TESTS_CLIENT_REPORT_REPORT_LINES_H_
