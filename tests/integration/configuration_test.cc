#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/integration/caller.h"
#include "tests/integration/daemon_process.h"
#include "tests/integration/requests.h"

namespace planwright {
namespace {

using testing::HasSubstr;

// Expects exit code 1 and a message that names `flag`.
void ExpectRefused(const std::vector<std::string>& flags, const std::string& flag) {
  DaemonProcess daemon(flags);
  EXPECT_EQ(daemon.WaitForExit(), 1);
  EXPECT_THAT(daemon.plain_output(), HasSubstr(flag));
}

std::string WriteConfig(const std::string& text) {
  const std::string file = testing::TempDir() + "planwrightd_integration.conf";
  std::ofstream(file) << text;
  return file;
}

TEST(ConfigurationTest, BadSettingsEndWithOneAndNameTheFlag) {
  ExpectRefused({"--no_such_flag=1"}, "no_such_flag");
  ExpectRefused({"--listen_adress=127.0.0.1:0"}, "did you mean --listen_address?");
  ExpectRefused({"--cpus=many"}, "cpus");
  ExpectRefused({"--max_waiting=-1"}, "--max_waiting");
  ExpectRefused({"--max_time_limit=0s"}, "--max_time_limit");
  ExpectRefused({"--max_time_limit=inf"}, "--max_time_limit: must be > 0 and <= 8760h");
  ExpectRefused({"--drain_timeout=inf"}, "--drain_timeout");
  ExpectRefused({"--max_running=4097"}, "--max_running: must be <= 4096, is 4097");
  ExpectRefused({"--cpus=2147483647"}, "--cpus");
  ExpectRefused({"--max_waiting=2147483647"}, "--max_waiting");
  ExpectRefused({"--max_message_bytes=2GiB"}, "--max_message_bytes");
  ExpectRefused({"--log_format=xml"}, "--log_format");
  ExpectRefused({"--listen_address=0.0.0.0:0"}, "--allow_insecure_remote");
  ExpectRefused({"--listen_address=127.0.0.1:99999"}, "--listen_address");
  ExpectRefused({"--metrics_address=nowhere"}, "--metrics_address");
  ExpectRefused({"--validate_config", "--metrics_address=nowhere"}, "--metrics_address");
  ExpectRefused({"--validate_config", "--listen_address=127.0.0.1:1", "--metrics_address=127.0.0.1:1"},
                "--metrics_address: must differ");
  ExpectRefused({"--validate_config", "--store=nowhere"}, "--store: must be sqlite:PATH");
  ExpectRefused({"--validate_config", "--max_time_limit=2s", "--default_time_limit=3s"},
                "--max_time_limit: must be >=");
  ExpectRefused({"--config=/no/such/file"}, "--config");
  ExpectRefused({"-config=/no/such/file"}, "--config");
  ExpectRefused({"--config=" + testing::TempDir()}, "--config");
  ExpectRefused({"stray"}, "stray");
}

TEST(ConfigurationTest, ATakenPortEndsWithOneAndNamesTheFlag) {
  DaemonProcess first;
  const std::string address = first.address();
  ExpectRefused({"--listen_address=" + address},
                "planwrightd: address already in use: " + address + "; choose another with --listen_address\n");
}

TEST(ConfigurationTest, AFileSetsWhatFlagsDoNot) {
  const std::string file = WriteConfig("# test\nmax_running = 3\nmax_waiting: 7\n");
  DaemonProcess daemon({"--config=" + file, "--max_waiting=5"});
  const nlohmann::json line = daemon.WaitForLog("serving grpc");
  EXPECT_EQ(line.value("max_running", 0), 3);
  EXPECT_EQ(line.value("max_waiting", 0), 5);
}

TEST(ConfigurationTest, TheEnvironmentWinsOverTheFile) {
  const std::string file = WriteConfig("max_running = 3\nmax_waiting = 7\n");
  setenv("PLANWRIGHT_MAX_RUNNING", "4", 1);
  DaemonProcess daemon({"--config=" + file});
  unsetenv("PLANWRIGHT_MAX_RUNNING");
  const nlohmann::json line = daemon.WaitForLog("serving grpc");
  EXPECT_EQ(line.value("max_running", 0), 4);
  EXPECT_EQ(line.value("max_waiting", 0), 7);
}

TEST(ConfigurationTest, ABadLineOfAFileIsNamed) {
  ExpectRefused({"--config=" + WriteConfig("cpus = 1\nmax_runing = 3\n")}, "planwrightd_integration.conf:2");
}

TEST(ConfigurationTest, AReloadTakesNewLimitsAndKeepsTheOldOnesWhenTheFileIsWrong) {
  const std::string file = WriteConfig("max_operators = 1000\n");
  DaemonProcess daemon({"--config=" + file});
  Caller caller(daemon.address());
  const auto most = [&caller] {
    v1::GetServerInfoResponse info;
    EXPECT_TRUE(caller(&Stub::GetServerInfo, v1::GetServerInfoRequest(), info).ok());
    return info.limits().max_operators();
  };
  EXPECT_EQ(most(), 1000);
  WriteConfig("max_operators = 1\n");
  daemon.Signal(SIGHUP);
  EXPECT_FALSE(daemon.WaitForLog("reloaded").empty());
  EXPECT_EQ(most(), 1);
  v1::Plan plan;
  EXPECT_FALSE(caller.CreatePlan(SmallRequest(), plan).ok());
  WriteConfig("max_operators = none\n");
  daemon.Signal(SIGHUP);
  EXPECT_FALSE(daemon.WaitForLog("reload failed, nothing has changed").empty());
  EXPECT_EQ(most(), 1);
  // What the file does not say any more has its default again.
  WriteConfig("\n");
  daemon.Signal(SIGHUP);
  EXPECT_FALSE(daemon.WaitForLog("reloaded").empty());
  EXPECT_GT(most(), 1000);
  EXPECT_TRUE(caller.CreatePlan(SmallRequest(), plan).ok());
}

TEST(ConfigurationTest, AReloadWithoutItsFileOfFlagsChangesNothing) {
  const std::string file = WriteConfig("--max_operators=1000\n");
  DaemonProcess daemon({"--flagfile=" + file});
  Caller caller(daemon.address());
  std::filesystem::remove(file);
  daemon.Signal(SIGHUP);
  EXPECT_THAT(daemon.WaitForLog("reload failed, nothing has changed").value("error", ""), HasSubstr("--flagfile"));
  v1::GetServerInfoResponse info;
  EXPECT_TRUE(caller(&Stub::GetServerInfo, v1::GetServerInfoRequest(), info).ok());
  EXPECT_EQ(info.limits().max_operators(), 1000);
}

// Abseil ends the program for each of them.
TEST(ConfigurationTest, AReloadWithABrokenFileOfFlagsChangesNothing) {
  const std::string file = WriteConfig("--max_operators=1000\n");
  DaemonProcess daemon({"--flagfile=" + file});
  Caller caller(daemon.address());
  for (const char* broken : {"--max_operators=many\n", "--max_operatros=1\n", "max_operators = 1\n", "--\n",
                             "--flagfile=/no/such/file\n", "--max_operators\n"}) {
    WriteConfig(broken);
    daemon.Signal(SIGHUP);
    EXPECT_THAT(daemon.WaitForLog("reload failed, nothing has changed").value("error", ""), HasSubstr(file + ":1"));
  }
  WriteConfig("# what is right is taken\n  --max_operators=7\n--noenable_reflection\n");
  daemon.Signal(SIGHUP);
  EXPECT_FALSE(daemon.WaitForLog("reloaded").empty());
  v1::GetServerInfoResponse info;
  EXPECT_TRUE(caller(&Stub::GetServerInfo, v1::GetServerInfoRequest(), info).ok());
  EXPECT_EQ(info.limits().max_operators(), 7);
}

TEST(ConfigurationTest, LowerLimitsRefuseWhatWasAnsweredBefore) {
  const std::string file = WriteConfig("\n");
  DaemonProcess daemon({"--config=" + file});
  Caller caller(daemon.address());
  v1::Plan plan;
  // The second answer is kept by the bytes of its request, the third comes from there.
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(caller.CreatePlan(SmallRequest(), plan).ok());
  for (const char* limit : {"max_operators", "max_devices", "max_name_bytes"}) {
    WriteConfig(std::string(limit) + " = 1\n");
    daemon.Signal(SIGHUP);
    EXPECT_FALSE(daemon.WaitForLog("reloaded").empty());
    EXPECT_EQ(caller.CreatePlan(SmallRequest(), plan).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << limit;
  }
  WriteConfig("\n");
  daemon.Signal(SIGHUP);
  EXPECT_FALSE(daemon.WaitForLog("reloaded").empty());
  EXPECT_TRUE(caller.CreatePlan(SmallRequest(), plan).ok());
}

TEST(ConfigurationTest, CanBeCheckedWithoutServing) {
  DaemonProcess daemon({"--validate_config"});
  EXPECT_EQ(daemon.WaitForExit(), 0);
  EXPECT_THAT(daemon.plain_output(), HasSubstr("valid"));
}

TEST(ConfigurationTest, HelpTeachesEveryFlag) {
  DaemonProcess daemon({"--help"});
  EXPECT_EQ(daemon.WaitForExit(), 0);
  for (const char* flag :
       {"--listen_address", "--memory_budget", "--drain_timeout", "--enable_reflection", "--config", "PLANWRIGHT_"}) {
    EXPECT_THAT(daemon.plain_output(), HasSubstr(flag));
  }
}

TEST(ConfigurationTest, LimitsOfModelsMayBeAsLargeAsNumbersAre) {
  for (const char* most : {"36028797018963968", "9223372036854775807"}) {
    DaemonProcess daemon({std::string("--max_operators=") + most, std::string("--max_tensors=") + most,
                          std::string("--max_devices=") + most});
    EXPECT_FALSE(daemon.address().empty()) << most;
    daemon.Signal(SIGTERM);
    EXPECT_EQ(daemon.WaitForExit(), 0) << most;
  }
}

TEST(ConfigurationTest, TerminationWithNothingToDoEndsWithZero) {
  for (const int signal : {SIGTERM, SIGINT}) {
    DaemonProcess daemon;
    daemon.address();
    daemon.Signal(signal);
    EXPECT_EQ(daemon.WaitForExit(), 0);
  }
}

}  // namespace
}  // namespace planwright
