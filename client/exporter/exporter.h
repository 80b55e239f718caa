// Plans as what trainers, launchers and people read.
//
// Formats: Megatron-LM's arguments, torchtitan's configuration, vLLM's VLLM_PP_LAYER_PARTITION, a
// PipelineModule of DeepSpeed, a split and a schedule of torch.distributed.pipelining, host, rank and task files of
// Open MPI, DeepSpeed and Slurm, a patch for Kubernetes, PipeDream's graph with stages, Piper's plan, Graphviz, and a
// plan in the protobuf JSON mapping.
#ifndef PLANWRIGHT_CLIENT_EXPORTER_EXPORTER_H_
#define PLANWRIGHT_CLIENT_EXPORTER_EXPORTER_H_

#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "planwright/v1/cluster.pb.h"
#include "planwright/v1/graph.pb.h"
#include "planwright/v1/plan.pb.h"

namespace planwright::client {

struct ExportInput {
  const v1::Plan& plan;
  // What the plan is for. nullptr: not known; only for targets that do not need it.
  const v1::Graph* graph = nullptr;
  const v1::Cluster* cluster = nullptr;
  // For pipelines with layers of their own: how many stand before the first numbered one.
  int layer_offset = 1;
};

struct Exported {
  // What goes into the file or the flag.
  std::string text;
  // How to use it, for people; may be empty.
  std::string advice;
};

struct ExportTarget {
  std::string_view name;
  std::string_view summary;
  bool needs_graph = false;
  bool needs_cluster = false;
  // It runs pipelines of whole layers with as many replicas each on accelerators: plan --runnable_on may name it.
  bool runs_pipelines = false;
  // Inference instead of training.
  bool serves = false;
  // INVALID_ARGUMENT: the plan names what graph or cluster do not have. FAILED_PRECONDITION: the target cannot express
  // the plan; the message says why and what would help.
  absl::StatusOr<Exported> (*write)(const ExportInput& input);
};

// All targets, in the order of the help.
std::span<const ExportTarget> ExportTargets();

// nullptr: there is none of that name.
const ExportTarget* FindExportTarget(std::string_view name);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_EXPORTER_EXPORTER_H_
