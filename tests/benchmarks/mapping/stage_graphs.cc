#include "tests/benchmarks/mapping/stage_graphs.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/base/index.h"
#include "core/base/random.h"

namespace planwright::benchmarks {
namespace {

constexpr double kImages = 2;
constexpr double kBytesPerElement = 4;
constexpr double kMsPerGigamac = 4.0 / 25;
constexpr double kMegabytesPerMs = 50;
constexpr int64_t kPyramidChannels = 256;
constexpr int64_t kHeadChannels = 128;

struct ImageOperator {
  double compute_ms = 0;
  double parameter_megabytes = 0;
  // Of its output, both directions.
  double traffic_megabytes = 0;
  std::vector<std::size_t> inputs;
};

// The extent of a tensor.
struct Shape {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;

  Shape Divided(int64_t stride) const { return {height / stride, width / stride, channels}; }
  Shape With(int64_t other_channels) const { return {height, width, other_channels}; }
};

// Collects operators in the order of their execution.
class OperatorList {
 public:
  // Adds a k x k convolution on `in` to the operator that Finish makes.
  void Convolve(const Shape& in, int64_t channels, int64_t k) {
    const auto weights = static_cast<double>(k * k * in.channels * channels);
    gigamacs_ += static_cast<double>(in.height * in.width) * weights / 1e9;
    weights_ += weights;
  }

  std::size_t Finish(const Shape& out, std::vector<std::size_t> inputs) {
    const auto elements = static_cast<double>(out.height * out.width * out.channels);
    operators_.push_back({.compute_ms = gigamacs_ * kImages * kMsPerGigamac,
                          .parameter_megabytes = weights_ * kBytesPerElement / 1e6,
                          .traffic_megabytes = 2 * elements * kImages * kBytesPerElement / 1e6,
                          .inputs = std::move(inputs)});
    gigamacs_ = 0;
    weights_ = 0;
    return operators_.size() - 1;
  }

  std::vector<ImageOperator> Take() && { return std::move(operators_); }

 private:
  std::vector<ImageOperator> operators_;
  double gigamacs_ = 0;
  double weights_ = 0;
};

// An operator and the extent of its output.
struct Output {
  std::size_t op = 0;
  Shape shape;
};

// C2 .. C5.
std::vector<Output> AddResNet101(OperatorList& list) {
  Shape shape{256, 512, 64};
  list.Convolve(shape.With(3), 64, 7);
  shape = shape.Divided(2);
  std::size_t last = list.Finish(shape, {});
  std::vector<Output> levels;
  int64_t width = 64;
  for (const int blocks : {3, 4, 23, 3}) {
    for (int block = 0; block < blocks; ++block) {
      const Shape in = block == 0 && !levels.empty() ? shape.Divided(2) : shape;
      list.Convolve(in, width, 1);
      list.Convolve(in.With(width), width, 3);
      list.Convolve(in.With(width), 4 * width, 1);
      if (block == 0) list.Convolve(in, 4 * width, 1);
      shape = in.With(4 * width);
      last = list.Finish(shape, {last});
    }
    levels.push_back({last, shape});
    width *= 2;
  }
  return levels;
}

// The convolutions of a head, all but that of P2 with upsampling until the extent is that of P2.
std::size_t AddHead(Output pyramid, const Shape& finest, OperatorList& list) {
  do {
    list.Convolve(pyramid.shape, kHeadChannels, 3);
    pyramid.shape.channels = kHeadChannels;
    if (pyramid.shape.height < finest.height) {
      pyramid.shape.height *= 2;
      pyramid.shape.width *= 2;
    }
    pyramid.op = list.Finish(pyramid.shape, {pyramid.op});
  } while (pyramid.shape.height < finest.height);
  return pyramid.op;
}

std::vector<ImageOperator> SemanticFpnOperators() {
  OperatorList list;
  const std::vector<Output> levels = AddResNet101(list);
  std::vector<std::size_t> heads;
  std::vector<std::size_t> above;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    const Shape shape = level->shape.With(kPyramidChannels);
    list.Convolve(level->shape, kPyramidChannels, 1);
    above.insert(above.begin(), level->op);
    above = {list.Finish(shape, std::move(above))};
    list.Convolve(shape, kPyramidChannels, 3);
    const std::size_t pyramid = list.Finish(shape, above);
    heads.push_back(AddHead({pyramid, shape}, levels.front().shape, list));
  }
  list.Finish(levels.front().shape.With(kHeadChannels), std::move(heads));
  return std::move(list).Take();
}

// The last consumer of each operator, itself where there is none.
std::vector<std::size_t> LastConsumers(const std::vector<ImageOperator>& operators) {
  std::vector<std::size_t> last(operators.size());
  for (std::size_t op = 0; op < operators.size(); ++op) {
    last[op] = op;
    for (const std::size_t input : operators[op].inputs) last[input] = op;
  }
  return last;
}

// Compute and traffic of the operators begin .. end - 1 as a stage; a tensor counts once on each side.
double StageTime(const std::vector<ImageOperator>& operators, const std::vector<std::size_t>& last_consumers,
                 std::size_t begin, std::size_t end) {
  double time = 0;
  std::vector<bool> is_counted(begin, false);
  for (std::size_t op = begin; op < end; ++op) {
    time += operators[op].compute_ms;
    if (last_consumers[op] >= end) time += operators[op].traffic_megabytes / kMegabytesPerMs;
    for (const std::size_t input : operators[op].inputs) {
      if (input >= begin || is_counted[input]) continue;
      is_counted[input] = true;
      time += operators[input].traffic_megabytes / kMegabytesPerMs;
    }
  }
  return time;
}

// Where the stages begin, and the end: the cut whose slowest stage is fastest.
std::vector<std::size_t> CutIntoStages(const std::vector<ImageOperator>& operators, int32_t num_stages) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const std::size_t count = operators.size();
  const std::vector<std::size_t> last_consumers = LastConsumers(operators);
  std::vector<double> best(count + 1, kNever);
  best[0] = 0;
  // By stage and its end: its begin.
  std::vector<std::vector<std::size_t>> begins;
  for (int32_t stage = 0; stage < num_stages; ++stage) {
    std::vector<double> next(count + 1, kNever);
    begins.emplace_back(count + 1, 0);
    for (std::size_t end = 1; end <= count; ++end) {
      for (std::size_t begin = 0; begin < end; ++begin) {
        if (best[begin] >= next[end]) continue;
        const double time = std::max(best[begin], StageTime(operators, last_consumers, begin, end));
        if (time >= next[end]) continue;
        next[end] = time;
        begins.back()[end] = begin;
      }
    }
    best = std::move(next);
  }
  std::vector<std::size_t> cuts = {count};
  for (auto begin = begins.rbegin(); begin != begins.rend(); ++begin) cuts.push_back((*begin)[cuts.back()]);
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

StageGraph GraphOfStages(const std::vector<ImageOperator>& operators, const std::vector<std::size_t>& cuts) {
  StageGraph graph;
  std::vector<int32_t> stage_of(operators.size());
  for (std::size_t stage = 0; stage + 1 < cuts.size(); ++stage) {
    graph.compute_ms.push_back(0);
    graph.parameter_megabytes.push_back(0);
    for (std::size_t op = cuts[stage]; op < cuts[stage + 1]; ++op) {
      stage_of[op] = static_cast<int32_t>(stage);
      graph.compute_ms.back() += operators[op].compute_ms;
      graph.parameter_megabytes.back() += operators[op].parameter_megabytes;
    }
  }
  // A tensor crosses once to each stage that consumes it.
  std::set<std::pair<std::size_t, int32_t>> crossings;
  for (std::size_t op = 0; op < operators.size(); ++op) {
    for (const std::size_t input : operators[op].inputs) {
      if (stage_of[input] != stage_of[op]) crossings.emplace(input, stage_of[op]);
    }
  }
  std::map<std::pair<int32_t, int32_t>, double> megabytes;
  for (const auto& [producer, consumer] : crossings) {
    megabytes[{stage_of[producer], consumer}] += operators[producer].traffic_megabytes;
  }
  for (const auto& [stages, amount] : megabytes) graph.edges.push_back({stages.first, stages.second, amount});
  return graph;
}

double Uniform(double low, double high, RandomStream& random) { return low + (high - low) * random.Unit(); }

StageGraph RandomChain(int32_t num_stages, RandomStream& random) {
  StageGraph graph;
  for (int32_t stage = 0; stage < num_stages; ++stage) {
    graph.compute_ms.push_back(Uniform(2, 3, random));
    graph.parameter_megabytes.push_back(Uniform(5, 50, random));
    if (stage > 0) graph.edges.push_back({stage - 1, stage, Uniform(20, 80, random)});
  }
  return graph;
}

}  // namespace

StageGraph SemanticFpnStages(int32_t num_stages) {
  const std::vector<ImageOperator> operators = SemanticFpnOperators();
  return GraphOfStages(operators, CutIntoStages(operators, num_stages));
}

StageGraph BertStages(int32_t num_stages, uint64_t seed) {
  RandomStream random(seed);
  StageGraph graph;
  for (int32_t stage = 0; stage < num_stages; ++stage) {
    graph.compute_ms.push_back(Uniform(19, 21, random) * 4 / num_stages);
    graph.parameter_megabytes.push_back(1'340.0 / num_stages * Uniform(0.9, 1.1, random));
    if (stage > 0) graph.edges.push_back({stage - 1, stage, 16.8});
  }
  return graph;
}

StageGraph ChainStages(int32_t num_stages, uint64_t seed) {
  RandomStream random(seed);
  return RandomChain(num_stages, random);
}

StageGraph UnetStages(int32_t num_stages, uint64_t seed) {
  RandomStream random(seed);
  StageGraph graph = RandomChain(num_stages, random);
  for (int32_t stage = 0; stage + 1 < num_stages - 1 - stage; ++stage) {
    graph.edges.push_back({stage, num_stages - 1 - stage, Uniform(10, 60, random)});
  }
  std::sort(graph.edges.begin(), graph.edges.end(), [](const StageGraph::Edge& a, const StageGraph::Edge& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  return graph;
}

MappingInstance MakeInstance(const StageGraph& graph, int32_t num_replicas, int32_t num_devices, const Network& network,
                             MappingObjective objective) {
  MappingInstance instance{.replicas = StageReplicas(static_cast<int32_t>(graph.compute_ms.size()), num_replicas),
                           .device_kind = std::vector<int32_t>(Index(num_devices), 0),
                           .compute_ms = graph.compute_ms,
                           .objective = objective,
                           .network = network};
  for (const StageGraph::Edge& edge : graph.edges) {
    const double bytes = edge.megabytes * 1e6 / 2;
    instance.traffic.push_back({edge.from, edge.to, bytes, bytes, 1, 1});
  }
  for (const double megabytes : graph.parameter_megabytes) {
    instance.allreduce_bytes.push_back(2.0 * (num_replicas - 1) / num_replicas * megabytes * 1e6);
  }
  return instance;
}

}  // namespace planwright::benchmarks
