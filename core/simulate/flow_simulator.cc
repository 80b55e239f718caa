#include "core/simulate/flow_simulator.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/base/interruption.h"
#include "core/base/units.h"
#include "core/simulate/task_graph.h"

namespace planwright {
namespace {

// Shares that add up to a full link but for rounding do not overfill it.
constexpr double kRounding = 1e-9;
// Of the speed alone; flows slower than that do not occur in what anybody asks.
constexpr double kLeastRate = 1e-6;

class FlowSimulator {
 public:
  explicit FlowSimulator(const TaskList& list)
      : list_(list),
        graph_(list.tasks.size(), PrecedencesWithOrder(list)),
        waits_for_(graph_.num_predecessors()),
        states_(list.tasks.size()),
        links_(list.resources.size()) {
    timeline_.starts.resize(list.tasks.size());
    timeline_.ends.resize(list.tasks.size());
    timeline_.sequence.reserve(list.tasks.size());
  }

  Timeline Run() {
    for (std::size_t task = 0; task < list_.tasks.size(); ++task) {
      if (waits_for_[task] == 0) Begin(static_cast<int32_t>(task));
    }
    Settle();
    while (!events_.empty()) {
      InterruptionPoint();
      now_ = std::get<0>(events_.top());
      EndDue();
      Settle();
    }
    return std::move(timeline_);
  }

 private:
  // End and task; out of date where the task has another end by now.
  using Event = std::pair<int64_t, int32_t>;

  struct State {
    int64_t end = 0;
    // Of a flow: what was left to do at `updated`, and how fast it is since; 0: it has not been settled.
    int64_t left = 0;
    int64_t updated = 0;
    double rate = 0;
    bool is_running = false;
    // Whether Settle has come across it.
    bool is_joined = false;
  };

  struct Link {
    // Under way, by ascending task.
    std::vector<int32_t> flows;
    double load = 0;
    bool is_overfull = false;
    bool is_changed = false;
    // Whether Settle has come across it.
    bool is_joined = false;
  };

  const std::vector<LinkUse>& UsesOf(int32_t task) const {
    return list_.link_uses[Index(list_.tasks[Index(task)].link_uses)];
  }
  bool IsFlow(int32_t task) const {
    return list_.tasks[Index(task)].link_uses != Task::kNoLinks && list_.tasks[Index(task)].duration > Picoseconds(0);
  }

  void Begin(int32_t task) {
    const int64_t duration = list_.tasks[Index(task)].duration.count();
    timeline_.starts[Index(task)] = Picoseconds(now_);
    timeline_.sequence.push_back(task);
    State& state = states_[Index(task)];
    state.is_running = true;
    if (!IsFlow(task)) return SetEnd(task, now_ + duration);
    state.left = duration;
    state.updated = now_;
    begun_.push_back(task);
    for (const LinkUse& use : UsesOf(task)) {
      std::vector<int32_t>& flows = links_[Index(use.link)].flows;
      flows.insert(std::lower_bound(flows.begin(), flows.end(), task), task);
      NoteChange(use.link);
    }
  }

  void SetEnd(int32_t task, int64_t end) {
    states_[Index(task)].end = end;
    events_.emplace(end, task);
  }

  // Everything that ends now, and what that allows to begin.
  void EndDue() {
    while (!events_.empty() && events_.top().first == now_) {
      const int32_t task = events_.top().second;
      events_.pop();
      const State& state = states_[Index(task)];
      if (state.is_running && state.end == now_) ended_.push_back(task);
      if (!events_.empty() && events_.top().first == now_) continue;
      // Tasks that take no time end now as well.
      for (const int32_t each : std::exchange(ended_, {})) End(each);
    }
  }

  void End(int32_t task) {
    if (!std::exchange(states_[Index(task)].is_running, false)) return;
    timeline_.ends[Index(task)] = Picoseconds(now_);
    if (IsFlow(task)) {
      for (const LinkUse& use : UsesOf(task)) {
        std::vector<int32_t>& flows = links_[Index(use.link)].flows;
        flows.erase(std::lower_bound(flows.begin(), flows.end(), task));
        NoteChange(use.link);
      }
    }
    for (const int32_t successor : graph_.SuccessorsOf(task)) {
      if (--waits_for_[Index(successor)] == 0) Begin(successor);
    }
  }

  void NoteChange(int32_t link) {
    if (!std::exchange(links_[Index(link)].is_changed, true)) changed_.push_back(link);
  }

  double ShareOf(int32_t task, int32_t link) const {
    for (const LinkUse& use : UsesOf(task)) {
      if (use.link == link) return use.share;
    }
    return 0;
  }

  // Finds the rates of all flows that begun, or are joined to one that begun or ended by links that are or were
  // overfull.
  void Settle() {
    joined_flows_.clear();
    joined_links_.clear();
    for (const int32_t link : changed_) UpdateLoad(link);
    for (const int32_t task : std::exchange(begun_, {})) JoinFlow(task);
    for (const int32_t link : std::exchange(changed_, {})) links_[Index(link)].is_changed = false;
    // Grows while it is gone through.
    for (std::size_t i = 0; i < joined_flows_.size(); ++i) {
      for (const LinkUse& use : UsesOf(joined_flows_[i])) JoinLink(use.link);
    }
    std::sort(joined_flows_.begin(), joined_flows_.end());
    Fill();
    for (const int32_t task : joined_flows_) states_[Index(task)].is_joined = false;
    for (const int32_t link : joined_links_) links_[Index(link)].is_joined = false;
  }

  void UpdateLoad(int32_t number) {
    Link& link = links_[Index(number)];
    link.load = 0;
    for (const int32_t task : link.flows) link.load += ShareOf(task, number);
    const bool was_overfull = std::exchange(link.is_overfull, link.load > 1 + kRounding);
    if (!was_overfull && !link.is_overfull) return;
    for (const int32_t task : link.flows) JoinFlow(task);
  }

  void JoinFlow(int32_t task) {
    State& state = states_[Index(task)];
    if (!state.is_running || std::exchange(state.is_joined, true)) return;
    joined_flows_.push_back(task);
  }

  void JoinLink(int32_t number) {
    Link& link = links_[Index(number)];
    if (!link.is_overfull || std::exchange(link.is_joined, true)) return;
    joined_links_.push_back(number);
    for (const int32_t task : link.flows) JoinFlow(task);
  }

  // Progressive filling of the joined links.
  void Fill() {
    rates_.assign(joined_flows_.size(), 0);
    while (true) {
      double level = 1;
      for (const int32_t link : joined_links_) level = std::min(level, LevelOf(link));
      bool is_full = false;
      for (const int32_t link : joined_links_) {
        if (LevelOf(link) > level * (1 + kRounding)) continue;
        filled_.push_back(link);
        is_full = true;
      }
      if (!is_full || level >= 1) break;
      for (const int32_t link : std::exchange(filled_, {})) {
        for (const int32_t task : links_[Index(link)].flows) RateOf(task) = RateOf(task) > 0 ? RateOf(task) : level;
      }
    }
    filled_.clear();
    for (std::size_t i = 0; i < joined_flows_.size(); ++i) SetRate(joined_flows_[i], rates_[i] > 0 ? rates_[i] : 1);
  }

  double& RateOf(int32_t task) {
    const auto found = std::lower_bound(joined_flows_.begin(), joined_flows_.end(), task);
    return rates_[static_cast<std::size_t>(found - joined_flows_.begin())];
  }

  // At which rate of the flows that have none yet the link is full; 1 and more: never.
  double LevelOf(int32_t number) {
    double free = 1;
    double share = 0;
    InterruptionPoint(links_[Index(number)].flows.size());
    for (const int32_t task : links_[Index(number)].flows) {
      const double rate = RateOf(task);
      const double of_link = ShareOf(task, number);
      (rate > 0 ? free : share) += rate > 0 ? -rate * of_link : of_link;
    }
    if (share <= 0) return 2;
    return std::max(free / share, kLeastRate);
  }

  void SetRate(int32_t task, double rate) {
    State& state = states_[Index(task)];
    if (state.rate == rate) return;
    const int64_t elapsed = now_ - state.updated;
    const auto slowed = static_cast<int64_t>(state.rate * static_cast<double>(elapsed));
    state.left -= std::min(state.left, state.rate < 1 ? std::min(slowed, elapsed) : elapsed);
    state.updated = now_;
    state.rate = rate;
    // At most what a step can take.
    const double needed = std::min(std::ceil(static_cast<double>(state.left) / rate), 0x1p61);
    SetEnd(task, now_ + (rate < 1 ? std::max(state.left, static_cast<int64_t>(needed)) : state.left));
  }

  const TaskList& list_;
  const TaskGraph graph_;
  std::vector<int32_t> waits_for_;
  std::vector<State> states_;
  std::vector<Link> links_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  int64_t now_ = 0;
  std::vector<int32_t> ended_;
  std::vector<int32_t> begun_;
  std::vector<int32_t> changed_;
  // Of Settle.
  std::vector<int32_t> joined_flows_;
  std::vector<int32_t> joined_links_;
  std::vector<int32_t> filled_;
  std::vector<double> rates_;
  Timeline timeline_;
};

}  // namespace

Timeline SimulateFlows(const TaskList& list) { return FlowSimulator(list).Run(); }

}  // namespace planwright
