#include "client/importer/graphs/torch/module_stack.h"

#include <gtest/gtest.h>

namespace planwright::client {
namespace {

TEST(ModuleStackTest, LayersArePathsUpToTheirFirstNumber) {
  EXPECT_EQ(LayerOfModuleStack("k,,Model;k,model,Decoder;k,model.layers.3,Layer;k,model.layers.3.experts.7,Expert"),
            "model.layers.3");
  EXPECT_EQ(LayerOfModuleStack("k,L['self'].encoder.layer.12.attention,a.b.Attention"), "encoder.layer.12");
  EXPECT_EQ(LayerOfModuleStack("k,layer1.0.conv1,Conv"), "layer1.0");
}

TEST(ModuleStackTest, WithoutNumbersTheInnermostModuleIsTheLayer) {
  EXPECT_EQ(LayerOfModuleStack("k,,Model;k,model,Decoder;k,model.embed_tokens,Embedding"), "model.embed_tokens");
  EXPECT_EQ(LayerOfModuleStack("k,,Model"), "");
  EXPECT_EQ(LayerOfModuleStack(""), "");
}

TEST(ModuleStackTest, OddTextsHaveSomeLayer) {
  EXPECT_EQ(LayerOfModuleStack(";;,,;a"), "");
  EXPECT_EQ(LayerOfModuleStack("a,b"), "b");
  EXPECT_EQ(LayerOfModuleStack("a,..3..,c"), ".3");
}

}  // namespace
}  // namespace planwright::client
