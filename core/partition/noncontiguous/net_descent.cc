#include "core/partition/noncontiguous/net_descent.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/model/colocation.h"

namespace planwright {
namespace {

constexpr std::size_t kLoadedDevices = 2;

class Descent {
 public:
  Descent(const NetTables& tables, NetAssignment start, int64_t moves, Poller& poller)
      : tables_(tables), max_moves_(moves), poller_(poller), state_(tables, std::move(start)) {
    load_ = state_.Objective();
  }

  DescentResult Run() {
    while (Improve(&Descent::MovesOne) || Improve(&Descent::MovesTwo)) continue;
    return {state_.assignment(), load_, moves_};
  }

 private:
  using Neighbourhood = bool (Descent::*)(int32_t group, int32_t to);

  // Whether some group of a most loaded device, sent somewhere, leads to a better assignment; then that is taken.
  bool Improve(Neighbourhood neighbourhood) {
    for (const int32_t device : MostLoaded()) {
      for (int32_t group = 0; group < tables_.num_groups(); ++group) {
        if (state_.device_of(group) != device) continue;
        if (poller_.ShouldStopNow()) return false;
        for (int32_t to = 0; to < tables_.num_devices(); ++to) {
          if (moves_ >= max_moves_) return false;
          if (MayMove(group, to) && (this->*neighbourhood)(group, to)) return true;
        }
      }
    }
    return false;
  }

  std::vector<int32_t> MostLoaded() const {
    std::vector<int32_t> devices = FirstNumbers(Index(tables_.num_devices()));
    std::stable_sort(devices.begin(), devices.end(),
                     [&](int32_t a, int32_t b) { return state_.load(a) > state_.load(b); });
    devices.resize(std::min(devices.size(), kLoadedDevices));
    return devices;
  }

  bool MayMove(int32_t group, int32_t to) const {
    return to != state_.device_of(group) && state_.replicas(to) > 0 && tables_.may_run(group, to);
  }

  bool MovesOne(int32_t group, int32_t to) {
    ++moves_;
    const int32_t from = state_.device_of(group);
    state_.Preview(group, to, effect_);
    if (ObjectiveAfter() >= load_) return false;
    state_.Move(group, to, effect_);
    if (!state_.fits_memory()) {
      Move(group, from);
      return false;
    }
    load_ = state_.Objective();
    return true;
  }

  bool MovesTwo(int32_t group, int32_t to) {
    ++moves_;
    const int32_t from = state_.device_of(group);
    Move(group, to);
    for (int32_t other = 0; other < tables_.num_groups(); ++other) {
      if (other != group && state_.device_of(other) == to && GoesAnywhere(other)) return true;
    }
    for (const int32_t net : tables_.nets_of(group)) {
      const auto groups = tables_.groups_of(net);
      if (groups.size() > kMostTellingGroups) continue;
      for (const int32_t other : groups) {
        if (other != group && state_.device_of(other) != to && GoesAnywhere(other)) return true;
      }
    }
    Move(group, from);
    return false;
  }

  bool GoesAnywhere(int32_t group) {
    for (int32_t to = 0; to < tables_.num_devices(); ++to) {
      if (moves_ < max_moves_ && MayMove(group, to) && MovesOne(group, to)) return true;
    }
    return false;
  }

  void Move(int32_t group, int32_t to) {
    state_.Preview(group, to, effect_);
    state_.Move(group, to, effect_);
  }

  // After the move that was previewed.
  int64_t ObjectiveAfter() const {
    PhaseLoads greatest;
    for (int32_t device = 0; device < tables_.num_devices(); ++device) {
      ReplicaWork work = state_.work(device);
      for (const MoveEffect::Change& change : effect_.changes) {
        if (change.device == device) work += change.work;
      }
      const PhaseLoads loads = state_.LoadsWith(device, work);
      greatest.main = std::max(greatest.main, loads.main);
      greatest.backward = std::max(greatest.backward, loads.backward);
    }
    return greatest.total().count();
  }

  const NetTables& tables_;
  const int64_t max_moves_;
  Poller& poller_;
  NetState state_;
  int64_t load_ = 0;
  int64_t moves_ = 0;
  MoveEffect effect_;
};

constexpr int kMaxRounds = 12;
// The factor of attraction is uniform between these.
constexpr double kLeastLuck = 0.3;
constexpr double kMostLuck = 1.7;

class Matching {
 public:
  Matching(const NetTables& tables, const ClusterLimits& limits, RandomStream& random)
      : tables_(tables), limits_(limits), random_(random), cluster_of_(FirstNumbers(Index(tables.num_groups()))) {
    clusters_.resize(cluster_of_.size());
    for (int32_t group = 0; group < tables.num_groups(); ++group) clusters_[Index(group)] = Alone(group);
  }

  std::vector<int32_t> Run() {
    for (int round = 0; round < kMaxRounds && std::ssize(clusters_) > limits_.enough_clusters; ++round) {
      if (!MatchOnce()) break;
    }
    return std::move(cluster_of_);
  }

 private:
  struct Cluster {
    std::vector<int32_t> groups;
    // Shares of a device: time and memory.
    double share = 0;
    std::vector<bool> may_run;
  };

  Cluster Alone(int32_t group) const {
    int64_t time = kMaxQuantity;
    int64_t memory = 0;
    for (int32_t device = 0; device < tables_.num_devices(); ++device) {
      if (!tables_.may_run(group, device)) continue;
      time = std::min(time, tables_.time(group, device));
      memory = std::max(memory, tables_.memory_limit(device));
    }
    const UnitMemory& bytes = tables_.instance().blocks.memory;
    MemorySums sums;
    sums.Add(bytes, Index(group));
    const auto needed = static_cast<double>(sums.Total(bytes, 0, 0) - bytes.reserved);
    Cluster cluster;
    cluster.groups = {group};
    cluster.share = std::max(static_cast<double>(time) / static_cast<double>(std::max<int64_t>(1, limits_.load)),
                             needed / static_cast<double>(std::max<int64_t>(1, memory)));
    cluster.may_run = tables_.instance().may_run[Index(group)];
    return cluster;
  }

  static bool HaveCommonDevice(const Cluster& a, const Cluster& b) {
    for (std::size_t device = 0; device < a.may_run.size(); ++device) {
      if (a.may_run[device] && b.may_run[device]) return true;
    }
    return false;
  }

  // Every cluster joins at most one other, the most attractive of those that are still alone. False: none did.
  bool MatchOnce() {
    const auto num_clusters = static_cast<int32_t>(clusters_.size());
    std::vector<int32_t> order = FirstNumbers(clusters_.size());
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.Below(i)]);
    std::vector<int32_t> label_of(clusters_.size(), kDropped);
    attraction_.assign(clusters_.size(), 0);
    int32_t labels = 0;
    int32_t left = num_clusters;
    for (const int32_t cluster : order) {
      if (label_of[Index(cluster)] != kDropped) continue;
      label_of[Index(cluster)] = labels;
      if (left > limits_.enough_clusters) {
        const int32_t partner = BestPartner(cluster, label_of);
        if (partner != kDropped) {
          label_of[Index(partner)] = labels;
          --left;
        }
      }
      ++labels;
    }
    if (left == num_clusters) return false;
    Merge(label_of, labels);
    return true;
  }

  // kDropped: none fits.
  int32_t BestPartner(int32_t cluster, const std::vector<int32_t>& label_of) {
    neighbours_.clear();
    for (const int32_t group : clusters_[Index(cluster)].groups) {
      for (const int32_t net : tables_.nets_of(group)) Attract(cluster, net, label_of);
    }
    int32_t best = kDropped;
    double best_attraction = 0;
    for (const int32_t other : neighbours_) {
      const double luck = kLeastLuck + (kMostLuck - kLeastLuck) * random_.Unit();
      const double attraction = std::exchange(attraction_[Index(other)], 0) * luck;
      if (attraction > best_attraction && Fits(cluster, other)) {
        best = other;
        best_attraction = attraction;
      }
    }
    return best;
  }

  void Attract(int32_t cluster, int32_t net, const std::vector<int32_t>& label_of) {
    const auto groups = tables_.groups_of(net);
    if (groups.size() > kMostTellingGroups) return;
    const double strength =
        static_cast<double>(tables_.weight(net)) / (static_cast<double>(groups.size()) - 1) + kTouching;
    for (const int32_t group : groups) {
      const int32_t other = cluster_of_[Index(group)];
      if (other == cluster || label_of[Index(other)] != kDropped) continue;
      if (attraction_[Index(other)] == 0) neighbours_.push_back(other);
      attraction_[Index(other)] += strength;
    }
  }

  bool Fits(int32_t a, int32_t b) const {
    const Cluster& first = clusters_[Index(a)];
    const Cluster& second = clusters_[Index(b)];
    return first.share + second.share <= limits_.max_share && HaveCommonDevice(first, second);
  }

  void Merge(const std::vector<int32_t>& label_of, int32_t labels) {
    std::vector<Cluster> merged(Index(labels));
    for (std::size_t i = 0; i < clusters_.size(); ++i) {
      Cluster& into = merged[Index(label_of[i])];
      if (into.groups.empty()) {
        into = std::move(clusters_[i]);
        continue;
      }
      into.groups.insert(into.groups.end(), clusters_[i].groups.begin(), clusters_[i].groups.end());
      into.share += clusters_[i].share;
      for (std::size_t device = 0; device < into.may_run.size(); ++device) {
        if (!clusters_[i].may_run[device]) into.may_run[device] = false;
      }
    }
    clusters_ = std::move(merged);
    for (std::size_t label = 0; label < clusters_.size(); ++label) {
      for (const int32_t group : clusters_[label].groups) cluster_of_[Index(group)] = static_cast<int32_t>(label);
    }
  }

  // Clusters that share only nets without weight attract each other a little.
  static constexpr double kTouching = 1e-3;

  const NetTables& tables_;
  const ClusterLimits& limits_;
  RandomStream& random_;
  std::vector<int32_t> cluster_of_;
  std::vector<Cluster> clusters_;
  // By cluster: what attracts it to the one that looks for a partner; and those for which that is not 0.
  std::vector<double> attraction_;
  std::vector<int32_t> neighbours_;
};

}  // namespace

DescentResult Descend(const NetTables& tables, NetAssignment start, int64_t moves, Poller& poller) {
  return Descent(tables, std::move(start), moves, poller).Run();
}

std::vector<int32_t> RandomClusters(const NetTables& tables, const ClusterLimits& limits, RandomStream& random) {
  return Matching(tables, limits, random).Run();
}

}  // namespace planwright
