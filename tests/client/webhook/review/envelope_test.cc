#include "client/webhook/review/envelope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "absl/strings/escaping.h"
#include "client/importer/reading/json_text.h"

namespace planwright::webhook {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Json MakeEnvelope() {
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"request",
           {{"uid", "u"},
            {"kind", {{"group", "batch"}, {"version", "v1"}, {"kind", "Job"}}},
            {"namespace", "team-a"},
            {"operation", "CREATE"},
            {"dryRun", true},
            {"object", {{"metadata", Json::object()}}}}}};
}

std::string ErrorOfReview(const std::string& body) { return std::string(ParseReview(body).status().message()); }

TEST(EnvelopeTest, ReadsWhatIsAsked) {
  const auto review = ParseReview(MakeEnvelope().dump());
  ASSERT_TRUE(review.ok()) << review.status();
  EXPECT_EQ(review->uid, "u");
  EXPECT_EQ(review->group, "batch");
  EXPECT_EQ(review->kind, "Job");
  EXPECT_EQ(review->name_space, "team-a");
  EXPECT_EQ(review->operation, Operation::kCreate);
  EXPECT_TRUE(review->dry_run);
  EXPECT_TRUE(review->object.contains("metadata"));
}

TEST(EnvelopeTest, IgnoresUnknownFields) {
  Json envelope = MakeEnvelope();
  envelope["request"]["userInfo"] = {{"username", "somebody"}};
  envelope["new"] = 1;
  EXPECT_TRUE(ParseReview(envelope.dump()).ok());
}

TEST(EnvelopeTest, NamesEverythingThatIsWrong) {
  const std::string error =
      ErrorOfReview(R"({"apiVersion": "admission.k8s.io/v1beta1", "kind": 3, "request": {"uid": ""}})");
  EXPECT_THAT(error, AllOf(HasSubstr(R"(apiVersion: must be "admission.k8s.io/v1", is "admission.k8s.io/v1beta1")"),
                           HasSubstr(R"(kind: must be "AdmissionReview", is 3)"), HasSubstr("request.uid"),
                           HasSubstr("request.kind.kind"), HasSubstr("request.operation")));
  EXPECT_THAT(ErrorOfReview(R"({"request": 1})"), HasSubstr("request: must be an object"));
}

TEST(EnvelopeTest, AskForTheObjectsOfTheOperation) {
  Json envelope = MakeEnvelope();
  envelope["request"]["operation"] = "UPDATE";
  EXPECT_THAT(ErrorOfReview(envelope.dump()), HasSubstr("request.oldObject: must be an object"));
  envelope["request"]["operation"] = "DELETE";
  envelope["request"].erase("object");
  EXPECT_TRUE(ParseReview(envelope.dump()).ok());
}

TEST(EnvelopeTest, RefusesWhatIsNoJson) {
  EXPECT_FALSE(ParseReview("").ok());
  EXPECT_FALSE(ParseReview("[]").ok());
  EXPECT_FALSE(ParseReview("{\"a\": \"\xff\"}").ok());
  EXPECT_FALSE(ParseReview(std::string(1'000'000, '[')).ok());
  std::string deep = R"({"request":)";
  for (int i = 0; i < 200; ++i) deep += R"({"a":)";
  EXPECT_THAT(ErrorOfReview(deep), HasSubstr("nested"));
}

TEST(EnvelopeTest, RefusesWhatUnpacksToMuchMore) {
  Json envelope = MakeEnvelope();
  Json& more = envelope["request"]["object"]["more"] = Json::array();
  const auto values = client::OutlineOf(envelope.dump(), "review")->num_values;
  for (std::size_t i = values; i < 150'000; ++i) more.push_back(Json::object());
  const auto most = ParseReview(envelope.dump());
  ASSERT_TRUE(most.ok()) << most.status();
  EXPECT_GE(most->unpacked_bytes, 150'000 * 100);
  more.push_back(Json::object());
  const auto review = ParseReview(envelope.dump());
  EXPECT_EQ(review.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(review.status().message(), "review: has more than 150000 values");
}

TEST(EnvelopeTest, RefusesAnEndlessUid) {
  Json envelope = MakeEnvelope();
  envelope["request"]["uid"] = std::string(257, 'u');
  EXPECT_THAT(ErrorOfReview(envelope.dump()), HasSubstr("at most 256 bytes"));
}

TEST(EnvelopeTest, AnswersWithThePatchInBase64) {
  Answer answer;
  answer.patch = {{{"op", "add"}, {"path", "/a"}, {"value", 1}}};
  const Json written = Json::parse(FormatAnswer("u", answer));
  EXPECT_EQ(written["apiVersion"], "admission.k8s.io/v1");
  EXPECT_EQ(written["kind"], "AdmissionReview");
  EXPECT_EQ(written["response"]["uid"], "u");
  EXPECT_EQ(written["response"]["allowed"], true);
  EXPECT_EQ(written["response"]["patchType"], "JSONPatch");
  std::string patch;
  ASSERT_TRUE(absl::Base64Unescape(written["response"]["patch"].get<std::string>(), &patch));
  EXPECT_EQ(Json::parse(patch), answer.patch);
}

TEST(EnvelopeTest, HasNoPatchTypeWithoutAPatch) {
  const Json written = Json::parse(FormatAnswer("u", {}));
  EXPECT_FALSE(written["response"].contains("patch"));
  EXPECT_FALSE(written["response"].contains("patchType"));
  EXPECT_FALSE(written["response"].contains("status"));
}

TEST(EnvelopeTest, DeniesWithAMessage) {
  const Json written = Json::parse(FormatAnswer("u", {.allowed = false, .message = "too large"}));
  EXPECT_EQ(written["response"]["allowed"], false);
  EXPECT_EQ(written["response"]["status"]["code"], 403);
  EXPECT_EQ(written["response"]["status"]["message"], "too large");
}

TEST(EnvelopeTest, CutsWarningsBetweenCharacters) {
  std::string umlauts;
  for (int i = 0; i < 200; ++i) umlauts += "ä";
  const Json written = Json::parse(FormatAnswer("u", {.warnings = {umlauts}}));
  const std::string warning = written["response"]["warnings"][0];
  EXPECT_LE(warning.size(), kMaxWarningBytes);
  EXPECT_TRUE(warning.ends_with("ä..."));
}

}  // namespace
}  // namespace planwright::webhook
