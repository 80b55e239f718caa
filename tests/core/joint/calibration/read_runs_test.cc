#include "core/joint/calibration/read_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/violations.h"

namespace planwright {
namespace {

using ::testing::ElementsAre;

constexpr char kColumnLine[] =
    "id,source,framework,model_name,family,layers,hidden,heads,kv_heads,ffn,vocab,sequence,precision,experts,"
    "experts_per_token,gpu,gpus,global_batch,micro_batch,tp,pp,cp,ep,optimizer_sharding,recomputation,step_seconds,"
    "inter_node_link,measured_year,outcome,peak_memory_gib\n";

TEST(ReadRunsTest, ReadsARun) {
  const auto runs =
      ReadTrainingRuns(std::string(kColumnLine) +
                       "a,lab@12:x,Megatron-LM,GPT 22B,gpt,48,6144,64,,24576,51200,2048,fp16,,,a100-80,16,"
                       "8,4,8,1,1,,zero1,selective,1.1,4 Omni-Path links,2022,ran,40\n");
  ASSERT_TRUE(runs.ok()) << runs.status();
  ASSERT_EQ(runs->size(), 1U);
  const TrainingRun& run = runs->front();
  EXPECT_EQ(run.source, "lab Megatron-LM");
  EXPECT_EQ(run.family, "a100");
  EXPECT_TRUE(run.shape.stores_scores);
  EXPECT_EQ(run.shape.kv_heads, 64);
  EXPECT_EQ(run.shape.head_width, 96);
  EXPECT_EQ(run.degrees.tensor, 8);
  EXPECT_EQ(run.degrees.data, 2);
  EXPECT_EQ(run.sharding, Sharding::kOptimizer);
  EXPECT_EQ(run.recomputation, LayerRecomputation::kSelective);
  EXPECT_EQ(run.micro_batch, 4);
  EXPECT_EQ(run.step_seconds, 1.1);
  EXPECT_EQ(run.peak_memory_bytes, int64_t{40} << 30);
  EXPECT_EQ(run.devices_per_node, 8);
  // Four links of 100 Gbit/s, of which 12 GB/s count, for eight devices.
  EXPECT_DOUBLE_EQ(run.between.bytes_per_second, 6e9);
}

TEST(ReadRunsTest, LeavesOpenWhatIsNotPublished) {
  const auto runs = ReadTrainingRuns(std::string(kColumnLine) +
                                     "a,lab,X,MoE,moe,4,1024,16,8,512,32000,4096,bf16,16,2,h100,64,64,,1,2,1,,fsdp,"
                                     "unknown,,,,oom,\n");
  ASSERT_TRUE(runs.ok()) << runs.status();
  const TrainingRun& run = runs->front();
  EXPECT_FALSE(run.micro_batch.has_value());
  EXPECT_FALSE(run.recomputation.has_value());
  EXPECT_FALSE(run.step_seconds.has_value());
  EXPECT_TRUE(run.ran_out_of_memory);
  // As many as divide 32 data ranks and 16 experts.
  EXPECT_EQ(run.degrees.expert, 16);
  // Parameters of a pipeline's stage stay whole.
  EXPECT_EQ(run.sharding, Sharding::kOptimizer);
  EXPECT_DOUBLE_EQ(run.between.bytes_per_second, 48e9);
}

TEST(ReadRunsTest, KnowsTheShapesOfTheZoo) {
  const auto runs =
      ReadTrainingRuns(std::string(kColumnLine) +
                       "a,lab,X,DeepSeek-V3,moe,61,7168,128,128,2048,129280,2048,fp8,256,8,h100,64,64,1,1,1,"
                       "1,64,zero1,full,1,,,ran,\n");
  ASSERT_TRUE(runs.ok()) << runs.status();
  const TransformerShape& shape = runs->front().shape;
  EXPECT_EQ(shape.kv_rank, 512);
  EXPECT_EQ(shape.dense_layers, 3);
  EXPECT_EQ(shape.shared_experts, 1);
  EXPECT_EQ(shape.sequence, 2'048);
  EXPECT_TRUE(shape.eight_bit_products);
}

std::vector<std::string> ErrorsIn(const std::string& text) {
  std::vector<std::string> errors;
  for (const Violation& violation : ViolationsOf(ReadTrainingRuns(text).status())) {
    errors.push_back(violation.path + ": " + violation.rule);
  }
  return errors;
}

TEST(ReadRunsTest, NamesEveryMistake) {
  EXPECT_THAT(ErrorsIn("id,source,layers,hidden,heads,ffn,vocab,sequence,gpu,gpus\n"),
              ElementsAre("line 1: must have a column \"model_name\"", "line 1: must have a column \"global_batch\""));
  EXPECT_THAT(
      ErrorsIn(std::string(kColumnLine) + "a,lab,X,M,gpt,0,1024,16,,4096,32000,1024,int4,,,h900,12,8,1,8,1,1,,zero9,"
                                          "half,-1,,,ran,nan\n"),
      ElementsAre("line 2, layers: must be a whole number from 1 to 50000, is \"0\"",
                  "line 2, precision: must be one of bf16, fp16, fp8, is \"int4\"",
                  "line 2, gpu: must be one of v100, a100-40, a100-80, h100, h200, b200, b300, gb200, gb300, is "
                  "\"h900\"",
                  "line 2, gpus: must be a multiple of tp x cp x pp = 8, is \"12\"",
                  "line 2, optimizer_sharding: must be one of none, zero1, zero2, fsdp, is \"zero9\"",
                  "line 2, recomputation: must be one of unknown, none, selective, full, is \"half\"",
                  "line 2, step_seconds: must be a number > 0, is \"-1\"",
                  "line 2, peak_memory_gib: must be a number > 0, is \"nan\""));
  EXPECT_THAT(
      ErrorsIn(std::string(kColumnLine) + "a,lab,X,M,gpt,4,1024,16,,4096,32000,1024,bf16,,,h100,12,8,1,8,1,1,,zero1,"
                                          "full,1,,,ran,\n"),
      ElementsAre("line 2, gpus: must be a multiple of tp x cp x pp = 8, is \"12\""));
}

}  // namespace
}  // namespace planwright
