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

}  // namespace

std::string PlanKey(const PlanSubject& subject) {
  v1::PlanningProblem problem = subject.problem;
  SortLists(problem);
  CanonicalHash hash("planwright.plan.1");
  hash.Add(subject.program_version);
  hash.Add(subject.graph_digest);
  hash.Add(subject.cluster_digest);
  hash.Add(Serialize(problem));
  hash.Add(subject.options.algorithm);
  hash.Add(subject.options.seed);
  hash.Add(subject.options.ideal_limit);
  hash.Add(subject.options.explain);
  hash.Add(subject.options.clusters);
  hash.Add(subject.options.clustering_alpha);
  hash.Add(subject.options.refinement_steps);
  return hash.Hex();
}

}  // namespace planwright::server
