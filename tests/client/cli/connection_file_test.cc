#include "client/cli/connection_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace planwright::client {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<ServerConnection> Read(const std::string& text) {
  const std::string path = testing::TempDir() + "/connection_file_test";
  std::ofstream(path) << text;
  auto connection = ReadConnectionFile(path);
  std::filesystem::remove(path);
  return connection;
}

TEST(ConnectionFileTest, SaysWhichServerAndHow) {
  const std::string token_file = testing::TempDir() + "/connection_file_token";
  std::ofstream(token_file) << "secret\n";
  const auto connection =
      Read("# ours\n\n  server = plan.example.com:50051  \ntls = true\ntoken_file=" + token_file + "\n");
  std::filesystem::remove(token_file);
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_EQ(connection->address, "plan.example.com:50051");
  EXPECT_TRUE(connection->use_tls);
  EXPECT_EQ(connection->token, "secret");
}

TEST(ConnectionFileTest, NoFileSaysNothing) {
  const auto connection = ReadConnectionFile(testing::TempDir() + "/no such file");
  ASSERT_TRUE(connection.ok());
  EXPECT_EQ(connection->address, "");
  EXPECT_EQ(ReadConnectionFile("")->address, "");
}

TEST(ConnectionFileTest, TheWrongLineIsNamed) {
  EXPECT_THAT(Read("tls\nserve = a:1\n").status().message(),
              HasSubstr("connection_file_test:2: --serve is not a flag"));
  EXPECT_THAT(Read("server = nowhere\n").status().message(), HasSubstr(":1: --server: must be HOST:PORT"));
  EXPECT_THAT(Read("= a\n").status().message(), HasSubstr(":1: "));
  EXPECT_FALSE(Read("tls_cert_file = /nonexistent\n").ok());
}

TEST(ConnectionFileTest, LivesInTheFolderForConfiguration) {
  setenv("XDG_CONFIG_HOME", "/somewhere", 1);
  EXPECT_EQ(ConnectionFilePath(), "/somewhere/planwright/config");
  unsetenv("XDG_CONFIG_HOME");
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(ConnectionFilePath(), "/home/me/.config/planwright/config");
}

}  // namespace
}  // namespace planwright::client
