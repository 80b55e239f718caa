#include "server/observability/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace planwright::server {
namespace {

using testing::HasSubstr;
using testing::Not;

class AuditLogTest : public testing::Test {
 protected:
  ~AuditLogTest() override { std::filesystem::remove_all(folder_); }
  void SetUp() override {
    std::filesystem::create_directory(folder_);
    entry_.action = "DeletePlan";
    entry_.resource = "plans/p";
    entry_.outcome = "OK";
    entry_.caller = "ci";
  }

  static std::string TextOf(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  const std::string folder_ = testing::TempDir() + "audit_log_test";
  const std::string path_ = folder_ + "/audit.log";
  std::string log_text_;
  // Errors only: lines of the audit log are shown all the same.
  Logger log_{LogFormat::kJson, [this](const std::string& line) { log_text_ += line; }, Severity::kError};
  AuditLog audit_{log_};
  AuditEntry entry_;
};

TEST_F(AuditLogTest, WithoutAFileLinesAreInTheLogWithAMark) {
  audit_.Changed(entry_);
  const auto line = nlohmann::json::parse(log_text_);
  EXPECT_EQ(line["audit"], true);
  EXPECT_EQ(line["action"], "DeletePlan");
  EXPECT_EQ(line["resource"], "plans/p");
  EXPECT_EQ(line["caller"], "ci");
}

TEST_F(AuditLogTest, AFileIsAppendedToAndReopenedByName) {
  std::ofstream(path_) << "before\n";
  ASSERT_TRUE(audit_.Open(path_).ok());
  audit_.Changed(entry_);
  EXPECT_THAT(TextOf(path_), testing::StartsWith("before\n{"));
  std::filesystem::rename(path_, path_ + ".1");
  ASSERT_TRUE(audit_.Open(path_).ok());
  audit_.Changed(entry_);
  EXPECT_THAT(TextOf(path_), HasSubstr(R"("audit":true)"));
  EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms(0600));
  EXPECT_TRUE(log_text_.empty());
}

// As on a disk that is full, and has room again.
TEST_F(AuditLogTest, ALineThatWasTornDoesNotSpoilTheNextOne) {
  ASSERT_TRUE(audit_.Open(path_).ok());
  audit_.Changed(entry_);
  const std::size_t whole = TextOf(path_).size();
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{.rlim_cur = whole + 10, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  audit_.Changed(entry_);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(TextOf(path_).size(), whole + 10);
  EXPECT_EQ(audit_.counts().failed, 1);
  EXPECT_THAT(log_text_, HasSubstr("DeletePlan"));
  audit_.Changed(entry_);
  audit_.Changed(entry_);
  std::ifstream file(path_);
  int lines = 0;
  for (std::string line; std::getline(file, line);) {
    ++lines;
    EXPECT_EQ(nlohmann::json::accept(line), lines != 2) << line;
  }
  EXPECT_EQ(lines, 4);
}

TEST_F(AuditLogTest, WhatIsNoFileIsRefusedAndTheOldOneGoesOn) {
  ASSERT_TRUE(audit_.Open(path_).ok());
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& bad : {pipe, folder_, folder_ + "/no/such", std::string("/dev/null")}) {
    EXPECT_EQ(audit_.Open(bad).code(), absl::StatusCode::kUnavailable) << bad;
  }
  audit_.Changed(entry_);
  EXPECT_THAT(TextOf(path_), HasSubstr("DeletePlan"));
}

TEST_F(AuditLogTest, RefusalsAreCountedAllButWrittenAFew) {
  const AuditLog::Clock::time_point now = AuditLog::Clock::now();
  for (int i = 0; i < 1000; ++i) audit_.Refused(entry_, now);
  EXPECT_EQ(audit_.counts().refused, 1000);
  EXPECT_EQ(audit_.counts().lines, AuditLog::kMostRefusals);
  EXPECT_THAT(log_text_, Not(HasSubstr("left_out")));
  audit_.Refused(entry_, now + std::chrono::seconds(1));
  EXPECT_THAT(log_text_, HasSubstr(R"("left_out":"980")"));
  // Changes are never left out.
  audit_.Changed(entry_);
  EXPECT_EQ(audit_.counts().lines, AuditLog::kMostRefusals + 2);
}

TEST_F(AuditLogTest, LongNamesAreCut) {
  AuditEntry entry = entry_;
  entry.resource = std::string(100'000, 'x');
  audit_.Changed(entry);
  EXPECT_LT(log_text_.size(), 1000U);
}

}  // namespace
}  // namespace planwright::server
