#include "tests/benchmarks/workloads.h"

#include <array>

namespace planwright::benchmarks {
namespace {

constexpr auto kPublished = Source::kPublished;
constexpr auto kLattice = Source::kLattice;
constexpr auto kZoo = Source::kZoo;

// InceptionV3 was not run by the reference: it would need more than 18 GB.
constexpr std::array kWorkloads = {
    Workload{"layer_bert24_inference", kPublished, {0.05, 13.7}},
    Workload{"layer_bert24_training", kPublished, {0.05, 13.7}},
    Workload{"layer_resnet50_inference", kPublished, {0.11, 13.7}},
    Workload{"layer_resnet50_training", kPublished, {0.15, 13.7}},
    Workload{"layer_gnmt_inference", kPublished, {10.2, 536}},
    Workload{"layer_inceptionv3_inference", kPublished, {}},
    Workload{"operator_bert_l-3_inference", kPublished, {0.54, 29}},
    Workload{"operator_bert_l-6_inference", kPublished, {2.06, 56}},
    Workload{"operator_bert_l-3_training", kPublished, {3.28, 73}},
    Workload{"inc_5x8_lo", kLattice, {0.005, 0.3}},
    Workload{"inc_5x8_hi", kLattice, {0.06, 4.4}},
    Workload{"inc_6x8_lo", kLattice, {0.06, 3}},
    Workload{"inc_6x8_hi", kLattice, {0.81, 58}},
    Workload{"inc_6x10_lo", kLattice, {0.72, 37}, true},
    Workload{"inc_6x10_hi", kLattice, {8.9, 455}},
    Workload{"inc_7x9_lo", kLattice, {5.3, 207}},
    Workload{"grid_8x12_lo", kLattice, {0.08, 3}},
    Workload{"grid_8x12_hi", kLattice, {1.0, 10}},
    Workload{"grid_8x16_lo", kLattice, {0.46, 10}, true},
    Workload{"grid_8x16_hi", kLattice, {9.9, 64}},
    Workload{"grid_8x20_lo", kLattice, {4.4, 72}},
    Workload{"grid_8x30_lo", kLattice, {27.9, 404}},
    Workload{"grid_6x60_lo", kLattice, {32.6, 1'035}},
    Workload{"tow_3x100_lo", kLattice, {0.07, 1.2}},
    Workload{"tow_3x100_hi", kLattice, {0.46, 16}},
    Workload{"tow_4x64_lo", kLattice, {1.5, 22}, true},
    Workload{"tow_4x64_hi", kLattice, {30, 289}},
    Workload{"tow_5x40_lo", kLattice, {17.2, 149}},
    Workload{"resnet50@pcie:4", kZoo, {}},
    Workload{"resnet50@dgx-a100:1", kZoo, {}},
    Workload{"bert-base@pcie:4", kZoo, {}},
    Workload{"bert-large@pcie:4", kZoo, {}},
    Workload{"bert-large@dgx1-v100:1", kZoo, {}},
};

}  // namespace

std::span<const Workload> Workloads() { return kWorkloads; }

}  // namespace planwright::benchmarks
