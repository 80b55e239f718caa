// `planwright check`: each mode of the hook, graphs of a server, and the exit codes of what was not judged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/client/integration/child.h"
#include "tests/integration/daemon_process.h"
#include "tests/support/unwrapped.h"

namespace planwright::client {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kPools[] = R"(pools:
  - name: h100
    resource: nvidia.com/gpu
    class: h100
    nodes: 4
    devices: 4
    inside: {bandwidth: 370 GB/s, latency: 5 us}
    levels: [{bandwidth: 200 Gb/s, latency: 15 us}]
    queues: [team-a/gpu]
)";

// Two pods of two accelerators with GRAPH.
constexpr char kJob[] = R"(apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: team-a
  labels: {kueue.x-k8s.io/queue-name: gpu}
  annotations: {planwright.dev/graph: "GRAPH"}
spec:
  parallelism: 2
  completions: 2
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: trainer
          image: registry.example.com/trainer:1
          resources: {limits: {nvidia.com/gpu: 2}}
)";

constexpr char kSmall[] = "zoo:bert-base";
// Needs more than four accelerators, whatever the plan.
constexpr char kHuge[] = "zoo:transformer?layers=200&hidden=16384&heads=128&vocab=129280&sequence=4096";

std::string JobWith(const std::string& graph) { return absl::StrReplaceAll(kJob, {{"GRAPH", graph}}); }

class CheckTest : public testing::Test {
 protected:
  CheckTest() { Write("pools.yaml", kPools); }
  ~CheckTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  Finished Check(const std::string& manifest, std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), {"check", "-", "--pools_file=" + (folder_ / "pools.yaml").string()});
    return Planwright(std::move(flags), manifest);
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("check-" + std::to_string(getpid()));
};

TEST_F(CheckTest, TheModeSaysWhetherAJobIsJudgedAndWhetherAProofDenies) {
  const Finished off = Check(JobWith(kHuge), {"--mode=off"});
  EXPECT_EQ(off.exit_code, 0) << off.err;
  EXPECT_EQ(off.out, "Job team-a/train: admitted, untouched\n");
  EXPECT_THAT(off.err, IsEmpty());
  const Finished annotate = Check(JobWith(kHuge), {"--mode=annotate"});
  EXPECT_EQ(annotate.exit_code, 3);
  EXPECT_EQ(annotate.out, "Job team-a/train: admitted, warned\n");
  EXPECT_THAT(Unwrapped(annotate.err), HasSubstr("it cannot fit 4 nvidia.com/gpu"));
  const Finished enforce = Check(JobWith(kHuge), {"--mode=enforce"});
  EXPECT_EQ(enforce.exit_code, 3);
  EXPECT_THAT(enforce.out, AllOf(HasSubstr("Job team-a/train: denied\n"), HasSubstr("it cannot fit 4")));
  // Annotating is the default. A job may tighten the mode, and not loosen it.
  EXPECT_EQ(Check(JobWith(kHuge)).out, annotate.out);
  std::string own = JobWith(kHuge);
  own.insert(own.find("planwright.dev/graph"), "planwright.dev/mode: enforce, ");
  EXPECT_EQ(Check(own, {"--mode=annotate"}).out, enforce.out);
  const Finished loose = Check(absl::StrReplaceAll(own, {{"mode: enforce", "mode: \"off\""}}), {"--mode=enforce"});
  EXPECT_EQ(loose.out, enforce.out);
  EXPECT_THAT(Unwrapped(loose.err), HasSubstr("can only tighten the mode of the hook"));
  for (const char* mode : {"annotate", "enforce"}) {
    const Finished planned = Check(JobWith(kSmall), {absl::StrCat("--mode=", mode)});
    EXPECT_EQ(planned.exit_code, 0) << planned.err;
    EXPECT_THAT(planned.out, HasSubstr("Job team-a/train: admitted, planned\n  add /metadata/annotations/"));
  }
  EXPECT_EQ(Check(JobWith(kSmall), {"--mode=loud"}).exit_code, 2);
}

// One job after the other, for programs: the proof counts more than what kept another from being judged.
TEST_F(CheckTest, TheCodeOfSeveralJobsIsThatOfTheWorst) {
  const std::string jobs = absl::StrCat(JobWith(kSmall), "---\n", JobWith("nonsense"), "---\n", JobWith(kHuge));
  const Finished checked = Check(jobs, {"--output=json"});
  EXPECT_EQ(checked.exit_code, 3) << checked.err;
  const json all = json::parse(checked.out);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0]["outcome"], "planned");
  EXPECT_THAT(all[0]["warnings"], IsEmpty());
  EXPECT_THAT(all[0]["patch"], Not(IsEmpty()));
  EXPECT_EQ(all[1]["outcome"], "warned");
  EXPECT_EQ(all[1]["warnings"], json::array({"planwright.dev/graph must be graphs/DIGEST or zoo:NAME"}));
  EXPECT_EQ(all[1]["infeasible"], false);
  EXPECT_EQ(all[2]["infeasible"], true);
  EXPECT_EQ(all[2]["allowed"], true);
  EXPECT_EQ(Check(absl::StrCat(JobWith("nonsense"), "---\n", JobWith(kSmall))).exit_code, 2);
}

TEST_F(CheckTest, WhatWasNotJudgedHasTheCodeOfItsReason) {
  const auto check = [this](const std::string& manifest, int code, const std::string& warning,
                            const std::vector<std::string>& flags = {}) {
    const Finished checked = Check(manifest, flags);
    EXPECT_EQ(checked.exit_code, code) << warning;
    EXPECT_EQ(checked.out, "Job team-a/train: admitted, warned\n");
    EXPECT_THAT(Unwrapped(checked.err), HasSubstr(warning));
  };
  check(JobWith("zoo:nobody"), 2, "not judged: the zoo has no model \"nobody\"");
  check(JobWith("graphs/0123"), 2, "planwright.dev/graph must be graphs/DIGEST or zoo:NAME");
  check(JobWith(kSmall), 4, "not judged: planwrightd cannot be reached", {"--server=127.0.0.1:1"});
  // Who fits no pool is no mistake of the manifest's.
  check(absl::StrReplaceAll(JobWith(kSmall), {{"queue-name: gpu", "queue-name: other"}}), 0, "not judged: no pool has");
  check(absl::StrReplaceAll(JobWith(kSmall), {{"nvidia.com/gpu: 2", "nvidia.com/gpu: 8"}}), 0,
        "a pod asks for 8 nvidia.com/gpu, and nodes of pool h100 have 4");
}

TEST_F(CheckTest, AsksAServerForGraphsThatItKeeps) {
  const std::string auth = Write("auth.json", R"json({"tokens": [
    {"name": "ci", "role": "planner", "sha256": "5e85d4b77f1514ef8f44826456cddc57cfb735c901f5ef483cf6824debc6e9c0"},
    {"name": "look", "role": "reader", "sha256": "ba5005a40cf5212e4ac0190104cc127edab013294bb71279a975b27a80982d45"}
    ]})json");
  DaemonProcess daemon({"--store=sqlite:" + (folder_ / "planwright.db").string(), "--auth_config=" + auth});
  const std::string server = "--server=" + daemon.address();
  const std::string planner = "--token_file=" + Write("planner", "planner-token");
  const std::string reader = "--token_file=" + Write("reader", "reader-token");
  const Finished registered = Planwright({"register", "--graph=zoo:gpt-125m", server, planner});
  ASSERT_EQ(registered.exit_code, 0) << registered.err;
  std::string job = JobWith(registered.out.substr(0, registered.out.find('\n')));
  job.insert(job.find("planwright.dev/graph"), "planwright.dev/trainer: megatron, ");
  const Finished planned = Check(job, {server, planner});
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("admitted, planned"));
  // A check leaves nothing behind.
  EXPECT_THAT(Planwright({"plans", server, planner}).out, HasSubstr("No plans are kept."));

  const Finished refused = Check(job, {server, reader});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(Unwrapped(refused.err), HasSubstr("not judged: planwrightd refused: StreamPlan needs the role planner"));
  const Finished unknown = Check(JobWith("graphs/" + std::string(64, '0')), {server, planner});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("not judged: "));
}

TEST_F(CheckTest, NeedsAManifestAndPools) {
  EXPECT_THAT(Planwright({"check", "--pools_file=" + (folder_ / "pools.yaml").string()}).err,
              HasSubstr("the manifest is missing"));
  const Finished without_pools = Planwright({"check", "-"}, JobWith(kSmall));
  EXPECT_EQ(without_pools.exit_code, 2);
  EXPECT_THAT(without_pools.err, HasSubstr("--pools_file is missing"));
  EXPECT_EQ(Check("kind: [").exit_code, 2);
  EXPECT_EQ(Planwright({"check", "-", "--pools_file=" + (folder_ / "none.yaml").string()}, JobWith(kSmall)).exit_code,
            2);
  EXPECT_EQ(Planwright({"check", "-", "--pools_file=" + Write("wrong.yaml", "pools: 3")}, JobWith(kSmall)).exit_code,
            2);
}

}  // namespace
}  // namespace planwright::client
