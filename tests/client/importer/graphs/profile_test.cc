#include "client/importer/graphs/profile.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/importer/graphs/class_times.h"
#include "client/library/error_details.h"

namespace planwright::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

std::vector<std::string> ErrorsInProfile(const std::string& text) {
  const auto rows = ReadProfile(text, "p.csv");
  EXPECT_EQ(rows.status().code(), absl::StatusCode::kInvalidArgument);
  std::vector<std::string> errors;
  for (const FieldViolation& violation : ErrorDetailsOf(rows.status()).violations) {
    errors.push_back(violation.field + ": " + violation.description);
  }
  return errors;
}

TEST(ProfileTest, ReadsTheTable) {
  const auto rows =
      ReadProfile("# measured\nname,forward_us,backward_ms\r\n\na,1500,2\n\"b, \"\"c\"\"\" , 1e3, 0\n", "p");
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0].name, "a");
  EXPECT_EQ((*rows)[0].forward_ms, 1.5);
  EXPECT_EQ((*rows)[0].backward_ms, 2);
  EXPECT_EQ((*rows)[1].name, "b, \"c\"");
  EXPECT_EQ((*rows)[1].forward_ms, 1);
}

TEST(ProfileTest, NamesEveryMistakeAndItsLine) {
  EXPECT_THAT(ErrorsInProfile(""), ElementsAre(": must begin with name,forward_ms,backward_ms"));
  EXPECT_THAT(ErrorsInProfile("a,1,2\n"), ElementsAre("line 1: must name the columns: name,forward_ms,backward_ms"));
  EXPECT_THAT(
      ErrorsInProfile("name,forward_ms,backward_ms\na,1\n,1,2\nb,x,-1\nc,1,2\nc,1,2\n\"d,1,2\n"),
      ElementsAre("line 2: must have 3 cells, has 2", "line 3: must name an operator",
                  "line 4: a time must be a number >= 0, is \"x\"", "line 4: a time must be a number >= 0, is \"-1\"",
                  "line 6: must name another operator than line 5", "line 7: a double quote is not closed"));
}

TEST(ProfileTest, GivesOperatorsTheirTimes) {
  auto graph = Parse<v1::Graph>(R"pb(
    operators {
      name: "layer.0/attention"
      costs { device_class: "old" forward_ms: 9 }
    }
    operators { name: "layer.1/attention" }
    operators { name: "layer.1/mlp" }
    operators { name: "in" type: "Input" }
    operators { name: "layer.1/mlp_backward" pass: PASS_BACKWARD forward_operator: "layer.1/mlp" })pb");
  const ProfileMatch match = ApplyProfile(
      {{"layer.0/attention", 1, 2}, {"attention", 5, 5}, {"mlp", 3, 4}, {"layer.1/mlp", 7, 7}, {"nothing", 1, 1}},
      graph);
  EXPECT_EQ(match.matched, 2);
  EXPECT_EQ(match.unmatched, 1);
  EXPECT_EQ(match.first_unmatched, "nothing");
  EXPECT_EQ(match.ambiguous, 2);
  EXPECT_EQ(match.without_times, 1);
  ASSERT_EQ(graph.operators(0).costs_size(), 1);
  EXPECT_EQ(graph.operators(0).costs(0).device_class(), kUnnamedClass);
  EXPECT_EQ(graph.operators(0).costs(0).backward_ms(), 2);
  EXPECT_EQ(graph.operators(2).costs(0).forward_ms(), 3);
  EXPECT_EQ(graph.operators(2).costs(0).backward_ms(), 0);
  EXPECT_EQ(graph.operators(4).costs(0).forward_ms(), 4);
}

TEST(ClassTimesTest, TakesTimesForThoseOfTheAccelerators) {
  auto graph = Parse<v1::Graph>(R"pb(
    operators {
      name: "a"
      costs { device_class: "accelerator" forward_ms: 1 backward_ms: 2 }
    }
    operators {
      name: "b"
      forward_flops: 5
      costs { device_class: "accelerator" forward_ms: 3 }
    }
    operators { name: "c" })pb");
  const auto cluster = Parse<v1::Cluster>(R"pb(
    device_classes { name: "v100" }
    device_classes { name: "h100" kind: DEVICE_KIND_ACCELERATOR }
    device_classes { name: "xeon" kind: DEVICE_KIND_CPU })pb");
  const auto assumed = NameClasses(cluster, graph);
  ASSERT_TRUE(assumed.has_value());
  EXPECT_THAT(*assumed, HasSubstr("those of v100, h100, and those without FLOPs cannot run on xeon"));
  ASSERT_EQ(graph.operators(0).costs_size(), 2);
  EXPECT_EQ(graph.operators(0).costs(1).device_class(), "h100");
  EXPECT_EQ(graph.operators(0).costs(1).backward_ms(), 2);
  EXPECT_THAT(graph.operators(0).unsupported_device_classes(), ElementsAre("xeon"));
  EXPECT_THAT(graph.operators(1).unsupported_device_classes(), IsEmpty());
  EXPECT_EQ(NameClasses(cluster, graph), std::nullopt);
}

}  // namespace
}  // namespace planwright::client
