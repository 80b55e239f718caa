#include "client/cli/terminal/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <istream>
#include <sstream>
#include <stop_token>
#include <string>

#include "client/cli/standard_input.h"

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

TEST(FilesTest, AStopRequestEndsTheWaitForStandardInput) {
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "te", 2), 2);
  const std::stop_source stop;
  StandardInput input(ends[0], stop.get_token());
  std::istream in(&input);
  EXPECT_EQ(in.get(), 't');
  stop.request_stop();
  const absl::Status status = ReadInput("-", in).status();
  EXPECT_EQ(status, absl::CancelledError("interrupted"));
  close(ends[0]);
  close(ends[1]);
}

TEST(FilesTest, ReadsAllOfAPipe) {
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "text", 4), 4);
  close(ends[1]);
  StandardInput input(ends[0], std::stop_token());
  std::istream in(&input);
  EXPECT_EQ(ReadInput("-", in).value(), "text");
  close(ends[0]);
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

TEST(FilesTest, ReplacesAFileAsAWhole) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / "files_test_replace";
  fs::remove_all(folder);
  fs::create_directory(folder);
  std::ostringstream out;
  std::istringstream in;
  const std::string path = folder / "plan.json";
  ASSERT_TRUE(WriteOutput("old", path, out).ok());
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("plan.json", folder / "latest.json");
  fs::create_hard_link(path, folder / "kept.json");
  ASSERT_TRUE(WriteOutput("new", folder / "latest.json", out).ok());
  EXPECT_EQ(ReadInput(path, in).value(), "new");
  EXPECT_EQ(ReadInput(folder / "kept.json", in).value(), "old") << "it was written over instead of replaced";
  EXPECT_TRUE(fs::is_symlink(folder / "latest.json"));
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 3) << "something was left behind";
  fs::remove_all(folder);
}

TEST(FilesTest, WritesToDevicesAsTheyAre) {
  std::ostringstream out;
  EXPECT_TRUE(WriteOutput("x", "/dev/null", out).ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(FilesTest, AFullStreamIsAnError) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  const absl::Status status = WriteOutput("x", "", out);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("cannot write to standard output: "));
}

}  // namespace
}  // namespace planwright::client
