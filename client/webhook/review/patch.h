// What a plan writes into a job: annotations, and variables of its processes.
#ifndef PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_PATCH_H_
#define PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_PATCH_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/webhook/review/devices.h"
#include "client/webhook/review/job.h"
#include "client/webhook/review/json_tree.h"
#include "planwright/v1/graph.pb.h"
#include "planwright/v1/plan.pb.h"

namespace planwright::webhook {

// Where Kueue lets the job wait.
inline constexpr char kQueueLabel[] = "kueue.x-k8s.io/queue-name";
inline constexpr char kPlanAnnotation[] = "planwright.dev/plan";
inline constexpr char kDevicesUsedAnnotation[] = "planwright.dev/devices-used";
inline constexpr char kPredictedAnnotation[] = "planwright.dev/predicted-ms";
inline constexpr char kGapAnnotation[] = "planwright.dev/gap";
inline constexpr char kPlanVariable[] = "PLANWRIGHT_PLAN";
inline constexpr char kStagesVariable[] = "PLANWRIGHT_STAGE_OF_RANK";
inline constexpr char kTrainerVariable[] = "PLANWRIGHT_TRAINER_ARGS";

// Writes into the metadata of `object`: the plan's name (unless it is empty), the devices that it uses, its objective
// in milliseconds and its gap.
void AnnotatePlan(const v1::Plan& plan, std::string_view name, Json& object);

// The stage of every accelerator, "0,0,1,1": by replicated job, replica, index and local device. Several stages of one
// device are joined by '+'. FAILED_PRECONDITION: ranks are not well defined for this job, or the plan leaves devices
// idle; the message says why.
absl::StatusOr<std::string> StageOfRank(const JobShape& job, const Demand& demand, const std::string& resource,
                                        const v1::Plan& plan);

// Sets the variable in every container of the job that asks for the resource. Returns false, and leaves all as they
// are, where one has it with another value: that is the user's.
bool SetVariable(const Demand& demand, const std::string& resource, std::string_view name, std::string_view value,
                 Json& object);

// Writes Kueue's slice annotations into the pod template: pods that the plan takes to stand together on the innermost
// level that Kueue knows. Leaves jobs alone that have no queue, several templates, or topology annotations of their
// own.
void AnnotateSlices(const Demand& demand, const Pool& pool, Json& object);

// What the argument of a trainer is. FAILED_PRECONDITION: the trainer cannot express the plan; the message says why.
// `trainer`: "megatron", its flags, without quotes; "torchtitan", the part of its job configuration, in Python.
absl::StatusOr<std::string> TrainerArguments(const std::string& trainer, const v1::Plan& plan, const v1::Graph& graph);

}  // namespace planwright::webhook

#endif  // PLANWRIGHT_CLIENT_WEBHOOK_REVIEW_PATCH_H_
