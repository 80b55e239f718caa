// Undirected weighted graphs in the library Scotch (Pellegrini), which baselines call. Only in builds with Scotch.
#ifndef PLANWRIGHT_CORE_GRAPH_SCOTCH_GRAPH_H_
#define PLANWRIGHT_CORE_GRAPH_SCOTCH_GRAPH_H_

#include <scotch/scotch.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace planwright {

// One use of the library: a single thread with random numbers of its own, so that answers depend on the seed only.
// Scotch keeps some of its state for the whole process, so sessions wait for each other.
class ScotchSession {
 public:
  explicit ScotchSession(int64_t seed);
  ~ScotchSession();
  ScotchSession(const ScotchSession&) = delete;
  ScotchSession& operator=(const ScotchSession&) = delete;

  SCOTCH_Context* context() { return &context_; }

 private:
  std::scoped_lock<std::mutex> lock_;
  SCOTCH_Context context_;
};

// A graph within a session, which outlives it.
class ScotchGraph {
 public:
  // Each edge stands in both directions.
  struct Arc {
    int32_t from = 0;
    int32_t to = 0;
    int64_t weight = 0;
  };

  // Weights are scaled down where their sums would leave the range of Scotch's numbers; edges keep at least 1.
  // REQUIRES: `arcs` ascend by both ends, and no weight is negative.
  ScotchGraph(const std::vector<int64_t>& vertex_weights, const std::vector<Arc>& arcs, ScotchSession& session);
  ~ScotchGraph();
  ScotchGraph(const ScotchGraph&) = delete;
  ScotchGraph& operator=(const ScotchGraph&) = delete;

  // nullptr: Scotch refused the graph.
  SCOTCH_Graph* handle() { return is_built_ ? &bound_ : nullptr; }
  std::size_t num_vertices() const { return vertex_weights_.size(); }

 private:
  std::vector<SCOTCH_Num> start_ = {0};
  std::vector<SCOTCH_Num> ends_;
  std::vector<SCOTCH_Num> vertex_weights_;
  std::vector<SCOTCH_Num> edge_weights_;
  SCOTCH_Graph graph_;
  // `graph_` in the context of the session.
  SCOTCH_Graph bound_;
  bool is_built_ = false;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_GRAPH_SCOTCH_GRAPH_H_
