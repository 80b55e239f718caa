#include "core/joint/step/link_uses.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "core/base/interruption.h"
#include "core/base/units.h"
#include "core/joint/cost/exchange.h"
#include "core/joint/cost/pair_links.h"
#include "core/topology/grid.h"
#include "core/topology/routing.h"

namespace planwright {
namespace {

// Position in StageLinkUses::stages, stage by stage.
using Flow = std::size_t;

using Ranks = std::vector<DeviceId>;

// Links as they are first used, and what of them each flow uses.
class LinkTable {
 public:
  // A kind of links, the number of one, and its direction.
  using Key = std::tuple<int64_t, int64_t, bool>;

  explicit LinkTable(int64_t most_uses) : free_(most_uses) {}

  // Beyond the most uses others are left out.
  void Use(Flow flow, const Key& key, double bytes_per_second, double capacity) {
    InterruptionPoint(kUnitsPerUse);
    if (is_full()) return;
    const auto [use, is_new] = uses_[key].try_emplace(flow, 0);
    use->second += bytes_per_second / capacity;
    if (is_new) --free_;
  }

  bool is_full() const { return free_ < 0; }

  // By the uses of a link: the first of those that are used so, and how many there are in either direction.
  struct Alike {
    Key first;
    int64_t sending = 0;
    int64_t receiving = 0;
  };
  // Leaves nothing behind, so that no use is held twice.
  std::vector<std::pair<std::map<Flow, double>, Alike>> TakeDistinct() {
    std::map<std::map<Flow, double>, Alike> alike;
    while (!uses_.empty()) {
      auto link = uses_.extract(uses_.begin());
      InterruptionPoint(kUnitsPerUse * link.mapped().size());
      Alike& entry = alike.try_emplace(Rounded(std::move(link.mapped())), Alike{link.key()}).first->second;
      ++(std::get<2>(link.key()) ? entry.receiving : entry.sending);
    }
    std::vector<std::pair<std::map<Flow, double>, Alike>> distinct;
    while (!alike.empty()) {
      auto link = alike.extract(alike.begin());
      distinct.emplace_back(std::move(link.key()), link.mapped());
    }
    std::sort(distinct.begin(), distinct.end(),
              [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
    return distinct;
  }

 private:
  // So that sums of the same shares in another order are the same.
  static std::map<Flow, double> Rounded(std::map<Flow, double> uses) {
    constexpr double kParts = 1e12;
    for (auto& [flow, share] : uses) share = std::round(share * kParts) / kParts;
    return uses;
  }

  static constexpr std::size_t kUnitsPerUse = 20;

  std::map<Key, std::map<Flow, double>> uses_;
  int64_t free_;
};

// The links of a cluster between devices.
class Ways {
 public:
  virtual ~Ways() = default;

  // `a` sends to `b`, of the group `ranks`, which leave a node together. What `a` uses of it, and what `b` does.
  virtual void Send(Flow flow, DeviceId a, DeviceId b, const Ranks& ranks, double rate, LinkTable& table) = 0;
  virtual void Receive(Flow flow, DeviceId a, DeviceId b, const Ranks& ranks, double rate, LinkTable& table) = 0;
  // Without its direction.
  virtual std::string NameOf(const LinkTable::Key& key) const = 0;
};

// Nodes, racks, ...
class TreeWays : public Ways {
 public:
  TreeWays(const Cluster& cluster, const TrainingCluster& training)
      : cluster_(cluster), inside_(training.inside.bytes_per_second), node_span_(training.node_span) {
    if (const auto* nodes = std::get_if<NodesInterconnect>(&cluster.interconnect)) AddLevels(nodes->levels);
    if (const auto* tree = std::get_if<HierarchyInterconnect>(&cluster.interconnect)) {
      AddLevels(std::span(tree->levels).subspan(1));
    }
  }

  void Send(Flow flow, DeviceId a, DeviceId b, const Ranks& ranks, double rate, LinkTable& table) override {
    Use(flow, a, b, ranks, rate, false, table);
  }
  void Receive(Flow flow, DeviceId a, DeviceId b, const Ranks& ranks, double rate, LinkTable& table) override {
    Use(flow, b, a, ranks, rate, true, table);
  }

  std::string NameOf(const LinkTable::Key& key) const override {
    const int64_t kind = std::get<0>(key);
    const int64_t number = std::get<1>(key);
    if (kind == kInside) return absl::StrCat(NameOf(number), " inside its node");
    const auto level = static_cast<std::size_t>(kind / 2);
    if (kind % 2 == 0) {
      return absl::StrCat(NameOf(number), " between ", level == 0 ? "nodes" : absl::StrCat("levels ", level + 1));
    }
    const int64_t nodes = levels_[level].span;
    if (nodes == 1) return absl::StrCat("ports of node ", number);
    return absl::StrCat("ports of nodes ", number * nodes, " to ", (number + 1) * nodes - 1);
  }

 private:
  // Between nodes or groups of them.
  struct Level {
    // Nodes below a child.
    int64_t span = 1;
    double pair = 0;
    std::optional<double> port;
  };
  static constexpr int64_t kInside = -1;

  void AddLevels(std::span<const HierarchyInterconnect::Level> levels) {
    int64_t span = 1;
    for (const HierarchyInterconnect::Level& level : levels) {
      if (level.fan_out == 1) continue;
      levels_.push_back({span, level.bandwidth_bytes_per_second, level.port_bandwidth_bytes_per_second});
      span *= level.fan_out;
    }
  }

  int64_t NodeOf(DeviceId device) const { return static_cast<int64_t>(device.index()) / node_span_; }
  const std::string& NameOf(int64_t device) const { return cluster_.devices[static_cast<std::size_t>(device)].name; }

  void Use(Flow flow, DeviceId own, DeviceId other, const Ranks& ranks, double rate, bool receives,
           LinkTable& table) const {
    const int64_t node = NodeOf(own);
    const int64_t peer = NodeOf(other);
    if (node == peer) return table.Use(flow, {kInside, own.index(), receives}, rate, inside_);
    InterruptionPoint(ranks.size());
    const auto is_here = [&](DeviceId rank) { return NodeOf(rank) == node; };
    const auto together = static_cast<double>(std::count_if(ranks.begin(), ranks.end(), is_here));
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const Level& level = levels_[l];
      const auto kind = static_cast<int64_t>(2 * l);
      if (node / level.span == peer / level.span) break;
      for (const DeviceId rank : ranks) {
        if (is_here(rank)) table.Use(flow, {kind, rank.index(), receives}, rate / together, level.pair);
      }
      if (level.port.has_value()) table.Use(flow, {kind + 1, node / level.span, receives}, rate, *level.port);
    }
  }

  const Cluster& cluster_;
  double inside_;
  int64_t node_span_;
  std::vector<Level> levels_;
};

// Of clusters that are no nodes alike.
class PairWays : public Ways {
 public:
  PairWays(const Cluster& cluster, const PairLinks& pairs) : cluster_(cluster), pairs_(pairs) {
    const auto* links = std::get_if<LinksInterconnect>(&cluster.interconnect);
    if (links == nullptr) return;
    router_.emplace(*links, cluster.devices.size());
    for (const LinksInterconnect::Link& link : links->links) {
      for (const auto& ends : {std::pair(link.device_a, link.device_b), std::pair(link.device_b, link.device_a)}) {
        double& widest = widest_[ends];
        widest = std::max(widest, link.bandwidth_bytes_per_second);
      }
    }
  }

  void Send(Flow flow, DeviceId a, DeviceId b, const Ranks& /*ranks*/, double rate, LinkTable& table) override {
    const std::vector<DeviceId> way = WayOf(a, b);
    for (std::size_t i = 1; i < way.size(); ++i) {
      table.Use(flow, {way[i - 1].index(), way[i].index(), false}, rate, CapacityOf(way[i - 1], way[i]));
    }
  }
  // The whole way is the sender's.
  void Receive(Flow /*flow*/, DeviceId /*a*/, DeviceId /*b*/, const Ranks& /*ranks*/, double /*rate*/,
               LinkTable& /*table*/) override {}

  std::string NameOf(const LinkTable::Key& key) const override {
    return LinkName(NameOf(std::get<0>(key)), NameOf(std::get<1>(key)), true);
  }

 private:
  const std::string& NameOf(int64_t device) const { return cluster_.devices[static_cast<std::size_t>(device)].name; }

  std::vector<DeviceId> WayOf(DeviceId a, DeviceId b) {
    if (pairs_.Grid() != nullptr) return WayBetween(*pairs_.Grid(), a, b);
    if (!router_.has_value()) return {a, b};
    if (ways_.size() >= kMostWays) ways_.clear();
    const auto [entry, is_new] = ways_.try_emplace({a, b});
    if (is_new) {
      InterruptionPoint(widest_.size() * kUnitsPerLink);
      entry->second = router_->WayBetween(a, b);
    }
    return entry->second;
  }

  // Of two neighbours.
  double CapacityOf(DeviceId a, DeviceId b) const {
    const auto found = widest_.find({a, b});
    return found == widest_.end() ? pairs_.Between(a, b).bytes_per_second : found->second;
  }

  static constexpr std::size_t kMostWays = 100'000;
  static constexpr std::size_t kUnitsPerLink = 20;

  const Cluster& cluster_;
  const PairLinks& pairs_;
  std::optional<Router> router_;
  // Of explicit links, by both ends.
  std::map<std::pair<DeviceId, DeviceId>, double> widest_;
  // Over explicit links, since rings and all-to-alls of a stage ask for many of them again.
  std::map<std::pair<DeviceId, DeviceId>, std::vector<DeviceId>> ways_;
};

std::unique_ptr<Ways> WaysOf(const Cluster& cluster, const TrainingCluster& training) {
  if (training.pairs != nullptr) return std::make_unique<PairWays>(cluster, *training.pairs);
  return std::make_unique<TreeWays>(cluster, training);
}

// All groups of one kind: those of `count` ranks whose neighbours are `stride` apart.
std::vector<Ranks> GroupsOf(std::span<const DeviceId> devices, const RankGroup& group) {
  std::vector<Ranks> groups;
  const auto size = static_cast<std::size_t>(group.ranks * group.stride);
  for (std::size_t first = 0; first + size <= devices.size(); first += size) {
    for (int64_t offset = 0; offset < group.stride; ++offset) {
      Ranks& ranks = groups.emplace_back();
      for (int64_t rank = 0; rank < group.ranks; ++rank) {
        ranks.push_back(devices[first + static_cast<std::size_t>(rank * group.stride + offset)]);
      }
    }
  }
  return groups;
}

class UseFinder {
 public:
  UseFinder(const Cluster& cluster, const DeviceRow& row, const JointPlan& plan, int64_t most_uses)
      : row_(row), plan_(plan), ways_(WaysOf(cluster, row.cluster())), table_(most_uses) {}

  std::optional<StageLinkUses> Find() {
    for (std::size_t s = 0; s < plan_.stages.size() && !table_.is_full(); ++s) {
      AddGroups(s);
      AddTransfers(s);
    }
    if (plan_.stages.size() > 1) AddEnds();
    if (table_.is_full()) return std::nullopt;
    return Named();
  }

 private:
  static Flow FlowOf(std::size_t stage, ExchangeGroup group) {
    return stage * kNumStageExchanges + static_cast<std::size_t>(group);
  }
  static Flow FlowOf(std::size_t stage, StageTransfer transfer) {
    return stage * kNumStageExchanges + kNumExchangeGroups + static_cast<std::size_t>(transfer);
  }

  // Bandwidths alone.
  Exchange ExchangeOf(const JointStage& stage) const {
    PriceQuery query = StageQuery(row_, plan_, stage);
    TrainingLink inside = query.inside.value_or(row_.cluster().inside);
    TrainingLink between = query.between.value_or(row_.cluster().between);
    inside.latency_ps = between.latency_ps = 0;
    query.inside = inside;
    query.between = between;
    return {query, inside, between, 1};
  }

  void AddGroups(std::size_t s) {
    const JointStage& stage = plan_.stages[s];
    const Degrees& degrees = stage.degrees;
    const Exchange exchange = ExchangeOf(stage);
    const int64_t copies = int64_t{degrees.context} * degrees.data;
    // Layers of operators change layouts among tensor and context ranks (docs/training-costs.md, section 9).
    const int64_t layout_ranks = plan_.layer_labels.empty() ? 1 : degrees.context;
    AddRings(s, ExchangeGroup::kTensor, {degrees.tensor * layout_ranks, 1}, exchange);
    AddRings(s, ExchangeGroup::kContext, {degrees.context, degrees.tensor}, exchange);
    AddAllToAlls(s, {degrees.expert, degrees.tensor}, exchange);
    AddRings(s, ExchangeGroup::kData, {copies, degrees.tensor}, exchange);
    AddRings(s, ExchangeGroup::kExperts, {copies / degrees.expert, int64_t{degrees.tensor} * degrees.expert}, exchange);
  }

  void Move(Flow flow, DeviceId a, DeviceId b, const Ranks& ranks, double rate) {
    ways_->Send(flow, a, b, ranks, rate, table_);
    ways_->Receive(flow, a, b, ranks, rate, table_);
  }

  void AddRings(std::size_t s, ExchangeGroup kind, const RankGroup& group, const Exchange& exchange) {
    if (group.ranks <= 1) return;
    const auto ranks = static_cast<double>(group.ranks);
    const double rate = kBytes * (ranks - 1) / ranks / exchange.Ring(kBytes, group) * kPicosecondsPerSecond;
    for (const Ranks& ring : GroupsOf(row_.DevicesOf(plan_.stages[s]), group)) {
      for (std::size_t i = 0; i < ring.size(); ++i) {
        Move(FlowOf(s, kind), ring[i], ring[(i + 1) % ring.size()], ring, rate);
      }
    }
  }

  void AddAllToAlls(std::size_t s, const RankGroup& group, const Exchange& exchange) {
    if (group.ranks <= 1) return;
    const double rate =
        kBytes / static_cast<double>(group.ranks) / exchange.AllToAll(kBytes, group) * kPicosecondsPerSecond;
    for (const Ranks& ranks : GroupsOf(row_.DevicesOf(plan_.stages[s]), group)) {
      for (const DeviceId a : ranks) {
        for (const DeviceId b : ranks) {
          if (table_.is_full()) return;
          if (a == b) continue;
          ways_->Send(FlowOf(s, ExchangeGroup::kExpert), a, b, {a}, rate, table_);
          ways_->Receive(FlowOf(s, ExchangeGroup::kExpert), a, b, {b}, rate, table_);
        }
      }
    }
  }

  // Rank by rank; of unlike numbers each with those of its share. `a` has its bandwidth, whatever the number of its
  // partners.
  template <typename Way>
  void AddAcross(std::size_t a, std::size_t b, const TrainingLink& link, const Way& way) {
    const std::vector<DeviceId> own = row_.DevicesOf(plan_.stages[a]);
    const std::vector<DeviceId> other = row_.DevicesOf(plan_.stages[b]);
    const std::size_t most = std::max(own.size(), other.size());
    const double rate = link.bytes_per_second * static_cast<double>(own.size()) / static_cast<double>(most);
    for (std::size_t rank = 0; rank < most; ++rank) {
      const DeviceId from = own[rank * own.size() / most];
      const DeviceId to = other[rank * other.size() / most];
      if (from != to) way(from, to, rate);
    }
  }

  void SendAcross(std::size_t a, std::size_t b, StageTransfer transfer, const TrainingLink& link) {
    AddAcross(a, b, link, [&](DeviceId own, DeviceId other, double rate) {
      ways_->Send(FlowOf(a, transfer), own, other, {own}, rate, table_);
    });
  }
  void ReceiveAcross(std::size_t a, std::size_t b, StageTransfer transfer, const TrainingLink& link) {
    AddAcross(a, b, link, [&](DeviceId own, DeviceId other, double rate) {
      ways_->Receive(FlowOf(a, transfer), other, own, {own}, rate, table_);
    });
  }

  // With the stage behind it; of several chunks the last stage with the first.
  void AddTransfers(std::size_t s) {
    const std::size_t next = (s + 1) % plan_.stages.size();
    if (next == s || (next == 0 && plan_.chunks == 1)) return;
    const TrainingLink link = LinkBetween(row_, plan_.stages[s], plan_.stages[next]);
    SendAcross(s, next, StageTransfer::kSendForward, link);
    ReceiveAcross(next, s, StageTransfer::kReceiveForward, link);
    SendAcross(next, s, StageTransfer::kSendBackward, link);
    ReceiveAcross(s, next, StageTransfer::kReceiveBackward, link);
  }

  void AddEnds() {
    const std::size_t last = plan_.stages.size() - 1;
    if (last == 0) return;
    const TrainingLink link = LinkBetween(row_, plan_.stages.front(), plan_.stages.back());
    for (const auto& [a, b] : {std::pair(std::size_t{0}, last), std::pair(last, std::size_t{0})}) {
      SendAcross(a, b, StageTransfer::kEnds, link);
      ReceiveAcross(a, b, StageTransfer::kEnds, link);
    }
  }

  using Distinct = std::vector<std::pair<std::map<Flow, double>, LinkTable::Alike>>;

  // Whether every flow uses no less of `wide` than of `link`.
  static bool IsNoWider(const std::map<Flow, double>& link, const std::map<Flow, double>& wide) {
    return std::all_of(wide.begin(), wide.end(), [&](const auto& use) {
      const auto found = link.find(use.first);
      return found != link.end() && found->second >= use.second - kSame;
    });
  }

  // Without links that are nowhere the narrowest.
  static Distinct Narrow(const Distinct& links) {
    Distinct narrow;
    // By a flow of theirs, since others share none.
    std::map<Flow, std::vector<std::size_t>> by_flow;
    for (std::size_t i = 0; i < links.size(); ++i) {
      for (const auto& use : links[i].first) by_flow[use.first].push_back(i);
    }
    for (std::size_t i = 0; i < links.size(); ++i) {
      const std::vector<std::size_t>& others = by_flow[links[i].first.begin()->first];
      const bool is_narrow = std::none_of(others.begin(), others.end(), [&](std::size_t other) {
        InterruptionPoint(kUnitsPerComparison);
        if (other == i || !IsNoWider(links[other].first, links[i].first)) return false;
        // Of equals the first stays.
        return !IsNoWider(links[i].first, links[other].first) || other < i;
      });
      if (is_narrow) narrow.push_back(links[i]);
    }
    return narrow;
  }

  // "ports of node 0 x 16", ", out" where what they receive is another link.
  std::string NameOf(const LinkTable::Alike& alike) const {
    const int64_t count = std::max(alike.sending, alike.receiving);
    const bool are_both = alike.sending > 0 && alike.receiving > 0;
    const bool is_way = row_.cluster().pairs != nullptr;
    const char* const direction = alike.sending > 0 ? ", out" : ", in";
    return absl::StrCat(ways_->NameOf(alike.first), count > 1 ? absl::StrCat(" x ", count) : "",
                        are_both || is_way ? "" : direction);
  }

  StageLinkUses Named() {
    StageLinkUses uses;
    uses.stages.resize(plan_.stages.size());
    for (const auto& [flows, alike] : Narrow(table_.TakeDistinct())) {
      const auto link = static_cast<int32_t>(uses.links.size());
      uses.links.push_back(NameOf(alike));
      for (const auto& [flow, share] : flows) {
        uses.stages[flow / kNumStageExchanges][flow % kNumStageExchanges].push_back({link, share});
      }
    }
    return uses;
  }

  static constexpr double kBytes = 1e12;
  static constexpr double kSame = 1e-12;
  static constexpr std::size_t kUnitsPerComparison = 10;

  const DeviceRow& row_;
  const JointPlan& plan_;
  const std::unique_ptr<Ways> ways_;
  LinkTable table_;
};

}  // namespace

std::optional<StageLinkUses> LinkUsesOf(const Cluster& cluster, const DeviceRow& row, const JointPlan& plan,
                                        int64_t most_uses) {
  return UseFinder(cluster, row, plan, most_uses).Find();
}

}  // namespace planwright
