#include "client/webhook/review/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/webhook/review/objects.h"

namespace planwright::webhook {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kChip[] = "example.com/chip";

Json MakeReplicatedJob(const char* name, int replicas, int pods, int devices) {
  return {{"name", name},
          {"replicas", replicas},
          {"template", {{"spec", {{"parallelism", pods}, {"completions", pods}, {"template", PodTemplate(devices)}}}}}};
}

TEST(JobTest, KnowsFourKinds) {
  EXPECT_EQ(JobKindNamed("batch", "Job"), JobKind::kJob);
  EXPECT_EQ(JobKindNamed("jobset.x-k8s.io", "JobSet"), JobKind::kJobSet);
  EXPECT_EQ(JobKindNamed("kubeflow.org", "PyTorchJob"), JobKind::kPyTorchJob);
  EXPECT_EQ(JobKindNamed("trainer.kubeflow.org", "TrainJob"), JobKind::kTrainJob);
  EXPECT_EQ(JobKindNamed("batch", "CronJob"), std::nullopt);
  EXPECT_EQ(JobKindNamed("example.com", "Job"), std::nullopt);
}

TEST(JobTest, RunsTheSmallerOfParallelismAndCompletions) {
  Json object = MakeJob(4, 2, Json::object());
  object["spec"]["completions"] = 3;
  const auto job = ReadJob(JobKind::kJob, object);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->sets.front().pods, 3);
  EXPECT_TRUE(job->sets.front().is_indexed);
  EXPECT_EQ(*AcceleratorsOf(job->sets.front(), kChip), 2);
}

TEST(JobTest, IndexesThatRunLaterAreNoRanks) {
  Json object = MakeJob(4, 2, Json::object());
  object["spec"]["completions"] = 8;
  EXPECT_FALSE(ReadJob(JobKind::kJob, object)->sets.front().is_indexed);
  object["spec"].erase("completions");
  object["spec"].erase("completionMode");
  EXPECT_FALSE(ReadJob(JobKind::kJob, object)->sets.front().is_indexed);
}

TEST(JobTest, CountsReplicasOfAJobSet) {
  const Json object = {
      {"spec", {{"replicatedJobs", {MakeReplicatedJob("a", 2, 3, 1), MakeReplicatedJob("b", 1, 1, 0)}}}}};
  const auto job = ReadJob(JobKind::kJobSet, object);
  ASSERT_TRUE(job.ok());
  ASSERT_THAT(job->sets, SizeIs(2));
  EXPECT_EQ(job->sets[0].pods, 6);
  EXPECT_EQ(job->sets[0].pod_template->to_string(), "/spec/replicatedJobs/0/template/spec/template");
  EXPECT_EQ(*AcceleratorsOf(job->sets[1], kChip), 0);
}

TEST(JobTest, PutsTheMasterBeforeTheWorkers) {
  const Json object = {
      {"spec",
       {{"pytorchReplicaSpecs",
         {{"Worker", {{"replicas", 3}, {"template", PodTemplate(1)}}}, {"Master", {{"template", PodTemplate(1)}}}}}}}};
  const auto job = ReadJob(JobKind::kPyTorchJob, object);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->sets[0].name, "Master");
  EXPECT_EQ(job->sets[0].pods, 1);
  EXPECT_EQ(job->sets[1].pods, 3);
}

TEST(JobTest, JudgesTrainJobsThatSayWhatTheyTake) {
  Json object = {{"spec", {{"trainer", {{"numNodes", 4}}}}}};
  EXPECT_THAT(ReadJob(JobKind::kTrainJob, object).status().message(), HasSubstr("resourcesPerNode"));
  object["spec"]["trainer"]["resourcesPerNode"] = {{"requests", {{kChip, 8}}}};
  const auto job = ReadJob(JobKind::kTrainJob, object);
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->sets.front().pods, 4);
  EXPECT_EQ(*AcceleratorsOf(job->sets.front(), kChip), 8);
  EXPECT_EQ(job->sets.front().askers.front().place.to_string(), "/spec/trainer");
}

TEST(JobTest, RefusesCountsThatAreNone) {
  Json object = MakeJob(4, 2, Json::object());
  for (const Json& count : {Json(-1), Json("four"), Json(1e300), Json(2.5), Json::array()}) {
    object["spec"]["parallelism"] = count;
    EXPECT_THAT(ReadJob(JobKind::kJob, object).status().message(), HasSubstr("parallelism must be a whole number"));
  }
}

TEST(JobTest, RefusesQuantitiesThatAreNoWholeNumbers) {
  Json object = MakeJob(1, 1, Json::object());
  for (const char* quantity : {"500m", "-1", "1.5", "99999999999999999999"}) {
    object["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"][kChip] = quantity;
    const auto job = ReadJob(JobKind::kJob, object);
    EXPECT_FALSE(AcceleratorsOf(job->sets.front(), kChip).ok()) << quantity;
  }
}

TEST(JobTest, TakesShapesThatNobodyExpects) {
  for (const JobKind kind : {JobKind::kJob, JobKind::kJobSet, JobKind::kPyTorchJob, JobKind::kTrainJob}) {
    for (const char* text : {"{}", R"({"spec": 1})", R"({"spec": {"replicatedJobs": [1, null]}})",
                             R"({"spec": {"pytorchReplicaSpecs": []}})", R"({"spec": {"trainer": "x"}})"}) {
      ReadJob(kind, Json::parse(text)).status().IgnoreError();
    }
  }
  const auto job = ReadJob(JobKind::kJob, Json::parse(R"({"spec": {"template": {"spec": {"containers": [1, {}]}}}})"));
  ASSERT_TRUE(job.ok());
  EXPECT_THAT(AskersFor(job->sets.front(), kChip), IsEmpty());
}

}  // namespace
}  // namespace planwright::webhook
