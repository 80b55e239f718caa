
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/base/index.h"
#include "core/base/interruption.h"
#include "core/partition/enumeration/forms.h"

namespace planwright {
namespace {

// Steps of counting: some milliseconds.
constexpr int64_t kMaxSteps = 300'000;

// Counting and enumerating nest as deep as stages x the greater of blocks and kinds of devices, with some hundred bytes
// of stack each.
constexpr std::size_t kMaxDepth = 4'096;

// Numbers of ways by the number of stages; doubles, which saturate by themselves.
using Ways = std::vector<double>;

// In how many ways devices are given to stages in turn.
class TeamCount {
 public:
  TeamCount(const SearchRequest& request, const DeviceOptions& devices, std::size_t most_stages)
      : problem_(request.problem),
        devices_(devices),
        tells_order_(OrderOfTeams(request) != TeamOrder::kAscending),
        most_stages_(most_stages) {
    for (const std::vector<std::size_t>& kind : devices.kinds()) {
      const DeviceClassId device_class = devices[kind.front()].device_class;
      if (std::find(classes_.begin(), classes_.end(), device_class) == classes_.end()) classes_.push_back(device_class);
    }
  }

  // nullopt: too many steps.
  std::optional<Ways> Count() {
    std::vector<std::size_t> all;
    for (const std::vector<std::size_t>& kind : devices_.kinds()) all.push_back(kind.size());
    const std::size_t most = problem_.replication == Replication::kNone ? 1 : devices_.max_used();
    Ways ways(most_stages_ + 1);
    const bool is_uniform = problem_.replication == Replication::kUniform;
    for (std::size_t replicas = is_uniform ? 1 : most; replicas <= most && steps_ <= kMaxSteps; ++replicas) {
      const bool is_asked_for = !problem_.num_replicas.has_value() || std::cmp_equal(*problem_.num_replicas, replicas);
      if (is_uniform && !is_asked_for) continue;
      min_size_ = is_uniform ? replicas : 1;
      max_size_ = replicas;
      known_.clear();
      const Ways some = WaysFrom(all, devices_.max_used(), most_stages_);
      for (std::size_t k = 0; k < some.size(); ++k) ways[k] += some[k];
    }
    if (steps_ > kMaxSteps) return std::nullopt;
    return ways;
  }

 private:
  using Idle = std::vector<std::size_t>;

  // Counts by the number of stages, `most` at most, that `idle` devices of each kind serve, `room` of them. Greater
  // numbers of stages than there can be are left out.
  Ways WaysFrom(const Idle& idle, std::size_t room, std::size_t most) {
    most = std::min(most, room / min_size_);
    if (most == 0) return {1};
    const auto known = known_.find({idle, room, most});
    if (known != known_.end()) return known->second;
    Ways ways(most + 1);
    ways[0] = 1;
    for (const DeviceClassId device_class : classes_) {
      Idle rest = idle;
      AddTeams(device_class, 0, 0, 1, rest, room, ways);
    }
    known_[{idle, room, most}] = ways;
    return ways;
  }

  // Adds the teams with `size` devices so far, in `orders` orders, and more of the kinds from `kind` on.
  void AddTeams(DeviceClassId device_class, std::size_t kind, std::size_t size, double orders, Idle& rest,
                std::size_t room, Ways& ways) {
    InterruptionPoint(/*units=*/8);
    if (++steps_ > kMaxSteps) return;
    if (kind == rest.size()) {
      if (size < min_size_ || size > max_size_) return;
      const Ways behind = WaysFrom(rest, room - size, ways.size() - 2);
      for (std::size_t k = 0; k < behind.size(); ++k) ways[k + 1] += orders * behind[k];
      return;
    }
    const bool is_of_class = devices_[devices_.kinds()[kind].front()].device_class == device_class;
    const std::size_t most = is_of_class ? std::min({rest[kind], max_size_ - size, room - size}) : 0;
    for (std::size_t taken = 0; taken <= most; ++taken) {
      rest[kind] -= taken;
      AddTeams(device_class, kind + 1, size + taken, orders * (tells_order_ ? Choose(size + taken, taken) : 1), rest,
               room, ways);
      rest[kind] += taken;
    }
  }

  static double Choose(std::size_t n, std::size_t k) {
    double ways = 1;
    for (std::size_t i = 1; i <= k; ++i) ways = ways * static_cast<double>(n - k + i) / static_cast<double>(i);
    return ways;
  }

  const ResolvedProblem& problem_;
  const DeviceOptions& devices_;
  const bool tells_order_;
  const std::size_t most_stages_;
  std::vector<DeviceClassId> classes_;
  std::size_t min_size_ = 1;
  std::size_t max_size_ = 1;
  std::map<std::tuple<Idle, std::size_t, std::size_t>, Ways> known_;
  int64_t steps_ = 0;
};

// Chains of ideals by the number of their steps.
class ChainCount {
 public:
  ChainCount(const Digraph& precedence, std::size_t most_stages) : precedence_(precedence), most_stages_(most_stages) {}

  // nullopt: too many steps.
  std::optional<Ways> Count() {
    Ways ways = WaysFrom(Left(Index(precedence_.num_vertices()), true), most_stages_);
    if (steps_ > kMaxSteps) return std::nullopt;
    return ways;
  }

 private:
  using Left = std::vector<bool>;

  // Counts the ways with `most` stages at most.
  Ways WaysFrom(const Left& left, std::size_t most) {
    InterruptionPoint(256 + 16 * left.size() + 2 * most);
    Ways ways(most + 1);
    const bool is_empty = std::none_of(left.begin(), left.end(), [](bool is_left) { return is_left; });
    if (is_empty || most < 2) {
      ways[is_empty ? 0 : most] = is_empty || most == 1 ? 1 : 0;
      return ways;
    }
    const auto known = known_.find({left, most});
    if (known != known_.end()) return known->second;
    Left rest = left;
    Grow(left, precedence_.num_vertices() - 1, rest, ways);
    known_[{left, most}] = ways;
    return ways;
  }

  // Every last stage of what is left, decided down to `vertex`; `rest` is without it.
  void Grow(const Left& left, int32_t vertex, Left& rest, Ways& ways) {
    while (vertex >= 0 && !left[Index(vertex)]) --vertex;
    if (++steps_ > kMaxSteps) return;
    if (vertex < 0) {
      if (rest == left) return;
      const Ways before = WaysFrom(rest, ways.size() - 2);
      for (std::size_t k = 1; k < ways.size(); ++k) ways[k] += before[k - 1];
      return;
    }
    const auto successors = precedence_.successors(vertex);
    if (std::none_of(successors.begin(), successors.end(), [&](int32_t next) { return rest[Index(next)]; })) {
      rest[Index(vertex)] = false;
      Grow(left, vertex - 1, rest, ways);
      rest[Index(vertex)] = true;
    }
    Grow(left, vertex - 1, rest, ways);
  }

  const Digraph& precedence_;
  const std::size_t most_stages_;
  std::map<std::pair<Left, std::size_t>, Ways> known_;
  int64_t steps_ = 0;
};

// Stirling numbers of the second kind, of n elements in k parts for every k.
Ways Divisions(std::size_t n, std::size_t most_parts) {
  Ways ways(most_parts + 1);
  ways[0] = 1;
  for (std::size_t element = 0; element < n; ++element) {
    for (std::size_t k = most_parts; k >= 1; --k) ways[k] = static_cast<double>(k) * ways[k] + ways[k - 1];
    ways[0] = 0;
  }
  return ways;
}

double Product(const Ways& a, const Ways& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

std::optional<int64_t> Small(double count) {
  if (!(count <= static_cast<double>(kMaxPlacements))) return std::nullopt;
  return std::llround(count);
}

// Stages of at most one group and one device each.
std::size_t MostStages(const SearchRequest& request, std::size_t num_groups, const DeviceOptions& devices) {
  const std::size_t most = std::min(num_groups, devices.max_used());
  const std::optional<int32_t>& asked_for = request.problem.num_stages;
  return asked_for.has_value() ? std::min(most, static_cast<std::size_t>(*asked_for)) : most;
}

bool NestsTooDeep(std::size_t num_blocks, std::size_t most_stages, const DeviceOptions& devices) {
  return std::max(num_blocks, devices.kinds().size()) * most_stages > kMaxDepth;
}

// Ways to divide some forward and some backward operators, by their numbers.
using Table = std::vector<std::vector<double>>;

double Factorial(std::size_t n) { return std::tgamma(static_cast<double>(n) + 1); }

double Choose(std::size_t n, std::size_t k) { return std::round(Factorial(n) / Factorial(k) / Factorial(n - k)); }

// Into ordered subgraphs on one accelerator.
Table OnAccelerator(std::size_t forward, std::size_t backward, std::size_t most_subgraphs) {
  Table table(forward + 1, Ways(backward + 1));
  for (std::size_t f = 0; f <= forward; ++f) {
    for (std::size_t b = 0; b <= backward; ++b) {
      const Ways of_f = Divisions(f, std::min(f, most_subgraphs));
      const Ways of_b = Divisions(b, std::min(b, most_subgraphs));
      for (std::size_t i = 0; i < of_f.size(); ++i) {
        for (std::size_t j = 0; j < of_b.size(); ++j) table[f][b] += of_f[i] * of_b[j] * Factorial(i + j);
      }
    }
  }
  return table;
}

// Counts the ways to put each operator on one of `choices`.
Table OnCpus(std::size_t forward, std::size_t backward, std::size_t choices) {
  Table table(forward + 1, Ways(backward + 1));
  for (std::size_t f = 0; f <= forward; ++f) {
    for (std::size_t b = 0; b <= backward; ++b) table[f][b] = std::pow(choices, f + b);
  }
  return table;
}

// Counts the ways for the operators of both tables together.
Table Combined(const Table& a, const Table& b) {
  Table combined(a.size(), Ways(a.front().size()));
  for (std::size_t f = 0; f < a.size(); ++f) {
    for (std::size_t g = 0; g < a.front().size(); ++g) {
      for (std::size_t i = 0; i <= f; ++i) {
        for (std::size_t j = 0; j <= g; ++j) {
          combined[f][g] += Choose(f, i) * Choose(g, j) * a[i][j] * b[f - i][g - j];
        }
      }
    }
  }
  return combined;
}

}  // namespace

std::optional<int64_t> CountPipelines(const SearchRequest& request, const Digraph& precedence,
                                      const DeviceOptions& devices) {
  const std::size_t num_blocks = Index(precedence.num_vertices());
  const std::size_t most_stages = MostStages(request, num_blocks, devices);
  if (NestsTooDeep(num_blocks, most_stages, devices)) return std::nullopt;
  const std::optional<Ways> teams = TeamCount(request, devices, most_stages).Count();
  if (!teams.has_value()) return std::nullopt;
  const std::optional<Ways> chains = ChainCount(precedence, most_stages).Count();
  std::optional<int64_t> count = chains.has_value() ? Small(Product(*chains, *teams)) : std::nullopt;
  if (IgnoresOrderOfStages(request.problem)) {
    const std::optional<int64_t> divided = Small(Product(Divisions(num_blocks, most_stages), *teams));
    if (divided.has_value()) count = std::min(count.value_or(*divided), *divided);
  }
  return count;
}

std::optional<int64_t> CountAllocations(const SearchRequest& request, std::size_t num_groups,
                                        const DeviceOptions& devices) {
  const std::size_t most_stages = MostStages(request, num_groups, devices);
  if (NestsTooDeep(num_groups, most_stages, devices)) return std::nullopt;
  const std::optional<Ways> teams = TeamCount(request, devices, most_stages).Count();
  if (!teams.has_value()) return std::nullopt;
  return Small(Product(Divisions(num_groups, most_stages), *teams));
}

std::optional<int64_t> CountChains(const SearchRequest& request, const Digraph& precedence,
                                   const DeviceOptions& devices) {
  if (request.problem.split == Split::kContiguous) return CountPipelines(request, precedence, devices);
  std::size_t accelerators = 0;
  std::size_t kinds = 0;
  for (const std::vector<std::size_t>& kind : devices.kinds()) {
    if (devices[kind.front()].is_cpu) continue;
    accelerators += kind.size();
    ++kinds;
  }
  if (kinds != 1) return std::nullopt;
  const auto seats = accelerators * static_cast<std::size_t>(*request.problem.max_stages_per_device);
  const std::size_t num_blocks = Index(precedence.num_vertices());
  const std::size_t most_stages = std::min(num_blocks, seats);
  if (NestsTooDeep(num_blocks, most_stages, devices)) return std::nullopt;
  const std::optional<Ways> chains = ChainCount(precedence, most_stages).Count();
  if (!chains.has_value()) return std::nullopt;
  double count = 0;
  for (std::size_t k = 1; k <= most_stages; ++k) {
    const Ways shared = Divisions(k, std::min(k, accelerators));
    count += (*chains)[k] * std::accumulate(shared.begin(), shared.end(), 0.0);
  }
  return Small(count);
}

std::optional<int64_t> CountSubgraphs(const SearchRequest& request, const DeviceOptions& devices) {
  // Already with one accelerator as many subgraphs are too many.
  constexpr std::size_t kMaxOperators = 32;
  std::size_t forward = 0;
  std::size_t backward = 0;
  for (const Operator& op : request.graph.operators) {
    if (op.pass == Pass::kForward) ++forward;
    if (op.pass == Pass::kBackward && request.problem.workload == Workload::kTraining) ++backward;
  }
  if (forward + backward > kMaxOperators || devices.size() > kMaxOperators) return std::nullopt;
  std::size_t cpus = 0;
  std::size_t accelerators = 0;
  for (const std::vector<std::size_t>& kind : devices.kinds()) {
    const DeviceOption& option = devices[kind.front()];
    if (option.is_cpu) {
      cpus += option.memory_bytes.has_value() ? kind.size() : 1;
    } else {
      accelerators += kind.size();
    }
  }
  const auto most_subgraphs = static_cast<std::size_t>(MostSubgraphs(request.problem));
  const Table one = OnAccelerator(forward, backward, most_subgraphs);
  Table table = OnCpus(forward, backward, cpus);
  for (std::size_t i = 0; i < accelerators; ++i) table = Combined(table, one);
  return Small(table[forward][backward]);
}

}  // namespace planwright
