// Appends to the file that PLANWRIGHT_MUTANTS_CASES names which changes each case of a test program reached:
// "case|suite|program <name> <milliseconds> <numbers>".
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/mutants.h"

namespace planwright_mutants {
namespace {

class ReachedCases : public testing::EmptyTestEventListener {
 public:
  explicit ReachedCases(const char* path) : out_(path, std::ios::app) {}

 private:
  void OnTestSuiteStart(const testing::TestSuite& suite) override { Write("program", suite.name(), 0); }
  void OnTestStart(const testing::TestInfo& info) override { Write("suite", info.test_suite_name(), 0); }
  void OnTestEnd(const testing::TestInfo& info) override {
    Write("case", std::string(info.test_suite_name()) + "." + info.name(), info.result()->elapsed_time());
  }

  // What was reached since the last call.
  void Write(const char* what, const std::string& name, testing::TimeInMillis milliseconds) {
    out_ << what << " " << name << " " << milliseconds;
    for (int number = 0; number < kMost; ++number) {
      if (reached[number] == 0) continue;
      reached[number] = 0;
      out_ << " " << number;
    }
    out_ << std::endl;
  }

  std::ofstream out_;
};

const bool listening = [] {
  const char* path = std::getenv("PLANWRIGHT_MUTANTS_CASES");
  if (path == nullptr || reached == nullptr) return false;
  testing::UnitTest::GetInstance()->listeners().Append(new ReachedCases(path));
  return true;
}();

}  // namespace
}  // namespace planwright_mutants
