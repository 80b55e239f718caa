#include "client/cli/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

namespace planwright::client {
namespace {

TEST(FilesTest, WritesAndReadsBack) {
  const std::string path = ::testing::TempDir() + "/files_test.txt";
  std::ostringstream out;
  ASSERT_TRUE(WriteOutput(std::string("a\0b\n", 4), path, out).ok());
  EXPECT_EQ(out.str(), "");
  std::istringstream in;
  EXPECT_EQ(ReadInput(path, in).value(), std::string("a\0b\n", 4));
  std::filesystem::remove(path);
}

TEST(FilesTest, ADashIsTheStandardStream) {
  std::istringstream in("text");
  EXPECT_EQ(ReadInput("-", in).value(), "text");
  std::ostringstream out;
  ASSERT_TRUE(WriteOutput("a", "-", out).ok());
  ASSERT_TRUE(WriteOutput("b", "", out).ok());
  EXPECT_EQ(out.str(), "ab");
}

TEST(FilesTest, SaysWhyAFileCannotBeUsed) {
  std::istringstream in;
  std::ostringstream out;
  EXPECT_EQ(ReadInput("/nowhere/g.json", in).status().message(),
            "cannot read /nowhere/g.json: No such file or directory");
  EXPECT_EQ(ReadInput("/tmp", in).status().message(), "cannot read /tmp: it is a folder");
  EXPECT_EQ(WriteOutput("x", "/nowhere/p.json", out).message(),
            "cannot write /nowhere/p.json: No such file or directory");
}

TEST(FilesTest, AFullStreamIsAnError) {
  std::istringstream in;
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  const absl::Status status = WriteOutput("x", "", out);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("cannot write to standard output: "));
}

}  // namespace
}  // namespace planwright::client
