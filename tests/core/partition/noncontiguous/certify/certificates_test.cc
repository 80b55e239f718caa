#include "core/partition/noncontiguous/certify/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/base/random.h"
#include "tests/core/partition/block_oracle.h"

namespace planwright {
namespace {

int64_t LoadUnder(Overlap overlap, const BlockInstance& instance, std::size_t pool, BlockSet set) {
  const int64_t compute = NaiveTime(instance, pool, set);
  const int64_t border = instance.pools[pool].pays_transfers ? NaiveBorder(instance, set) : 0;
  switch (overlap) {
    case Overlap::kSerial:
      return compute + border;
    case Overlap::kOverlapped:
      return std::max(compute, border);
    case Overlap::kFullDuplex:
      // What comes in and what goes out are at best the two halves.
      return std::max(compute, (border + 1) / 2);
  }
  return 0;
}

// The least max load of all ways to give every block a device that can run it; nullopt: there is none.
std::optional<int64_t> NaiveNonContiguousOptimum(const BlockInstance& instance, Overlap overlap) {
  std::vector<std::size_t> pool_of_device;
  for (std::size_t pool = 0; pool < instance.pools.size(); ++pool) {
    pool_of_device.insert(pool_of_device.end(), instance.pools[pool].devices.size(), pool);
  }
  std::vector<BlockSet> held(pool_of_device.size(), 0);
  std::optional<int64_t> best;
  const auto place = [&](auto& self, int32_t block) -> void {
    if (block == instance.num_blocks()) {
      int64_t load = 0;
      for (std::size_t device = 0; device < held.size(); ++device) {
        load = std::max(load, LoadUnder(overlap, instance, pool_of_device[device], held[device]));
      }
      if (!best.has_value() || load < *best) best = load;
      return;
    }
    for (std::size_t device = 0; device < held.size(); ++device) {
      if (!instance.pools[pool_of_device[device]].supported[static_cast<std::size_t>(block)]) continue;
      held[device] |= BlockSet{1} << static_cast<unsigned>(block);
      self(self, block + 1);
      held[device] &= ~(BlockSet{1} << static_cast<unsigned>(block));
    }
  };
  place(place, 0);
  return best;
}

struct Certified {
  int64_t bound = 0;
  std::string method;
  int64_t work = 0;
};

Certified Certify(const BlockInstance& instance, Overlap overlap, int64_t incumbent, int64_t work = 1'000'000) {
  Certified certified;
  SolveLimits limits;
  limits.work = work;
  certified.work = CertifyMaxLoad(instance, overlap, Picoseconds(incumbent), 0, limits, [&](const Bound& bound) {
    EXPECT_GT(bound.value.count(), certified.bound);
    EXPECT_EQ(bound.scope, BoundScope::kProblem);
    certified.bound = bound.value.count();
    certified.method = bound.method;
  });
  return certified;
}

// Pools of one speed and devices without pins or memory, where the relaxation leaves nothing out.
BlockInstance MakePlainInstance(RandomStream& random) {
  BlockInstance instance = EmptyBlockInstance(7);
  std::vector<int64_t> times;
  for (int block = 0; block < 7; ++block) times.push_back(static_cast<int64_t>(random.Below(20)));
  AddPool(instance, 2 + static_cast<int>(random.Below(2)), times);
  for (int net = 0; net < 7; ++net) {
    std::vector<int32_t> blocks;
    for (int32_t block = 0; block < 7; ++block) {
      if (random.Below(3) == 0) blocks.push_back(block);
    }
    if (blocks.size() > 1) AddNet(instance, blocks, static_cast<int64_t>(random.Below(8)));
  }
  if (random.Below(2) == 0) {
    for (int64_t& time : times) time *= 3;
    AddPool(instance, 1, times).pays_transfers = false;
  }
  return instance;
}

TEST(CertificatesTest, NeverExceedTheOptimumWhateverTheIncumbent) {
  RandomStream random(1, 0);
  int instances = 0;
  for (int round = 0; round < 300; ++round) {
    BlockInstanceShape shape;
    shape.num_blocks = 5 + static_cast<int32_t>(random.Below(2));
    shape.constrained = random.Below(2) == 0;
    const BlockInstance instance = MakeBlockInstance(shape, random);
    for (const Overlap overlap : {Overlap::kSerial, Overlap::kOverlapped, Overlap::kFullDuplex}) {
      const std::optional<int64_t> optimum = NaiveNonContiguousOptimum(instance, overlap);
      if (!optimum.has_value()) continue;
      ++instances;
      for (const int64_t incumbent : {*optimum, *optimum + 1, 2 * *optimum + 5}) {
        EXPECT_LE(Certify(instance, overlap, incumbent).bound, *optimum) << "round " << round;
      }
    }
  }
  EXPECT_GT(instances, 300);
}

TEST(CertificatesTest, ProveTheOptimumWhereNothingIsRelaxed) {
  RandomStream random(2, 0);
  for (int round = 0; round < 200; ++round) {
    const BlockInstance instance = MakePlainInstance(random);
    const int64_t optimum = *NaiveNonContiguousOptimum(instance, Overlap::kSerial);
    EXPECT_EQ(Certify(instance, Overlap::kSerial, optimum).bound, optimum) << "round " << round;
    // A worse incumbent hides nothing.
    EXPECT_EQ(Certify(instance, Overlap::kSerial, optimum + 7).bound, optimum) << "round " << round;
  }
}

TEST(CertificatesTest, PackingSeesThatSomePayerHoldsTwoOfTheLongest) {
  BlockInstance instance = EmptyBlockInstance(3);
  AddPool(instance, 2, {10, 10, 7});
  const Certified certified = Certify(instance, Overlap::kSerial, 17);
  EXPECT_EQ(certified.bound, 17);
  EXPECT_EQ(certified.method, "packing");
}

TEST(CertificatesTest, MinCutsSeeThatExpensiveNetsHoldAChainTogether) {
  BlockInstance instance = EmptyBlockInstance(4);
  AddPool(instance, 2, {5, 5, 5, 5});
  for (int32_t block = 0; block < 3; ++block) AddNet(instance, {block, block + 1}, 100);
  const Certified certified = Certify(instance, Overlap::kSerial, 20);
  EXPECT_EQ(certified.bound, 20);
  EXPECT_EQ(certified.method, "min_cut");
}

TEST(CertificatesTest, ASlowDeviceThatPaysNothingRelievesThePayers) {
  BlockInstance instance = EmptyBlockInstance(3);
  AddPool(instance, 1, {10, 10, 10});
  AddPool(instance, 1, {20, 20, 20}).pays_transfers = false;
  EXPECT_EQ(Certify(instance, Overlap::kSerial, 30).bound, 20);
}

// 60 blocks of nearly equal times on a grid of nets: far too many placements to look at all.
BlockInstance MakeHardInstance() {
  RandomStream random(3, 0);
  BlockInstance instance = EmptyBlockInstance(60);
  std::vector<int64_t> times;
  for (int block = 0; block < 60; ++block) times.push_back(1'000'000 + static_cast<int64_t>(random.Below(100'000)));
  AddPool(instance, 7, times);
  for (int32_t block = 0; block < 60; ++block) {
    if (block % 10 != 9) AddNet(instance, {block, block + 1}, 20'000 + static_cast<int64_t>(random.Below(10'000)));
    if (block < 50) AddNet(instance, {block, block + 10}, 20'000 + static_cast<int64_t>(random.Below(10'000)));
  }
  return instance;
}

// Block 0 must run elsewhere, so block 1 on a payer pays two nets, but block 2 there without block 1 only one.
TEST(CertificatesTest, CutsAroundEitherOfTwoBlocksMayDiffer) {
  BlockInstance instance = EmptyBlockInstance(3);
  AddPool(instance, 1, {854, 290, 510});
  AddPool(instance, 2, {442, 733, 2445}).pays_transfers = false;
  AddNet(instance, {0, 1}, 180);
  AddNet(instance, {1, 2}, 261);
  const int64_t optimum = *NaiveNonContiguousOptimum(instance, Overlap::kSerial);
  for (const int64_t incumbent : {771, 900, 1200, 3620}) {
    EXPECT_LE(Certify(instance, Overlap::kSerial, incumbent).bound, optimum);
  }
}

// Targets were approached by a picosecond a round where the relaxation allows loads below the incumbent.
TEST(CertificatesTest, GiveUpWhereTheRelaxationAllowsMore) {
  RandomStream random(6, 0);
  BlockInstanceShape shape;
  shape.max_time = 1'000'000'000;
  shape.constrained = true;
  for (int round = 0; round < 50; ++round) {
    const BlockInstance instance = MakeBlockInstance(shape, random);
    for (const Overlap overlap : {Overlap::kSerial, Overlap::kOverlapped}) {
      const std::optional<int64_t> optimum = NaiveNonContiguousOptimum(instance, overlap);
      if (!optimum.has_value()) continue;
      EXPECT_LT(Certify(instance, overlap, 2 * *optimum, 1'000).work, 100);
    }
  }
}

TEST(CertificatesTest, EndByTheWorkLimitTheSameWayEveryTime) {
  const BlockInstance instance = MakeHardInstance();
  const Certified first = Certify(instance, Overlap::kSerial, 10'000'000, 2'000);
  const Certified second = Certify(instance, Overlap::kSerial, 10'000'000, 2'000);
  EXPECT_GT(first.bound, 0);
  EXPECT_EQ(first.bound, second.bound);
  EXPECT_EQ(first.work, second.work);
  EXPECT_LE(first.work, 2'000);
}

TEST(CertificatesTest, EndWhenToldTo) {
  const BlockInstance instance = MakeHardInstance();
  const std::stop_source source;
  SolveLimits limits;
  limits.stop = source.get_token();
  source.request_stop();
  EXPECT_EQ(CertifyMaxLoad(instance, Overlap::kSerial, Picoseconds(10'000'000), 0, limits, [](const Bound&) {}), 0);

  limits.stop = {};
  limits.deadline = SolveLimits::Clock::now() + std::chrono::milliseconds(20);
  const int64_t work =
      CertifyMaxLoad(instance, Overlap::kSerial, Picoseconds(10'000'000), 0, limits, [](const Bound&) {});
  EXPECT_GT(work, 0);
}

TEST(CertificatesTest, EndWhenTheGapIsSmallEnough) {
  const BlockInstance instance = MakeHardInstance();
  int64_t last = 0;
  CertifyMaxLoad(instance, Overlap::kSerial, Picoseconds(10'000'000), 0.2, SolveLimits{},
                 [&](const Bound& bound) { last = bound.value.count(); });
  EXPECT_GE(last, 8'000'000);
}

}  // namespace
}  // namespace planwright
