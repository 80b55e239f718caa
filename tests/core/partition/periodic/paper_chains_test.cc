// The chains of MadPipe's evaluation against what is published of their networks, and against a table that
// another program made.
#include "tests/support/paper_chains.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <ostream>
#include <string>

#include "core/cost/chain/chain_costs.h"

namespace planwright {
namespace {

struct Listed {
  std::string model;
  std::size_t layers = 0;
  double seconds = 0;
  double mega_parameters = 0;
  double boundary_gb = 0;
};

void PrintTo(const Listed& listed, std::ostream* out) { *out << listed.model; }

class PaperChainTest : public ::testing::TestWithParam<Listed> {};

TEST_P(PaperChainTest, LooksAsListed) {
  const Listed& listed = GetParam();
  const Chain chain = MakePaperChain(listed.model, 12, StoredTensors::kBoundary);
  const ChainSums sums(chain);
  const int32_t last = sums.num_layers() - 1;
  EXPECT_EQ(chain.layers.size(), listed.layers);
  // Two versions and a gradient of 4 bytes each.
  EXPECT_NEAR(static_cast<double>(sums.static_bytes(0, last)) / 12e6, listed.mega_parameters, 0.05);
  EXPECT_NEAR(static_cast<double>(sums.stored_bytes(0, last)) / 1e9, listed.boundary_gb, 0.006);
  // That program took twice the forward time for every backward pass; here it follows from FLOPs and traffic.
  EXPECT_NEAR(static_cast<double>(sums.compute(0, last).count()) / 1e12, listed.seconds, 0.12 * listed.seconds);
  // C = 2 a / beta.
  EXPECT_NEAR(static_cast<double>((chain.cuts[0].send_forward + chain.cuts[0].send_backward).count()) / 1e12,
              static_cast<double>(chain.cuts[0].buffer_bytes) / 12e9, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(PaperChains, PaperChainTest,
                         ::testing::Values(Listed{"resnet50", 22, 0.609, 25.6, 5.30},
                                           Listed{"resnet101", 39, 1.096, 44.5, 7.51},
                                           Listed{"inception-v3", 20, 0.468, 23.8, 2.84},
                                           Listed{"densenet121", 68, 0.551, 8.0, 8.35}));

}  // namespace
}  // namespace planwright
