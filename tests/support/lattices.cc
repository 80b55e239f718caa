#include "tests/support/lattices.h"

#include <charconv>
#include <cmath>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/base/units.h"
#include "tests/support/builders.h"

namespace planwright {
namespace {

constexpr int kBlocks = 11;
constexpr int kMaxExtent = 999;
constexpr double kSigma = 0.5;
constexpr double kMeanPicoseconds = 1e9;
constexpr int64_t kCpuSlowdown = 10;
constexpr uint64_t kSeed = 1;
// Where a double stops counting one by one.
constexpr double kMaxIdeals = 0x1p53;

// "{shape}_{a}x{b}_{lo|hi}".
struct LatticeName {
  std::string_view shape;
  int a = 0;
  int b = 0;
  double mean_transfer = 0;
};

// Removes a number and `end` from the front of `text`; nullopt: there are none.
std::optional<int> TakeExtent(std::string_view& text, char end) {
  int extent = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
  const auto length = static_cast<std::size_t>(rest - text.data());
  if (error != std::errc() || extent < 1 || extent > kMaxExtent) return std::nullopt;
  if (length == text.size() || text[length] != end) return std::nullopt;
  text.remove_prefix(length + 1);
  return extent;
}

std::optional<LatticeName> ParseName(std::string_view name) {
  LatticeName parsed;
  const std::size_t underscore = name.find('_');
  if (underscore == std::string_view::npos) return std::nullopt;
  parsed.shape = name.substr(0, underscore);
  name.remove_prefix(underscore + 1);
  const std::optional<int> a = TakeExtent(name, 'x');
  if (!a.has_value()) return std::nullopt;
  const std::optional<int> b = TakeExtent(name, '_');
  if (!b.has_value() || (name != "lo" && name != "hi")) return std::nullopt;
  parsed.a = *a;
  parsed.b = *b;
  parsed.mean_transfer = name == "lo" ? 0.02 : 0.5;
  return parsed;
}

// An acyclic graph as the predecessors of each operator, all of which have smaller numbers.
class Shape {
 public:
  int Add(std::vector<int> predecessors) {
    predecessors_.push_back(std::move(predecessors));
    return static_cast<int>(predecessors_.size()) - 1;
  }
  // `length` operators in a row, the first one fed by `predecessors`; the last one of them.
  int AddChain(int length, std::vector<int> predecessors) {
    int last = Add(std::move(predecessors));
    for (int i = 1; i < length; ++i) last = Add({last});
    return last;
  }
  int size() const { return static_cast<int>(predecessors_.size()); }

  std::vector<std::vector<int>> Successors() const {
    std::vector<std::vector<int>> successors(predecessors_.size());
    for (int node = 0; node < size(); ++node) {
      for (const int predecessor : predecessors_[static_cast<std::size_t>(node)]) {
        successors[static_cast<std::size_t>(predecessor)].push_back(node);
      }
    }
    return successors;
  }

 private:
  std::vector<std::vector<int>> predecessors_;
};

Shape Blocks(int chains, int length) {
  Shape shape;
  std::vector<int> join;
  for (int block = 0; block < kBlocks; ++block) {
    std::vector<int> ends;
    ends.reserve(static_cast<std::size_t>(chains));
    for (int chain = 0; chain < chains; ++chain) ends.push_back(shape.AddChain(length, join));
    join = {shape.Add(ends)};
  }
  return shape;
}

Shape Grid(int layers, int steps) {
  Shape shape;
  for (int layer = 0; layer < layers; ++layer) {
    for (int step = 0; step < steps; ++step) {
      std::vector<int> predecessors;
      if (layer > 0) predecessors.push_back(shape.size() - steps);
      if (step > 0) predecessors.push_back(shape.size() - 1);
      shape.Add(std::move(predecessors));
    }
  }
  return shape;
}

Shape Towers(int towers, int length) {
  Shape shape;
  for (int tower = 0; tower < towers; ++tower) shape.AddChain(length, {});
  return shape;
}

double Binomial(int n, int k) {
  double binomial = 1;
  for (int i = 1; i <= k; ++i) binomial = binomial * (n - k + i) / i;
  return binomial;
}

struct SizedShape {
  Shape shape;
  double num_ideals = 0;
};

std::optional<SizedShape> MakeShape(const LatticeName& name) {
  const double chain_product = std::pow(name.b + 1, name.a);
  if (name.shape == "inc") return SizedShape{Blocks(name.a, name.b), kBlocks * chain_product + 1};
  if (name.shape == "grid") return SizedShape{Grid(name.a, name.b), Binomial(name.a + name.b, name.a)};
  if (name.shape == "tow") return SizedShape{Towers(name.a, name.b), chain_product};
  return std::nullopt;
}

// Lognormal with the given mean, in picoseconds.
int64_t DrawTime(double mean, RandomStream& random) {
  return std::llround(mean * std::exp(kSigma * random.Normal() - kSigma * kSigma / 2));
}

// Operator times and transfer times have streams of their own, so that "_lo" and "_hi" differ in transfers only.
OperatorGraph MakeGraph(const Shape& shape, double mean_transfer) {
  OperatorGraph graph;
  RandomStream times(kSeed, 0);
  RandomStream transfers(kSeed, 1);
  for (int node = 0; node < shape.size(); ++node) {
    const int64_t time = DrawTime(kMeanPicoseconds, times);
    AddOperator(graph, "op" + std::to_string(node), time, kCpuSlowdown * time);
  }
  const std::vector<std::vector<int>> successors = shape.Successors();
  for (std::size_t producer = 0; producer < successors.size(); ++producer) {
    const int64_t transfer = DrawTime(mean_transfer * kMeanPicoseconds, transfers);
    if (successors[producer].empty()) continue;
    std::vector<OperatorId> consumers;
    for (const int consumer : successors[producer]) consumers.emplace_back(static_cast<std::size_t>(consumer));
    AddTensor(graph, OperatorId(producer), consumers, transfer);
  }
  return graph;
}

}  // namespace

std::optional<Lattice> MakeLattice(std::string_view name) {
  const std::optional<LatticeName> parsed = ParseName(name);
  if (!parsed.has_value()) return std::nullopt;
  const std::optional<SizedShape> sized = MakeShape(*parsed);
  if (!sized.has_value() || sized->num_ideals >= kMaxIdeals) return std::nullopt;
  Lattice lattice = {.graph = MakeGraph(sized->shape, parsed->mean_transfer),
                     .cluster = MakeCluster(6, 1),
                     .num_ideals = std::llround(sized->num_ideals)};
  lattice.graph.display_name = name;
  return lattice;
}

}  // namespace planwright
