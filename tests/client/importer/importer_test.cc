#include "client/importer/importer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/library/error_details.h"

namespace planwright::client {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kGraphJson[] = R"({"operators": [{"name": "a"}], "tensors": []})";
constexpr char kDevicePlacementJson[] = R"({"maxSizePerFPGA": 5, "maxFPGAs": 1, "maxCPUs": 0, "nodes": [
  {"id": 1, "supportedOnFpga": 1, "fpgaLatency": 1, "cpuLatency": 2, "isBackwardNode": 0}], "edges": []})";

absl::StatusOr<ImportedRequest> ImportRequest(const std::string& text) {
  return ImportGraph(text, "g.json", {.format = GraphFormat::kAuto});
}

std::string ErrorInRequest(const std::string& text) {
  const auto imported = ImportRequest(text);
  EXPECT_EQ(imported.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(imported.status().message());
}

TEST(ImporterTest, ReadsAGraphInEveryForm) {
  for (const std::string text :
       {kGraphJson, R"({"displayName": "x", "operators": [{"name": "a"}]})", R"(operators { name: "a" })",
        "# made by hand\noperators: [{ name: \"a\" }]", R"({"graph": {"operators": [{"name": "a"}]}})",
        R"(graph { operators { name: "a" } })"}) {
    const auto imported = ImportRequest(text);
    ASSERT_TRUE(imported.ok()) << text << "\n" << imported.status();
    ASSERT_THAT(imported->request.graph().operators(), SizeIs(1)) << text;
    EXPECT_EQ(imported->request.graph().operators(0).name(), "a");
    EXPECT_FALSE(imported->request.has_cluster());
  }
}

TEST(ImporterTest, ReadsAWholeRequest) {
  const auto imported = ImportRequest(
      R"({"graph_reference": "zoo:bert-base", "cluster": {"display_name": "c"}, "problem": {"micro_batches": 4},
          "options": {"seed": "7", "time_limit": "2s"}})");
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->request.graph_reference(), "zoo:bert-base");
  EXPECT_EQ(imported->request.cluster().display_name(), "c");
  EXPECT_EQ(imported->request.problem().micro_batches(), 4);
  EXPECT_EQ(imported->request.options().time_limit().seconds(), 2);
}

TEST(ImporterTest, ForcedFormatsDoNotGuess) {
  EXPECT_TRUE(ImportGraph(kGraphJson, "g", {.format = GraphFormat::kNativeJson}).ok());
  EXPECT_FALSE(ImportGraph(kGraphJson, "g", {.format = GraphFormat::kTextProto}).ok());
  EXPECT_FALSE(ImportGraph(kGraphJson, "g", {.format = GraphFormat::kDevicePlacement}).ok());
  EXPECT_TRUE(ImportGraph(kDevicePlacementJson, "g", {.format = GraphFormat::kDevicePlacement}).ok());
  EXPECT_FALSE(ImportGraph("", "g", {.format = GraphFormat::kNativeJson}).ok());
  EXPECT_FALSE(ImportGraph("", "g", {.format = GraphFormat::kDevicePlacement}).ok());
}

TEST(ImporterTest, GoldenErrors) {
  EXPECT_EQ(ErrorInRequest(""), "g.json: is empty");
  EXPECT_EQ(ErrorInRequest(" \n\t# nothing here"), "g.json: is empty");
  EXPECT_EQ(ErrorInRequest("\x7f"
                           "ELF"),
            "g.json: is neither JSON nor text proto; a graph can be: JSON and text proto of graph.proto, "
            "device-placement, PipeDream, Piper, ONNX, torch.export and the config.json of transformers");
  EXPECT_THAT(ErrorInRequest("hello world"), StartsWith("g.json: is neither JSON nor text proto; a graph can be: "));
  EXPECT_EQ(ErrorInRequest("[1, 2]"), "g.json: must hold a JSON object");
  EXPECT_EQ(ErrorInRequest(R"({"problem": {}})"), "g.json: holds no graph");
  EXPECT_EQ(ErrorInRequest("operators { nam: \"a\" }"),
            "g.json: line 1, column 16: Message type \"planwright.v1.Operator\" has no field named \"nam\".");
  EXPECT_EQ(ErrorInRequest(R"({"fpgas": [], "cpus": []})"),
            "g.json: holds a plan, not a graph: give it to `planwright evaluate --plan`");
}

TEST(ImporterTest, NamesFilesOfOtherKinds) {
  const auto seems = [](const std::string& text) {
    const std::string error = ErrorInRequest(text);
    constexpr std::string_view kPrefix = "g.json: seems to be ";
    EXPECT_THAT(error, StartsWith(std::string(kPrefix)));
    return error.substr(kPrefix.size(), error.find("; a graph can be: ") - kPrefix.size());
  };
  using std::string_literals::operator""s;
  EXPECT_EQ(seems("PK\x03\x04\x14"),
            "a zip archive, such as a checkpoint of PyTorch (.pt), and no model of torch.export (.pt2)");
  EXPECT_EQ(seems("\x1f\x8b\x08"), "compressed by gzip: decompress it first");
  EXPECT_EQ(seems("\x80\x02}q"), "a Python pickle, which can run programs and is never read");
  EXPECT_EQ(seems("\x10\0\0\0\0\0\0\0{\"a\": {}}"s), "a safetensors file, which holds weights");
  EXPECT_EQ(seems(R"({"traceEvents": [], "schemaVersion": 1})"),
            "a trace of a profiler, which goes beside a graph: name it with --profile");
  EXPECT_EQ(seems("\tGPU0\tGPU1\nGPU0\t X \tNV12\n"), "the output of nvidia-smi topo -m");
  EXPECT_EQ(seems("<?xml version=\"1.0\"?>\n<system version=\"1\"/>"), "a topology of NCCL");
  EXPECT_EQ(seems("<topology version=\"2.0\"/>"), "a topology of hwloc");
  EXPECT_EQ(seems("<!DOCTYPE html><html>"), "a web page");
  EXPECT_EQ(seems("# made by hand\nSwitchName=s0 Nodes=n[0-3]\n"), "a topology.conf of Slurm");
  EXPECT_EQ(seems(R"({"apiVersion": "v1", "kind": "List", "items": []})"), "objects of Kubernetes");
  EXPECT_EQ(seems(R"({"directed": true, "nodes": [], "edges": []})"), "a graph of networkx, which holds no costs");
  EXPECT_EQ(seems("name,forward_ms,backward_ms\n"),
            "a table of times, which goes beside a graph: name it with --profile");
}

TEST(ImporterTest, OurOwnFormsMayNameAnything) {
  const auto cluster = ImportCluster("devices { name: \"GPU0\" device_class: \"GPU0 GPU1\" }", "c");
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  EXPECT_EQ(cluster->cluster.devices(0).name(), "GPU0");
  const auto yaml =
      ImportCluster("# Rank 0 of our hosts, SwitchName=x\nnodes: [{hosts: GPU0, devices: 1, class: l4}]\n", "c");
  ASSERT_TRUE(yaml.ok()) << yaml.status();
  EXPECT_EQ(yaml->cluster.devices(0).host(), "GPU0");
}

TEST(ImporterTest, SaysWhereASwappedFileBelongs) {
  const std::string graph = R"({"operators": [{"name": "a"}]})";
  const std::string cluster = R"({"device_classes": [{"name": "gpu"}]})";
  const std::string plan = R"({"problem": {}, "stages": [{"operators": ["a"]}]})";
  const std::string not_a_graph = "g.json: holds a plan, not a graph: give it to `planwright evaluate --plan`";
  EXPECT_EQ(ErrorInRequest(plan), not_a_graph);
  EXPECT_EQ(ErrorInRequest(R"({"valid": true, "plan": {}})"), not_a_graph);
  EXPECT_EQ(ErrorInRequest(R"(stages { operators: "a" })"), not_a_graph);
  EXPECT_EQ(ErrorInRequest(cluster), "g.json: holds a cluster, not a graph: give it to --cluster");
  const auto cluster_error = [](const std::string& text) {
    return std::string(ImportCluster(text, "c").status().message());
  };
  EXPECT_EQ(cluster_error(plan), "c: holds a plan, not a cluster: give it to `planwright evaluate --plan`");
  EXPECT_EQ(cluster_error(graph), "c: holds a graph, not a cluster: give it to --graph");
  EXPECT_EQ(cluster_error(R"(operators { name: "a" })"), "c: holds a graph, not a cluster: give it to --graph");
  const auto plan_error = [](const std::string& text) {
    return std::string(ImportPlan(text, "p", nullptr).status().message());
  };
  EXPECT_EQ(plan_error(graph), "p: holds a graph, not a plan: give it to --graph");
  EXPECT_EQ(plan_error(kDevicePlacementJson), "p: holds a graph, not a plan: give it to --graph");
  EXPECT_EQ(plan_error(R"({"graph": {}, "problem": {}})"), "p: holds a request, not a plan: give it to --graph");
  EXPECT_EQ(plan_error(cluster), "p: holds a cluster, not a plan: give it to --cluster");
  EXPECT_EQ(plan_error("nodes: 4\n"), "p: holds a cluster, not a plan: give it to --cluster");
}

TEST(ImporterTest, TextProtoIsNoDevicePlacementFile) {
  const auto imported = ImportGraph("operators { }", "g.json", {.format = GraphFormat::kDevicePlacement});
  EXPECT_THAT(std::string(imported.status().message()), StartsWith("g.json: line 1, column 1"));
}

TEST(ImporterTest, NativeJsonErrorsHavePaths) {
  const auto violations = [](const std::string& text) {
    return ErrorDetailsOf(ImportRequest(text).status()).violations;
  };
  EXPECT_THAT(
      violations(R"({"operators": [{"name": "a"}, {"nam": "b"}]})"),
      ElementsAre(FieldViolation{"graph.operators[1].nam", "is not a field of this format; did you mean name?"}));
  EXPECT_THAT(
      violations(R"({"operators": [{"memory_bytes": "many"}]})"),
      ElementsAre(FieldViolation{"graph.operators[0].memory_bytes", "invalid value \"many\" for type TYPE_INT64"}));
  EXPECT_THAT(violations(R"({"operators": [{"pass": "SIDEWAYS"}]})"),
              ElementsAre(FieldViolation{"graph.operators[0].pass",
                                         "must be one of PASS_FORWARD, PASS_BACKWARD, is \"SIDEWAYS\""}));
  EXPECT_THAT(violations(R"({"operators": [{"pass": "PAS_BACKWARD"}]})").front().description,
              EndsWith("is \"PAS_BACKWARD\"; did you mean PASS_BACKWARD?"));
  EXPECT_THAT(violations(R"({"graph": {"operators": 5}})"), SizeIs(1));
  EXPECT_THAT(violations(R"({"graph": {}, "clusters": {}})"),
              ElementsAre(FieldViolation{"clusters", "is not a field of this format; did you mean cluster?"}));
}

TEST(ImporterTest, DeepTextProtoIsRefused) {
  // Nothing of ours nests without end; an unknown field must not do so either.
  std::string hostile;
  for (int i = 0; i < 200'000; ++i) hostile += "graph {";
  EXPECT_THAT(ErrorInRequest(hostile), StartsWith("g.json: line 1, column "));
}

TEST(ImporterTest, ReadsAClusterFromEveryFileThatHasOne) {
  for (const std::string text :
       {R"({"display_name": "c", "devices": [{"name": "d"}]})", R"(display_name: "c" devices { name: "d" })",
        R"({"cluster": {"display_name": "c", "devices": [{"name": "d"}]}})"}) {
    const auto cluster = ImportCluster(text, "c.json");
    ASSERT_TRUE(cluster.ok()) << text << "\n" << cluster.status();
    EXPECT_EQ(cluster->cluster.devices(0).name(), "d");
  }
  const auto imported = ImportCluster(kDevicePlacementJson, "c.json");
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->cluster.device_groups(0).count(), 1);
  EXPECT_EQ(ImportCluster(R"({"graph": {}})", "c.json").status().message(), "c.json: holds no cluster");
  EXPECT_THAT(
      ErrorDetailsOf(ImportCluster(R"({"devices": [{"nam": "d"}]})", "c.json").status()).violations,
      ElementsAre(FieldViolation{"cluster.devices[0].nam", "is not a field of this format; did you mean name?"}));
}

TEST(ImporterTest, ReadsAPlanInEveryForm) {
  for (const std::string text :
       {R"({"objective_ms": 2.5, "stages": [{"operators": ["a"]}]})", R"(objective_ms: 2.5 stages { operators: "a" })",
        R"({"valid": true, "plan": {"objective_ms": 2.5, "stages": [{"operators": ["a"]}]}})",
        R"(plan { objective_ms: 2.5 stages { operators: "a" } })"}) {
    const auto plan = ImportPlan(text, "p.json", nullptr);
    ASSERT_TRUE(plan.ok()) << text << "\n" << plan.status();
    EXPECT_EQ(plan->objective_ms(), 2.5);
    EXPECT_EQ(plan->stages(0).operators(0), "a");
  }
  EXPECT_THAT(ErrorDetailsOf(ImportPlan(R"({"stages": [{"index": 1.5}]})", "p.json", nullptr).status()).violations,
              ElementsAre(FieldViolation{"plan.stages[0].index", "invalid value 1.5 for type TYPE_INT32"}));
  EXPECT_EQ(ImportPlan("[]", "p.json", nullptr).status().message(), "p.json: must hold a JSON object");
}

}  // namespace
}  // namespace planwright::client
