#include "client/importer/graphs/kineto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace planwright::client {
namespace {

using ::testing::HasSubstr;

// Samples are written from the documentation of the format; no real trace was at hand.
std::string Event(const std::string& category, const std::string& name, int thread, double ts, double dur,
                  const std::string& args = "") {
  return absl::StrCat(R"({"ph": "X", "cat": ")", category, R"(", "name": ")", name, R"(", "pid": 7, "tid": )", thread,
                      R"(, "ts": )", ts, R"(, "dur": )", dur, R"(, "args": {"External id": 9)",
                      args.empty() ? "" : ", ", args, "}}");
}

std::string Trace(const std::vector<std::string>& events) {
  return absl::StrCat(R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "H100", "numSms": 132}],
    "distributedInfo": {"backend": "nccl", "rank": 0}, "traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "ts": 1, "args": {"name": "python"}},)",
                      absl::StrJoin(events, ",\n"), R"(], "traceName": "t.json", "displayTimeUnit": "ms"})");
}

std::string Gzip(const std::string& text) {
  z_stream deflater{};
  EXPECT_EQ(deflateInit2(&deflater, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&deflater, text.size()), '\0');
  deflater.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  deflater.avail_in = static_cast<uInt>(text.size());
  deflater.next_out = reinterpret_cast<Bytef*>(packed.data());
  deflater.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&deflater, Z_FINISH), Z_STREAM_END);
  packed.resize(packed.size() - deflater.avail_out);
  deflateEnd(&deflater);
  return packed;
}

// One step on a GPU from `ts` on: layer.0 with two kernels of 2 and 3 ms, one of them in layer.0/mlp, and a backward
// pass of 8 ms on autograd's thread. `factor` stretches it; numbers of the step begin at `base`.
std::vector<std::string> Step(int step, double ts, int base, double factor = 1) {
  const auto number = [base](const char* name, int value) { return absl::StrCat("\"", name, "\": ", base + value); };
  const auto correlation = [&](int value) { return number("correlation", value); };
  return {
      Event("user_annotation", absl::StrCat("ProfilerStep#", step), 1, ts, 1000),
      Event("gpu_user_annotation", absl::StrCat("ProfilerStep#", step), 1, ts, 1000),
      Event("user_annotation", "layer.0", 1, ts + 100, 200),
      Event("user_annotation", "layer.0/mlp", 1, ts + 150, 100),
      Event("cpu_op", "aten::linear", 1, ts + 160, 50,
            absl::StrCat(number("Sequence number", 1), ", \"Fwd thread id\": 0")),
      Event("cuda_runtime", "cudaLaunchKernel", 1, ts + 110, 5, correlation(1)),
      Event("cuda_runtime", "cudaLaunchKernel", 1, ts + 170, 5, correlation(2)),
      Event("kernel", "gemm", 70, ts + 120, 2000 * factor, correlation(1)),
      Event("kernel", "gemm", 70, ts + 180, 3000 * factor, correlation(2)),
      Event("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 2, ts + 400, 100,
            absl::StrCat(number("Sequence number", 1), ", \"Fwd thread id\": 1")),
      Event("cpu_op", "AddmmBackward0", 2, ts + 410, 80,
            absl::StrCat(number("Sequence number", 1), ", \"Fwd thread id\": 1")),
      Event("cuda_runtime", "cudaLaunchKernel", 2, ts + 420, 5, correlation(3)),
      Event("kernel", "gemm", 70, ts + 500, 8000 * factor, correlation(3)),
      // Launched by nobody that has a name.
      Event("cuda_runtime", "cudaMemcpyAsync", 1, ts + 900, 5, correlation(4)),
      Event("gpu_memcpy", "Memcpy HtoD", 70, ts + 910, 7777, correlation(4)),
  };
}

std::vector<std::string> Together(std::vector<std::string> first, const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::vector<std::string> Shown(const std::vector<ProfileRow>& rows) {
  std::vector<std::string> texts;
  for (const ProfileRow& row : rows) texts.push_back(absl::StrCat(row.name, " ", row.forward_ms, " ", row.backward_ms));
  return texts;
}

KinetoTimes ReadTrace(const std::string& text) {
  const auto times = ReadKineto(text, "trace.json");
  EXPECT_TRUE(times.ok()) << times.status();
  return times.ok() ? *times : KinetoTimes();
}

std::string ErrorInTrace(const std::string& text) {
  const auto times = ReadKineto(text, "trace.json");
  EXPECT_EQ(times.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(times.status().message());
}

TEST(KinetoTest, KernelsBelongToTheNamesThatLaunchedThem) {
  const KinetoTimes times = ReadTrace(Trace(Step(4, 1000, 10)));
  EXPECT_THAT(Shown(times.rows), testing::ElementsAre("layer.0 5 8", "layer.0/mlp 3 8"));
  EXPECT_EQ(times.assumption, "times of 2 names are means of kernels over the whole trace, since it has one step");
}

TEST(KinetoTest, TheFirstStepIsLeftOutAndTheOthersAreMeans) {
  const auto steps = Together(Together(Step(1, 1000, 10, 100), Step(2, 3000, 20)), Step(3, 5000, 30, 3));
  const KinetoTimes times = ReadTrace(Trace(steps));
  EXPECT_THAT(Shown(times.rows), testing::ElementsAre("layer.0 10 16", "layer.0/mlp 6 16"));
  EXPECT_THAT(times.assumption, HasSubstr("over 2 of 3 steps, the first left out"));
}

TEST(KinetoTest, TheOrderOfTheEventsDoesNotMatter) {
  auto steps = Together(Step(1, 1000, 10, 100), Step(2, 3000, 20));
  const KinetoTimes times = ReadTrace(Trace(steps));
  std::reverse(steps.begin(), steps.end());
  EXPECT_THAT(Shown(ReadTrace(Trace(steps)).rows), testing::UnorderedElementsAreArray(Shown(times.rows)));
}

TEST(KinetoTest, WithoutKernelsTheStretchesThemselvesCount) {
  const auto sequence = [](int forward_thread) {
    return absl::StrCat("\"Sequence number\": 5, \"Fwd thread id\": ", forward_thread);
  };
  const KinetoTimes times = ReadTrace(Trace(
      {Event("user_annotation", "layer.0", 1, 100, 2000), Event("cpu_op", "aten::linear", 1, 150, 1000, sequence(0)),
       Event("cpu_op", "autograd::engine::evaluate_function", 2, 5000, 4000, sequence(1)),
       Event("cpu_op", "AddmmBackward0", 2, 5100, 3000, sequence(1))}));
  EXPECT_THAT(Shown(times.rows), testing::ElementsAre("layer.0 2 4"));
  EXPECT_THAT(times.assumption, HasSubstr("there are no kernels over the whole trace, since it has no steps"));
}

TEST(KinetoTest, WhatIsComputedAgainHasOneBackwardPass) {
  const auto args = [](int sequence, int forward_thread) {
    return absl::StrCat("\"Sequence number\": ", sequence, ", \"Fwd thread id\": ", forward_thread);
  };
  const KinetoTimes times = ReadTrace(Trace({Event("user_annotation", "layer.0", 1, 100, 2000),
                                             Event("cpu_op", "CheckpointFunctionBackward", 2, 5000, 4000, args(5, 1)),
                                             Event("user_annotation", "layer.0", 2, 5100, 2000),
                                             Event("cpu_op", "aten::linear", 2, 5200, 10, args(6, 0)),
                                             Event("cpu_op", "AddmmBackward0", 2, 9500, 3000, args(6, 1))}));
  EXPECT_THAT(Shown(times.rows), testing::ElementsAre("layer.0 2 3"));
}

// Operators without a backward pass carry the number of the next one that has it.
TEST(KinetoTest, BackwardPassesBelongToTheLastOperatorWithTheirNumber) {
  const auto args = [](int forward_thread) {
    return absl::StrCat("\"Sequence number\": 5, \"Fwd thread id\": ", forward_thread);
  };
  const std::vector<std::string> events = {
      Event("user_annotation", "layer.0", 1, 100, 2000), Event("cpu_op", "aten::detach", 1, 150, 10, args(0)),
      Event("user_annotation", "layer.1", 1, 2500, 1000), Event("cpu_op", "aten::linear", 1, 2600, 10, args(0)),
      Event("cpu_op", "AddmmBackward0", 2, 5000, 4000, args(1))};
  EXPECT_THAT(Shown(ReadTrace(Trace(events)).rows), testing::ElementsAre("layer.0 2 0", "layer.1 1 4"));
}

TEST(KinetoTest, LongNamesEndWithAWholeCharacter) {
  const std::string most(1023, 'a');
  const KinetoTimes times = ReadTrace(Trace({Event("user_annotation", most + "öö", 1, 0, 5000)}));
  ASSERT_EQ(times.rows.size(), 1U);
  EXPECT_EQ(times.rows[0].name, most);
}

TEST(KinetoTest, NamesInsideOfThemselvesCountOnce) {
  const KinetoTimes times =
      ReadTrace(Trace({Event("user_annotation", "a", 1, 0, 5000), Event("user_annotation", "a", 1, 10, 2000),
                       Event("user_annotation", "a", 2, 10, 3000)}));
  EXPECT_THAT(Shown(times.rows), testing::ElementsAre("a 4 0"));
}

TEST(KinetoTest, ReadsGzipAndArraysAlone) {
  const std::string trace = Trace(Step(4, 1000, 10));
  const auto rows = Shown(ReadTrace(trace).rows);
  EXPECT_EQ(Shown(ReadTrace(Gzip(trace)).rows), rows);
  // As several programs of compression write it one after the other.
  EXPECT_EQ(Shown(ReadTrace(Gzip(trace.substr(0, 500)) + Gzip(trace.substr(500))).rows), rows);
  EXPECT_EQ(Shown(ReadTrace(absl::StrCat("[", absl::StrJoin(Step(4, 1000, 10), ","), "]")).rows), rows);
}

TEST(KinetoTest, SaysWhatIsWrong) {
  EXPECT_EQ(ErrorInTrace("{\"traceEvents\": [], \"a\": 1}").substr(0, 28), "trace.json: names no layer: ");
  EXPECT_EQ(ErrorInTrace("{}"), "trace.json: is no trace of PyTorch's profiler: it has no \"traceEvents\"");
  EXPECT_THAT(ErrorInTrace("{\"traceEvents\": ["), HasSubstr("trace.json: traceEvents[0]: is not JSON"));
  EXPECT_THAT(ErrorInTrace(Trace({Event("kernel", "k", 1, 1, -5, "\"correlation\": 1")})),
              HasSubstr("traceEvents[1].dur: must be a time >= 0"));
  EXPECT_THAT(ErrorInTrace(R"([{"ph": "X", "cat": "kernel", "dur": 1}])"),
              HasSubstr("traceEvents[0].ts: must be a time"));
  EXPECT_THAT(ErrorInTrace(R"([{"ph": "X", "cat": "kernel", "ts": 1e300}])"), HasSubstr("traceEvents[0].ts"));
  EXPECT_THAT(ErrorInTrace(std::string(1000, '[')), HasSubstr("is nested deeper than 100 levels"));
  const std::string packed = Gzip(Trace(Step(4, 1000, 10)));
  EXPECT_THAT(ErrorInTrace(packed.substr(0, packed.size() / 2)), HasSubstr("is damaged gzip: it ends too early"));
  std::string broken = packed;
  broken[packed.size() / 2] ^= 0x55;
  EXPECT_THAT(ErrorInTrace(broken), HasSubstr("trace.json: "));
  EXPECT_THAT(ErrorInTrace("\x1f\x8b"), HasSubstr("is damaged gzip"));
}

TEST(KinetoTest, BombsAreGivenUp) {
  const auto error_in = [](const std::string& bytes) {
    return std::string(ReadKinetoEvents(bytes, "t", 8 << 20).status().message());
  };
  // Members of gzip may follow each other.
  const std::string member = Gzip(std::string(4 << 20, ' '));
  EXPECT_EQ(error_in(member + member + member), "t: unpacks to more than 8 MiB");
  EXPECT_THAT(error_in(Gzip("[" + std::string(6 << 20, ' ') + "]")), "");
  EXPECT_EQ(error_in(Gzip("[\"" + std::string(2 << 20, 'a') + "\"]")), "t: holds a value of more than a MiB");
  EXPECT_EQ(error_in(Gzip("[" + std::string(2 << 20, '1') + "]")), "t: holds a value of more than a MiB");
}

TEST(KinetoTest, BlanksAndQuotesInNamesStay) {
  const auto events = ReadKinetoEvents(
      "[ \n\t {\"ph\" :  \"X\" , \"cat\":\"user_annotation\",\"name\":\"a  \\\" [ b\\\\\", \"ts\": 1 , \"dur\":  "
      "2}\n\n]",
      "t");
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_THAT(events->names, testing::ElementsAre("a  \" [ b\\"));
}

TEST(KinetoTest, TracesAreToldFromTables) {
  EXPECT_TRUE(MayBeTrace(" \n{\"traceEvents\": []}"));
  EXPECT_TRUE(MayBeTrace("[]"));
  EXPECT_TRUE(MayBeTrace(Gzip("x")));
  EXPECT_FALSE(MayBeTrace("name,forward_ms,backward_ms\n"));
  EXPECT_FALSE(MayBeTrace(""));
}

}  // namespace
}  // namespace planwright::client
