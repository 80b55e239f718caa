#include "core/mapping/prove/replica_cover_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "core/mapping/prove/load_bounds.h"
#include "core/mapping/prove/load_prover.h"
#include "tests/support/mapping_cases.h"

namespace planwright {
namespace {

// Places replica after replica and stage after stage on any device, with nothing but the loads of stages whose
// neighbours are all placed to look at. Replicas are alike, so their first stages ascend.
class PlainSearch {
 public:
  PlainSearch(const ReplicaModel& model, double target_ms)
      : model_(model), target_ms_(target_ms), device_of_(Index(model.num_stages() * model.num_replicas()), -1) {}

  // nullopt: too much work.
  std::optional<bool> Run() {
    const bool found = Place(0);
    if (found) return true;
    return steps_ > kMostSteps ? std::nullopt : std::optional(false);
  }

 private:
  static constexpr int64_t kMostSteps = 30'000;

  bool Place(std::size_t vertex) {
    if (vertex == device_of_.size()) return true;
    const std::size_t stages = Index(model_.num_stages());
    const int32_t first = vertex % stages == 0 && vertex > 0 ? device_of_[vertex - stages] + 1 : 0;
    for (int32_t device = first; device < model_.num_devices(); ++device) {
      if (++steps_ > kMostSteps) return false;
      if (std::find(device_of_.begin(), device_of_.end(), device) != device_of_.end()) continue;
      device_of_[vertex] = device;
      if (FitsAround(vertex) && Place(vertex + 1)) return true;
      device_of_[vertex] = -1;
    }
    return false;
  }

  bool FitsAround(std::size_t vertex) const {
    const std::size_t stages = Index(model_.num_stages());
    const auto stage = static_cast<int32_t>(vertex % stages);
    if (!Fits(vertex - Index(stage), stage)) return false;
    const auto links = model_.LinksOf(stage);
    return std::all_of(links.begin(), links.end(),
                       [&](const StageLink& link) { return Fits(vertex - Index(stage), link.other); });
  }

  bool Fits(std::size_t replica, int32_t stage) const {
    const int32_t device = device_of_[replica + Index(stage)];
    if (device < 0) return true;
    double transfers = 0;
    for (const StageLink& link : model_.LinksOf(stage)) {
      const int32_t other = device_of_[replica + Index(link.other)];
      if (other >= 0) transfers += model_.TimeOf(link, device, other);
    }
    return transfers <= model_.Room(stage, device, target_ms_);
  }

  const ReplicaModel& model_;
  const double target_ms_;
  std::vector<int32_t> device_of_;
  int64_t steps_ = 0;
};

std::vector<int32_t> AllDevices(const ReplicaModel& model) {
  std::vector<int32_t> devices(Index(model.num_devices()));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

// Machines with twins and blocks that are alike, as well as irregular ones.
MappingInstance MakeCase(RandomStream& random) {
  MappingInstance instance = MakeRandomMappingInstance(20, random);
  instance.objective = MappingObjective::kLoad;
  const auto devices = static_cast<int32_t>(instance.num_devices());
  if (random.Below(2) == 0 || devices < 4) return instance;
  const auto inner = static_cast<int32_t>(random.Between(2, 5));
  instance.network =
      Network(HierarchyInterconnect{.levels = {{inner, 10e9, Picoseconds(0)}, {20, 1e9, Picoseconds(0)}}});
  if (random.Below(2) != 0) return instance;
  // Within each group a path of fast links: blocks that are alike without twins.
  MatrixInterconnect matrix{.bandwidth_bytes_per_second = {}, .latency = Picoseconds(0)};
  for (int32_t a = 0; a < devices; ++a) {
    for (int32_t b = 0; b < devices; ++b) {
      const bool is_near = a / inner == b / inner;
      const bool is_adjacent = a - b == 1 || b - a == 1;
      const double near = is_adjacent ? 12e9 : 6e9;
      matrix.bandwidth_bytes_per_second.push_back(is_near ? near : 1e9);
    }
  }
  instance.network = Network(matrix);
  return instance;
}

// The least target at which a plain search may be asked, and some above.
std::vector<double> Targets(const ReplicaModel& model, RandomStream& random) {
  const double low = std::max(StarBound(model, StarLoads(model, {})), 1e-6);
  std::vector<double> targets = {low * (1 - 1e-6), low * (1 + 1e-6)};
  for (int32_t i = 0; i < 4; ++i) targets.push_back(low * (1 + 1.5 * random.Unit() * random.Unit()));
  return targets;
}

// Plain search, everything with symmetry, everything without, and in random order.
TEST(ReplicaCoverSearchTest, AgreesWithAPlainSearchWithAndWithoutSymmetry) {
  RandomStream random(21);
  const SolveLimits limits;
  Poller poller(limits);
  int64_t compared = 0;
  int64_t refuted = 0;
  int64_t decided = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    const MappingInstance instance = MakeCase(random);
    const LinkTimes links(instance.network, instance.num_devices());
    const ReplicaModel model(instance, links);
    if (model.num_devices() < model.num_stages() * model.num_replicas()) continue;
    const DeviceSymmetry all = DeviceSymmetry::Of(model);
    const DeviceSymmetry none = DeviceSymmetry::None(model);
    const std::vector<int32_t> devices = AllDevices(model);
    const std::vector<double> stars = StarLoads(model, {});
    ReplicaCoverSearch with(model, all);
    ReplicaCoverSearch without(model, none);
    LoadRefuter refuter(model, all, {}, stars);
    for (const double target : Targets(model, random)) {
      const std::optional<bool> expected = PlainSearch(model, target).Run();
      if (!expected.has_value()) continue;
      ++compared;
      refuted += *expected ? 0 : 1;
      const ReplicaCoverAnswer answer = *expected ? ReplicaCoverAnswer::kFound : ReplicaCoverAnswer::kNone;
      ReplicaCoverQuestion question{
          .devices = devices, .replicas = model.num_replicas(), .target_ms = target, .work = 500'000};
      const ReplicaCoverAnswer wrong = *expected ? ReplicaCoverAnswer::kNone : ReplicaCoverAnswer::kFound;
      const ReplicaCoverAnswer plain = with.Ask(question, poller);
      decided += plain == answer ? 1 : 0;
      EXPECT_NE(plain, wrong);
      EXPECT_NE(without.Ask(question, poller), wrong);
      const bool is_refuted = refuter.RefutesByEmbedding(target, 500'000, poller);
      EXPECT_FALSE(is_refuted && *expected);
      const std::vector<uint64_t> allowed = refuter.Allowed();
      if (!is_refuted) question.allowed = allowed;
      question.is_shuffled = true;
      question.seed = i;
      EXPECT_NE(with.Ask(question, poller), wrong);
      if (*expected) {
        int64_t nodes = 20'000;
        EXPECT_GE(target, QuotientBound(model, {}, 1e30, nodes, poller));
      }
    }
  }
  EXPECT_GT(compared, 400);
  EXPECT_GT(refuted, 100);
  // The rest takes more work than it is given.
  EXPECT_GE(decided, compared - 5);
}

}  // namespace
}  // namespace planwright
