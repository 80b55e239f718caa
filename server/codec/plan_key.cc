#include "server/codec/plan_key.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <utility>

#include "server/codec/canonical_hash.h"

namespace planwright::server {
namespace {

using Names = google::protobuf::RepeatedPtrField<std::string>;
using Pairs = google::protobuf::RepeatedPtrField<v1::OperatorDevice>;

void Sort(Names& names) { std::sort(names.begin(), names.end()); }

void Sort(Pairs& pairs) {
  const auto key = [](const v1::OperatorDevice& pair) { return std::pair(pair.operator_(), pair.device()); };
  std::sort(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

// Lists without order in the order of their names. The order of stages and of the devices of one means something.
void SortLists(v1::PlanningProblem& problem) {
  if (problem.has_devices_to_use()) {
    v1::DeviceSelection& selection = *problem.mutable_devices_to_use();
    Sort(*selection.mutable_hosts());
    Sort(*selection.mutable_devices());
    Sort(*selection.mutable_excluded_devices());
  }
  Sort(*problem.mutable_pinned());
  Sort(*problem.mutable_forbidden());
  if (!problem.has_start_from()) return;
  for (auto& stage : *problem.mutable_start_from()->mutable_stages()) Sort(*stage.mutable_operators());
}

// Fields in the order of their numbers, maps in the order of their keys.
std::string Serialize(const v1::PlanningProblem& problem) {
  std::string text;
  google::protobuf::io::StringOutputStream stream(&text);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  problem.SerializeToCodedStream(&coded);
  coded.Trim();
  return text;
}

// Names every option, so that a new one does not compile before it is in the right place: here, in SearchEffort
// (plan_reuse.h), or, where it never changes a plan, nowhere.
void AddOptions(const SolverOptions& options, CanonicalHash& hash) {
  const auto& [algorithm, work_limit, relative_gap, seed, ideal_limit, threads, explain, clusters, clustering_alpha,
               refinement_steps] = options;
  hash.Add(algorithm);
  hash.Add(seed);
  hash.Add(ideal_limit);
  hash.Add(explain);
  hash.Add(clusters);
  hash.Add(clustering_alpha);
  hash.Add(refinement_steps);
}

}  // namespace

std::string PlanKey(const PlanSubject& subject) {
  v1::PlanningProblem problem = subject.problem;
  SortLists(problem);
  CanonicalHash hash("planwright.plan.2");
  hash.Add(subject.program_version);
  hash.Add(subject.graph_digest);
  hash.Add(subject.cluster_digest);
  hash.Add(Serialize(problem));
  AddOptions(subject.options, hash);
  return hash.Hex();
}

}  // namespace planwright::server
