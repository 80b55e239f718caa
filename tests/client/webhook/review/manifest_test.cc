#include "client/webhook/review/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace planwright::webhook {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

Json One(const std::string& text) {
  const auto documents = ReadManifests(text, "file");
  EXPECT_TRUE(documents.ok()) << documents.status();
  return documents.ok() && documents->size() == 1 ? documents->front() : Json();
}

TEST(ManifestTest, ResolvesScalarsAsAnApiServerDoes) {
  const Json object = One("a: 3\nb: '3'\nc: true\nd: \"true\"\ne: null\nf: 1.5\ng: 1e3x\nh: nan\ni: [1, x]\nj: 8Gi\n");
  EXPECT_EQ(object, Json::parse(R"({"a": 3, "b": "3", "c": true, "d": "true", "e": null, "f": 1.5, "g": "1e3x",
                                    "h": "nan", "i": [1, "x"], "j": "8Gi"})"));
}

TEST(ManifestTest, ReadsSeveralDocumentsAndJson) {
  EXPECT_THAT(*ReadManifests("a: 1\n---\n---\nb: 2\n", "file"), SizeIs(2));
  EXPECT_EQ(One(R"({"a": {"b": [1, 2]}})")["a"]["b"][1], 2);
}

TEST(ManifestTest, RefusesWhatIsNoObjectAndWhatMultiplies) {
  EXPECT_THAT(ReadManifests("- a\n", "file").status().message(), HasSubstr("every document must be an object"));
  EXPECT_THAT(ReadManifests("a: [", "file").status().message(), HasSubstr("file: "));
  EXPECT_THAT(ReadManifests("a: \xff", "file").status().message(), HasSubstr("UTF-8"));
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    absl::StrAppend(&laughs, "a", i, ": &a", i, " [");
    for (int j = 0; j < 10; ++j) absl::StrAppend(&laughs, j == 0 ? "" : ", ", "*a", i - 1);
    absl::StrAppend(&laughs, "]\n");
  }
  EXPECT_THAT(ReadManifests(laughs, "file").status().message(), HasSubstr("1,000,000 values"));
  EXPECT_FALSE(ReadManifests(std::string(200'000, '['), "file").ok());
}

// Found by fuzzing: the parser of yaml-cpp 0.7 went on for ever.
TEST(ManifestTest, RefusesWhatHasNoEndOfDocuments) {
  for (const std::string text : {"a: &x [1, 2]\n---\n&:!*,\n", "!,", "a: b\n---\n!,\n"}) {
    EXPECT_FALSE(ReadManifests(text, "file").ok()) << text;
  }
  EXPECT_TRUE(ReadManifests("---\n---\na: b\n---\n", "file").ok());
}

TEST(ManifestTest, MakesAReviewOfTheObject) {
  const auto review = ReviewOfManifest(One("apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n"), "team-a");
  ASSERT_TRUE(review.ok());
  EXPECT_EQ(review->group, "jobset.x-k8s.io");
  EXPECT_EQ(review->version, "v1alpha2");
  EXPECT_EQ(review->name_space, "team-a");
  EXPECT_EQ(review->operation, Operation::kCreate);
  EXPECT_EQ(ReviewOfManifest(One("apiVersion: v1\nkind: Pod\n"), "")->group, "");
  EXPECT_FALSE(ReviewOfManifest(One("kind: Pod\n"), "").ok());
}

}  // namespace
}  // namespace planwright::webhook
