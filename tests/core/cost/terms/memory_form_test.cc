#include "core/cost/terms/memory_form.h"

#include <gtest/gtest.h>

#include <limits>

namespace planwright {
namespace {

Operator SomeOperator() {
  Operator op;
  op.parameter_bytes = 100;
  op.activation_bytes = 10;
  op.workspace_bytes = 5;
  op.memory_bytes = 1'000;
  return op;
}

ResolvedProblem Components(Workload workload) {
  ResolvedProblem problem;
  problem.workload = workload;
  problem.memory_model.kind = MemoryModel::Kind::kComponents;
  problem.memory_model.weight_versions = 1;
  problem.memory_model.gradient_copies = 1;
  problem.memory_model.optimizer_bytes_per_parameter_byte = 0.5;
  problem.memory_model.reserved_bytes = 3;
  return problem;
}

TEST(MemoryFormTest, DeclaredCountsWhatOperatorsSayAndNothingElse) {
  ResolvedProblem problem = Components(Workload::kTraining);
  problem.memory_model.kind = MemoryModel::Kind::kDeclared;
  const MemoryForm form(problem);
  EXPECT_EQ(form.TotalBytes(form.PartsOf(SomeOperator()), /*boundary_bytes=*/8, /*in_flight=*/4), 1'000);
}

// 2.5 x 200 + 4 x 20 + 5 + 2 x 8 + 3.
TEST(MemoryFormTest, PartsAddUpButForTheLargestWorkspace) {
  const MemoryForm form(Components(Workload::kTraining));
  MemoryParts parts = form.PartsOf(SomeOperator());
  parts.Add(form.PartsOf(SomeOperator()));
  EXPECT_EQ(form.TotalBytes(parts, /*boundary_bytes=*/8, /*in_flight=*/4), 500 + 80 + 5 + 16 + 3);
}

TEST(MemoryFormTest, InferenceStoresNothing) {
  const MemoryForm form(Components(Workload::kInference));
  EXPECT_EQ(form.TotalBytes(form.PartsOf(SomeOperator()), /*boundary_bytes=*/0, /*in_flight=*/4), 250 + 5 + 3);
}

TEST(MemoryFormTest, WhatIsMadeAgainIsWorkspace) {
  ResolvedProblem problem = Components(Workload::kTraining);
  problem.memory_model.recomputation = MemoryModel::Recomputation::kFull;
  const MemoryForm form(problem);
  EXPECT_EQ(form.TotalBytes(form.PartsOf(SomeOperator()), /*boundary_bytes=*/0, /*in_flight=*/4), 250 + 15 + 3);
}

// Two counts of which each fits an int32.
TEST(MemoryFormTest, CopiesAddUpBeyondInt32) {
  ResolvedProblem problem = Components(Workload::kTraining);
  problem.memory_model.weight_versions = std::numeric_limits<int32_t>::max();
  problem.memory_model.gradient_copies = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(MemoryForm(problem).copies(), 4294967294.5);
}

}  // namespace
}  // namespace planwright
