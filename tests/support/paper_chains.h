// The chains of MadPipe's evaluation (section 5.1), from the zoo: images of 1000 x 1000 in batches of 8, fp32.
//
// The paper profiled one GPU and does not print its profiles. Here times are the roofline of an accelerator of 9
// TFLOP/s and 700 GB/s with 10 us per kernel. Layers are residual blocks, inception modules and dense layers; the
// operators of the stems are layers of their own.
#ifndef PLANWRIGHT_TESTS_SUPPORT_PAPER_CHAINS_H_
#define PLANWRIGHT_TESTS_SUPPORT_PAPER_CHAINS_H_

#include <string>
#include <vector>

#include "core/model/chain.h"

namespace planwright {

// "inception-v3" (without its auxiliary classifier), "resnet50", "resnet101" and "densenet121".
const std::vector<std::string>& PaperModels();

// What a layer stores for each micro-batch.
enum class StoredTensors {
  // What it receives, the assumption of the paper; a layer that wants more must compute it again, for free.
  kBoundary,
  // All that its backward pass reads.
  kAll
};

// With links of `bandwidth_gb` x 10^9 bytes/s and the memory model "madpipe": two versions of the weights and a
// gradient. Bytes of devices and chains are 10^9 to a GB. REQUIRES: `model` is one of PaperModels().
Chain MakePaperChain(const std::string& model, double bandwidth_gb, StoredTensors stored);

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_SUPPORT_PAPER_CHAINS_H_
