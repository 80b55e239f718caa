// The joint search between wire and core: shape of a model, settings, and what was chosen.
#ifndef PLANWRIGHT_SERVER_CODEC_JOINT_H_
#define PLANWRIGHT_SERVER_CODEC_JOINT_H_

#include "core/base/violations.h"
#include "core/model/graph.h"
#include "core/model/joint.h"
#include "core/model/problem.h"
#include "core/model/transformer_shape.h"
#include "planwright/v1/graph.pb.h"
#include "planwright/v1/plan.pb.h"
#include "planwright/v1/problem.pb.h"
#include "server/codec/field_path.h"

namespace planwright::server {

TransformerShape DecodeTransformer(const v1::Transformer& wire);
v1::Transformer EncodeTransformer(const TransformerShape& shape);

// Sets problem.joint. What other fields of the problem say of the same choices (schedule, num_stages, micro_batches,
// num_replicas, memory_model.recomputation) is taken over where `wire` leaves them open; what differs is for the
// validator to refuse. REQUIRES: those fields are decoded.
void DecodeJoint(const v1::JointSearch& wire, const FieldPath& path, Violations& violations, PlanningProblem& problem);
void EncodeJoint(const JointSettings& joint, v1::JointSearch& wire);

// Fills in wire.joint and the joint parts of its stages. REQUIRES: `wire` has the stages of `joint`, whose layers are
// those of graph.transformer.
void EncodeJointPlan(const JointPlan& joint, const OperatorGraph& graph, v1::Plan& wire);

// The choices that `wire` states of plan and stages, for EvaluatePlan; of its numbers only the simulated step, which
// stands where it is too long to be simulated again. Violations (paths below "plan"): values and layers that are not
// known, lists of unequal length, stages without choices. REQUIRES: wire.has_joint().
JointPlan DecodeJointChoices(const v1::Plan& wire, const OperatorGraph& graph, Violations& violations);

// Likewise for the choices of a plan to start from, at `path`, and back.
JointPlan DecodeStartChoices(const v1::JointChoices& wire, const OperatorGraph& graph, const FieldPath& path,
                             Violations& violations);
void EncodeStartChoices(const JointPlan& plan, const OperatorGraph& graph, v1::JointChoices& wire);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CODEC_JOINT_H_
