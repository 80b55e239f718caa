#include "client/importer/graphs/torch/aten_work.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace planwright::client {
namespace {

using Sizes = std::vector<int64_t>;

// Of tensors of these sizes; the last one is the output.
struct Call {
  explicit Call(const std::string& name, const std::vector<Sizes>& sizes) {
    call.target = "torch.ops.aten." + name + ".default";
    for (const Sizes& of_tensor : sizes) tensors.emplace_back().sizes = of_tensor;
    for (const ExportedTensor& tensor : tensors) call.inputs.push_back(&tensor);
    call.outputs = {call.inputs.back()};
    call.inputs.pop_back();
  }

  AtenWork Work() const { return WorkOf(call); }

  std::vector<ExportedTensor> tensors;
  AtenCall call;
};

double Flops(const std::string& name, const std::vector<Sizes>& sizes) { return Call(name, sizes).Work().flops; }

TEST(AtenWorkTest, NamesAreThoseOfAten) {
  EXPECT_EQ(AtenName("torch.ops.aten.linear.default"), "linear");
  EXPECT_EQ(AtenName("torch.ops.aten.add.Tensor"), "add");
  EXPECT_EQ(AtenName("torch.ops.mine.linear"), "torch.ops.mine.linear");
}

TEST(AtenWorkTest, ProductsAreMultiplyAdds) {
  EXPECT_EQ(Flops("linear", {{4, 3}, {5, 3}, {5}, {4, 5}}), 2 * 4 * 5 * 3);
  EXPECT_EQ(Flops("mm", {{4, 3}, {3, 5}, {4, 5}}), 2 * 4 * 5 * 3);
  EXPECT_EQ(Flops("bmm", {{2, 4, 3}, {2, 3, 5}, {2, 4, 5}}), 2 * 2 * 4 * 5 * 3);
  EXPECT_EQ(Flops("matmul", {{4, 3}, {2, 3, 5}, {2, 4, 5}}), 2 * 2 * 4 * 5 * 3);
  EXPECT_EQ(Flops("mv", {{4, 3}, {3}, {4}}), 2 * 4 * 3);
  EXPECT_TRUE(Call("mv", {{4, 3}, {3}, {4}}).Work().is_product);
}

TEST(AtenWorkTest, OfProductsThatAreAddedTheFirstOperandIsNoFactor) {
  EXPECT_EQ(Flops("addmm", {{5}, {4, 3}, {3, 5}, {4, 5}}), 2 * 4 * 5 * 3);
  EXPECT_EQ(Flops("baddbmm", {{2, 4, 5}, {2, 4, 3}, {2, 3, 5}, {2, 4, 5}}), 2 * 2 * 4 * 5 * 3);
  EXPECT_EQ(Flops("addmv", {{4}, {4, 3}, {3}, {4}}), 2 * 4 * 3);
  EXPECT_EQ(Flops("addbmm", {{4, 5}, {2, 4, 3}, {2, 3, 5}, {4, 5}}), 2 * 2 * 4 * 5 * 3);
}

TEST(AtenWorkTest, ConvolutionsMeetTheWeightsOfAChannel) {
  // Four channels to six in two groups, of which each output channel reads one; kernels of 5 x 5.
  EXPECT_EQ(Flops("conv2d", {{1, 4, 8, 8}, {6, 2, 5, 5}, {1, 6, 4, 4}}), 2.0 * 6 * 4 * 4 * 2 * 5 * 5);
  EXPECT_EQ(Flops("conv_transpose2d", {{1, 4, 8, 8}, {4, 3, 5, 5}, {1, 3, 12, 12}}), 2.0 * 4 * 8 * 8 * 3 * 5 * 5);
  Call transposed("_convolution", {{1, 4, 8, 8}, {4, 3, 5, 5}, {1, 3, 12, 12}});
  transposed.call.is_transposed = true;
  EXPECT_EQ(transposed.Work().flops, 2.0 * 4 * 8 * 8 * 3 * 5 * 5);
}

TEST(AtenWorkTest, AttentionMultipliesTwice) {
  // Queries [L, E], keys [S, E], values [S, V]: L S E and L S V multiply-adds a head.
  const std::vector<Sizes> sizes = {{2, 8, 10, 4}, {2, 8, 12, 4}, {2, 8, 12, 6}, {2, 8, 10, 6}};
  EXPECT_EQ(Flops("scaled_dot_product_attention", sizes), 2.0 * 2 * 8 * 10 * 12 * (4 + 6));
  EXPECT_EQ(Flops("_scaled_dot_product_flash_attention", sizes), 2.0 * 2 * 8 * 10 * 12 * (4 + 6));
}

TEST(AtenWorkTest, SequencesMeetAllWeights) {
  // Seven steps of two sequences of 3 numbers; the state is no matrix of weights.
  EXPECT_EQ(Flops("gru", {{7, 2, 3}, {1, 2, 5}, {15, 3}, {15, 5}, {15}, {7, 2, 5}}), 2.0 * 7 * 2 * (15 * 3 + 15 * 5));
}

TEST(AtenWorkTest, EinsumsCountEachIndexOnce) {
  Call call("einsum", {{4, 3}, {3, 5}, {4, 5}});
  call.call.equation = "ij,jk->ik";
  EXPECT_EQ(call.Work().flops, 2 * 4 * 3 * 5);
}

TEST(AtenWorkTest, OtherOperatorsCountElements) {
  EXPECT_EQ(Flops("view", {{4, 3}, {12}}), 0);
  EXPECT_EQ(Flops("add", {{4, 3}, {3}, {4, 3}}), 12);
  EXPECT_EQ(Flops("sum", {{4, 3}, {1}}), 12);
  EXPECT_EQ(Flops("exp", {{4, 3}, {4, 3}}), 8 * 12);
  EXPECT_EQ(Flops("batch_norm", {{4, 3}, {4, 3}}), 2 * 12);
  EXPECT_FALSE(Call("add", {{4, 3}, {3}, {4, 3}}).Work().is_product);
  Call pooling("max_pool2d", {{1, 2, 8, 8}, {1, 2, 4, 4}});
  pooling.call.window = 4;
  EXPECT_EQ(pooling.Work().flops, 2 * 4 * 4 * 4);
}

TEST(AtenWorkTest, WhatIsNotKnownIsNothing) {
  EXPECT_EQ(WorkOf({.target = "torch.ops.aten.mm.default", .inputs = {}, .outputs = {}, .equation = ""}).flops, 0);
  Call attention("scaled_dot_product_attention", {{10, 4}, {12, 4}, {12, 4}, {10, 4}});
  attention.call.inputs[1] = nullptr;
  EXPECT_EQ(attention.Work().flops, 0);
  EXPECT_EQ(Flops("conv2d", {{1, 4, 8, 8}, {}, {1, 6, 4, 4}}), 0);
  EXPECT_EQ(Flops("addbmm", {{4, 5}, {2, 4, 3}, {4, 5}}), 0);
}

}  // namespace
}  // namespace planwright::client
