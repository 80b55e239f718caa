#include "core/graph/scotch_graph.h"

#include <algorithm>
#include <numeric>

#include "core/base/index.h"

namespace planwright {
namespace {

// Sums of weights must stay below the 2^31 of SCOTCH_Num.
constexpr int64_t kTotalWeight = int64_t{1} << 30U;

// `values` scaled down so that they add up to kTotalWeight at most, each at least `least`.
std::vector<SCOTCH_Num> Scaled(const std::vector<int64_t>& values, int64_t least) {
  const int64_t total = std::accumulate(values.begin(), values.end(), int64_t{0});
  const int64_t divisor = total / (kTotalWeight / 2) + 1;
  return Mapped(values, [&](const int64_t value) { return static_cast<SCOTCH_Num>(std::max(value / divisor, least)); });
}

std::mutex& ProcessMutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

ScotchSession::ScotchSession(int64_t seed) : lock_(ProcessMutex()) {
  SCOTCH_contextInit(&context_);
  SCOTCH_contextOptionSetNum(&context_, SCOTCH_OPTIONNUMDETERMINISTIC, 1);
  SCOTCH_contextThreadSpawn(&context_, 1, nullptr);
  SCOTCH_contextRandomClone(&context_);
  SCOTCH_contextRandomSeed(&context_, static_cast<SCOTCH_Num>(seed & 0x7fffffff));
  SCOTCH_contextRandomReset(&context_);
}

ScotchSession::~ScotchSession() { SCOTCH_contextExit(&context_); }

ScotchGraph::ScotchGraph(const std::vector<int64_t>& vertex_weights, const std::vector<Arc>& arcs,
                         ScotchSession& session)
    : vertex_weights_(Scaled(vertex_weights, 0)) {
  std::vector<int64_t> weights;
  weights.reserve(arcs.size());
  for (const Arc& arc : arcs) {
    start_.resize(std::max(start_.size(), Index(arc.from) + 1), static_cast<SCOTCH_Num>(ends_.size()));
    ends_.push_back(arc.to);
    weights.push_back(arc.weight);
  }
  start_.resize(vertex_weights.size() + 1, static_cast<SCOTCH_Num>(ends_.size()));
  edge_weights_ = Scaled(weights, 1);
  SCOTCH_graphInit(&graph_);
  SCOTCH_graphInit(&bound_);
  is_built_ = SCOTCH_graphBuild(&graph_, 0, static_cast<SCOTCH_Num>(vertex_weights.size()), start_.data(),
                                start_.data() + 1, vertex_weights_.data(), nullptr,
                                static_cast<SCOTCH_Num>(ends_.size()), ends_.data(), edge_weights_.data()) == 0 &&
              SCOTCH_contextBindGraph(session.context(), &graph_, &bound_) == 0;
}

ScotchGraph::~ScotchGraph() {
  if (is_built_) SCOTCH_graphExit(&bound_);
  SCOTCH_graphExit(&graph_);
}

}  // namespace planwright
