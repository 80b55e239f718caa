#include "server/main/configuration/config_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"

ABSL_FLAG(int, config_sources_test_number, 1, "a flag to set");

namespace planwright::server {
namespace {

using testing::HasSubstr;

constexpr std::array<std::string_view, 1> kNames = {"config_sources_test_number"};

TEST(ConfigTextTest, TakesBothSeparatorsCommentsAndQuotes) {
  const auto settings = ParseConfigText("# a comment\n\n a = 1 \nb: \"two words\"\r\nc=x=y\n", "f");
  ASSERT_TRUE(settings.ok());
  ASSERT_EQ(settings->size(), 3);
  EXPECT_EQ((*settings)[0].name, "a");
  EXPECT_EQ((*settings)[0].value, "1");
  EXPECT_EQ((*settings)[0].origin, "f:3");
  EXPECT_EQ((*settings)[1].value, "two words");
  EXPECT_EQ((*settings)[2].value, "x=y");
}

TEST(ConfigTextTest, AddressesNeedNoQuotes) {
  const auto settings = ParseConfigText("listen_address: 127.0.0.1:50051", "f");
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ((*settings)[0].name, "listen_address");
  EXPECT_EQ((*settings)[0].value, "127.0.0.1:50051");
}

TEST(ConfigTextTest, NamesTheLineThatIsNone) {
  EXPECT_THAT(ParseConfigText("a = 1\nnonsense\n", "f").status().message(), HasSubstr("f:2"));
  EXPECT_FALSE(ParseConfigText("= 1", "f").ok());
}

TEST(EnvironmentTest, ReadsVariablesWithThePrefix) {
  const std::map<std::string, std::string> environment = {{"PLANWRIGHT_CONFIG_SOURCES_TEST_NUMBER", "5"},
                                                          {"CONFIG_SOURCES_TEST_NUMBER", "6"}};
  const auto settings = ReadEnvironment(kNames, [&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end()) return std::nullopt;
    return found->second;
  });
  ASSERT_EQ(settings.size(), 1);
  EXPECT_EQ(settings[0].name, "config_sources_test_number");
  EXPECT_EQ(settings[0].value, "5");
}

TEST(ApplySettingsTest, SetsFlags) {
  const std::vector<Setting> settings = {{"config_sources_test_number", "7", "f:1"}};
  EXPECT_TRUE(ApplySettings(settings, kNames).ok());
  EXPECT_EQ(absl::GetFlag(FLAGS_config_sources_test_number), 7);
}

TEST(ApplySettingsTest, NamesOriginAndFlagOfWhatIsWrong) {
  const std::vector<Setting> unknown = {{"no_such", "7", "f:1"}};
  EXPECT_THAT(ApplySettings(unknown, kNames).message(), testing::AllOf(HasSubstr("f:1"), HasSubstr("no_such")));
  const std::vector<Setting> bad = {{"config_sources_test_number", "many", "f:2"}};
  EXPECT_THAT(ApplySettings(bad, kNames).message(),
              testing::AllOf(HasSubstr("f:2"), HasSubstr("--config_sources_test_number")));
  // Flags of libraries are no settings of ours.
  const std::vector<Setting> foreign = {{"undefok", "x", "f:3"}};
  EXPECT_FALSE(ApplySettings(foreign, kNames).ok());
}

TEST(ArgumentOfTest, IsFoundInEveryFormThatFlagsHave) {
  const auto value_of = [](std::vector<std::string> arguments) {
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    return ArgumentOf(pointers, "config");
  };
  EXPECT_EQ(value_of({"program", "--config=a"}), "a");
  EXPECT_EQ(value_of({"program", "--config", "a"}), "a");
  EXPECT_EQ(value_of({"program", "-config=a", "--other"}), "a");
  EXPECT_EQ(value_of({"program", "--configs=a", "config"}), std::nullopt);
  EXPECT_EQ(value_of({"program", "--config"}), std::nullopt);
}

}  // namespace
}  // namespace planwright::server
