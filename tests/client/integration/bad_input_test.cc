// Input that no plan can be made for: a clear error with its place, the right exit code, nothing on standard output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/client/integration/child.h"
#include "tests/support/unwrapped.h"

namespace planwright::client {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct BadInput {
  const char* name;
  std::string text;
  int exit_code = 2;
  // Standard error has a line with this.
  std::string error;
};

std::string Node(int id, const std::string& more = "") {
  return absl::StrCat(R"({"id": )", id,
                      R"(, "supportedOnFpga": 1, "fpgaLatency": 1, "cpuLatency": 2, "isBackwardNode": 0, "size": 10)",
                      more, "}");
}

std::string Edge(int source, int dest) {
  return absl::StrCat(R"({"sourceId": )", source, R"(, "destId": )", dest, R"(, "cost": 0.1})");
}

std::string File(const std::vector<std::string>& nodes, const std::vector<std::string>& edges,
                 const std::string& devices = R"("maxSizePerFPGA": 100, "maxFPGAs": 2, "maxCPUs": 0)") {
  return absl::StrCat("{", devices, R"(, "nodes": [)", absl::StrJoin(nodes, ","), R"(], "edges": [)",
                      absl::StrJoin(edges, ","), "]}");
}

// A request in native JSON with one operator, a chain to itself where `consumer` says so, and one device.
std::string Native(const std::string& op, const std::string& tensors = "") {
  return absl::StrCat(R"({"graph": {"operators": [)", op, R"(], "tensors": [)", tensors, R"(]},
    "cluster": {"device_classes": [{"name": "a"}], "devices": [{"name": "d", "device_class": "a"}],
                "interconnect": {"uniform": {"bandwidth_bytes_per_second": 1e9}}}})");
}

// Two operators on four devices "d0", ..., "d3" of 8 bytes, or `devices`, over an interconnect.
std::string Connected(const std::string& interconnect, const std::string& devices = "",
                      const std::string& problem = "") {
  std::vector<std::string> list;
  for (int i = 0; i < 4; ++i) list.push_back(absl::StrCat(R"({"name": "d)", i, R"(", "device_class": "a"})"));
  constexpr char kOperators[] = R"(
    {"name": "o", "costs": [{"device_class": "a", "forward_ms": 1}], "memory_bytes": 6},
    {"name": "p", "costs": [{"device_class": "a", "forward_ms": 1}], "memory_bytes": 6})";
  return absl::StrCat(R"({"graph": {"operators": [)", kOperators,
                      R"(], "tensors": [{"name": "t", "producer": "o", "consumers": ["p"], "size_bytes": 8}]},
    "cluster": {"device_classes": [{"name": "a", "memory_bytes": 8}], "devices": [)",
                      devices.empty() ? absl::StrJoin(list, ", ") : devices, R"(], "interconnect": {)", interconnect,
                      R"(}}, "problem": {)", problem, "}}");
}

// One machine whose devices are connected alike.
constexpr char kMachine[] = R"("nodes": {"devices_per_node": 4, "bandwidth_bytes_per_second": 1e9})";

std::string Links(const std::string& links) { return absl::StrCat(R"("links": {"links": [)", links, "]}"); }

std::string LinkOf(int a, int b, const std::string& bandwidth) {
  return absl::StrCat(R"({"device_a": "d)", a, R"(", "device_b": "d)", b, R"(", "bandwidth_bytes_per_second": )",
                      bandwidth, "}");
}

// Four rows of four.
std::string MatrixOf(const std::string& entries) {
  return absl::StrCat(R"("matrix": {"bandwidth_bytes_per_second": [)", entries, "]}");
}

class BadInputTest : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, GetsAClearError) {
  const Finished planned = Planwright({"plan", "--graph=-"}, GetParam().text);
  EXPECT_EQ(planned.exit_code, GetParam().exit_code) << planned.err;
  EXPECT_THAT(planned.out, IsEmpty());
  EXPECT_THAT(Unwrapped(planned.err), HasSubstr(GetParam().error));
}

constexpr char kCost[] = R"({"name": "o", "costs": [{"device_class": "a", "forward_ms": )";

INSTANTIATE_TEST_SUITE_P(
    All, BadInputTest,
    ::testing::Values(
        BadInput{"EmptyFile", "", 2, "error: standard input: is empty"},
        BadInput{"TruncatedJson", R"({"maxFPGAs": 2, "nodes": [{"id": 1)", 2,
                 "error: standard input: line 1, column 34: object - unexpected end of input"},
        BadInput{"ManyBrackets", std::string(200'000, '['), 2, "is nested deeper than 100 levels"},
        BadInput{"ManyBracketsInAGraph", absl::StrCat(R"({"graph": )", std::string(200'000, '[')), 2,
                 "is nested deeper than 100 levels"},
        BadInput{"NanLiteral", R"({"maxSizePerFPGA": NaN})", 2, "line 1, column 20: value - invalid literal"},
        BadInput{"Cycle", File({Node(1), Node(2)}, {Edge(1, 2), Edge(2, 1)}), 2, "error: graph"},
        BadInput{"NegativeCost", File({Node(1, R"(, "cpuLatency": -1)")}, {}), 2,
                 "error: nodes[0].cpuLatency: must be >= 0, is -1"},
        BadInput{"DuplicateId", File({Node(1), Node(1)}, {}), 2,
                 "error: nodes[1].id: must be unique, is 1 as in nodes[0]"},
        BadInput{"DanglingEdge", File({Node(1)}, {Edge(1, 2)}), 2,
                 "error: edges[0].destId: must be the id of a node, is 2"},
        BadInput{"NoDevices", File({Node(1)}, {}, R"("maxSizePerFPGA": 100, "maxFPGAs": 0, "maxCPUs": 0)"), 2,
                 "error: cluster"},
        BadInput{"TooManyDevices", File({Node(1)}, {}, R"("maxSizePerFPGA": 9, "maxFPGAs": 2000000000, "maxCPUs": 0)"),
                 2, "error: cluster"},
        BadInput{"NoDeviceCanRunIt", File({Node(1, R"(, "supportedOnFpga": 0)")}, {}), 3, "error: infeasible: "},
        BadInput{"OperatorLargerThanADevice", File({Node(1, R"(, "size": 101)")}, {}), 3, "error: infeasible: "},
        BadInput{"ModelLargerThanAllMemory",
                 File({Node(1, R"(, "size": 90)"), Node(2, R"(, "size": 90)"), Node(3, R"(, "size": 90)")}, {}), 3,
                 "error: infeasible: "},
        BadInput{"NativeNan", Native(absl::StrCat(kCost, R"("NaN"}]})")), 2,
                 "error: graph.operators[0].costs[0].forward_ms: must be finite"},
        BadInput{"NativeInfinity", Native(absl::StrCat(kCost, R"("Infinity"}]})")), 2,
                 "error: graph.operators[0].costs[0].forward_ms: must be finite"},
        BadInput{"NativeNegative", Native(absl::StrCat(kCost, "-1}]}")), 2,
                 "error: graph.operators[0].costs[0].forward_ms: must be "},
        BadInput{"NativeDuplicateName", Native(absl::StrCat(kCost, "1}]}, ", kCost, "1}]}")), 2,
                 "error: graph.operators[1].name: "},
        BadInput{"NativeDanglingName",
                 Native(absl::StrCat(kCost, "1}]}"), R"({"name": "t", "producer": "o", "consumers": ["x"]})"), 2,
                 "error: graph.tensors[0].consumers[0]: "},
        BadInput{"NativeUnknownField", R"({"graph": {"nodes": []}})", 2,
                 "error: graph.nodes: is not a field of this format"},
        BadInput{"DisconnectedLinks", Connected(Links(LinkOf(0, 1, "1") + "," + LinkOf(2, 3, "1"))), 2,
                 "error: cluster.interconnect.links.links: must connect all devices, there is no way from \"d0\" to "
                 "\"d2\""},
        BadInput{"ZeroBandwidthOfALink", Connected(Links(LinkOf(0, 1, "0"))), 2,
                 "error: cluster.interconnect.links.links[0].bandwidth_bytes_per_second: must be finite and > 0, is 0"},
        BadInput{
            "NanBandwidthOfALink", Connected(Links(LinkOf(0, 1, R"("NaN")"))), 2,
            "error: cluster.interconnect.links.links[0].bandwidth_bytes_per_second: must be finite and > 0, is nan"},
        BadInput{"ZeroBandwidthOfALevel", Connected(R"("hierarchy": {"levels": [{"fan_out": 4}]})"), 2,
                 "error: cluster.interconnect.hierarchy.levels[0].bandwidth_bytes_per_second: must be finite and > 0"},
        BadInput{"NanBandwidthOfAGrid",
                 Connected(R"("grid": {"dimensions": [4], "link_bandwidth_bytes_per_second": "NaN"})"), 2,
                 "error: cluster.interconnect.grid.link_bandwidth_bytes_per_second: must be finite and > 0, is nan"},
        BadInput{"NanBandwidthOfAMachine",
                 Connected(R"("nodes": {"devices_per_node": 4, "bandwidth_bytes_per_second": "NaN"})"), 2,
                 "error: cluster.interconnect.nodes.bandwidth_bytes_per_second: must be finite and > 0, is nan"},
        BadInput{"ZeroBandwidthOfAPair", Connected(MatrixOf("0,1,1,1, 1,0,1,1, 1,1,0,0, 1,1,0,0")), 2,
                 "error: cluster.interconnect.matrix.bandwidth_bytes_per_second[11]: must be finite and > 0, is 0"},
        BadInput{"AsymmetricMatrix", Connected(MatrixOf("0,1,1,1, 1,0,1,1, 1,3,0,1, 1,1,1,0")), 2,
                 "must be that of the other direction, 1, is 3: \"d2\" to \"d1\""},
        BadInput{"DuplicateDevices",
                 Connected(R"("uniform": {"bandwidth_bytes_per_second": 1})",
                           R"({"name": "d", "device_class": "a"}, {"name": "d", "device_class": "a"})"),
                 2, "error: cluster.devices[1].name: must be unique, \"d\" is also the name of cluster.devices[0]"},
        BadInput{
            "MoreCopiesThanDevices",
            Connected(kMachine, "", R"("replication": "REPLICATION_UNIFORM", "num_stages": 3, "num_replicas": 2)"), 2,
            "error: problem.num_stages: must leave a device for each copy of each stage: 3 stages of 2 replicas need "
            "6, there are 4"},
        BadInput{"AStageThatFitsOnNoDevice", Connected(kMachine, "", R"("num_stages": 1)"), 3,
                 "error: infeasible: every placement that the problem allows overfills a device"},
        BadInput{"AnImage", "\x89PNG\r\n", 2, "error: standard input: seems to be a picture"}),
    [](const auto& instance) { return instance.param.name; });

// Micro-batches in flight count, and the numbers say what is missing of what.
TEST(StepMemoryTest, AStepWhoseActivationsNeverFitIsProvenInfeasible) {
  const std::vector<std::string> plan = {"plan", "--graph=zoo:bert-base", "--cluster=zoo:torus2d:2",
                                         "--micro_batches=100000", "--memory_preset=sgd"};
  const Finished all = Planwright(plan);
  EXPECT_EQ(all.exit_code, 3);
  EXPECT_THAT(Unwrapped(all.err), HasSubstr("but all devices together offer 320.00 GiB: "));
  EXPECT_THAT(Unwrapped(all.err), HasSubstr("with all 100,000 micro-batches in flight: problem.schedule ONE_F_ONE_B"));
  EXPECT_THAT(all.err, ContainsRegex("error: ... and [0-9]+ more\n"));
  std::vector<std::string> early = plan;
  early.emplace_back("--schedule=one_f_one_b");
  EXPECT_EQ(Planwright(early).exit_code, 0);
}

TEST(StepMemoryTest, SaysWhatIsNeededWhereNoPipelineFits) {
  const Finished planned =
      Planwright({"plan", "--graph=zoo:bert-large", "--cluster=zoo:torus2d:2?memory_gib=3", "--micro_batches=1000",
                  "--schedule=one_f_one_b", "--stages=4", "--memory_preset=sgd"});
  EXPECT_EQ(planned.exit_code, 5);
  EXPECT_THAT(Unwrapped(planned.err), HasSubstr("the model needs at least 8.20 GiB of 12.00 GiB on all devices; the "
                                                "tightest is operator \"encoder.0/attention_dropout\" with 224.00 MiB, "
                                                "of 3.00 GiB on device \"host0/gpu0\""));
}

// The help marks what every problem with it is refused for.
TEST(HelpTest, MarksWhatIsNotPlannedYet) {
  // Lines are wrapped anywhere.
  const std::vector<std::string> words =
      absl::StrSplit(Planwright({"help", "plan"}).out, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  const std::string help = absl::StrJoin(words, " ");
  EXPECT_THAT(help, HasSubstr("--require_contiguous_backward not planned yet: "));
  EXPECT_THAT(help, HasSubstr("chimera not yet"));
  EXPECT_THAT(help, HasSubstr("full: with schedule periodic"));
  for (const char* flag : {"--require_contiguous_backward", "--schedule=interleaved", "--schedule=chimera",
                           "--schedule=zero_bubble_h1", "--recomputation=full"}) {
    const Finished planned = Planwright({"plan", "--graph=-", flag}, File({Node(1)}, {}));
    EXPECT_EQ(planned.exit_code, 2) << flag;
    EXPECT_THAT(planned.err, HasSubstr("is not supported by this version")) << flag;
  }
}

}  // namespace
}  // namespace planwright::client
