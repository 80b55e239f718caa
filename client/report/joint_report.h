// Plans of the joint search, and their choices, as text for people.
#ifndef PLANWRIGHT_CLIENT_REPORT_JOINT_REPORT_H_
#define PLANWRIGHT_CLIENT_REPORT_JOINT_REPORT_H_

#include <string>

#include "planwright/v1/plan.pb.h"

namespace planwright::client {

// The step, what it is chosen of, stages by layers with degrees and memory by part, what each choice is worth, and the
// simple configurations. REQUIRES: plan.joint is set.
std::string JointPlanReport(const v1::Plan& plan, const std::string& title);

// Replicas take whole micro-batches in turn: the objective is of one micro-batch, and no step is simulated.
bool TakesTurns(const v1::Plan& plan);

// What the objective is: "latency", or "per step" or "per micro-batch".
const char* ObjectiveNoun(const v1::Plan& plan);

// Pairs of devices have links of their own: steps without a choice are the best that were found, and none is proven.
bool IsWorthHeuristic(const v1::Plan& plan);

// Whether a search made it; else somebody wrote it, and only what it costs is known.
bool WasSearched(const v1::Plan& plan);

// Whether no plan has a lower objective than `plan`. A plan of the joint search is proven optimal by its step task by
// task; its objective, the closed form, has a bound of its own.
bool IsObjectiveOptimal(const v1::Plan& plan);

// "1,234 tokens/s", rounded down: a target of what it says is reached.
std::string TokenSpeedText(double tokens_per_second);

// "12.345 ms; at most 2.9 % above the best (12.000 ms or more)", "12.345 ms, proven optimal": of the step task by task.
// REQUIRES: !TakesTurns.
std::string TaskByTaskText(const v1::Plan& plan);

// "tensor 4, data 2": degrees of 1 are not said.
std::string DegreesText(const v1::JointStage& stage);
std::string DegreesText(const v1::JointPlan::JointConfiguration& configuration);

// "ZeRO-1 (optimizer states)", "no sharding"; in tables "ZeRO-1", "none".
std::string ShardingText(v1::OptimizerSharding sharding);
std::string ShortShardingText(v1::OptimizerSharding sharding);

// "selective".
std::string RecomputationText(v1::LayerRecomputation recomputation);

// "embedding, 0-9", "70-79, head"; chunks are separated by "; ".
std::string LayersText(const v1::JointStage& stage);

// "none", "full 3 of 10".
std::string RecomputedText(const v1::JointStage& stage);

// What a step would take more, beside the plan's: "no more", "6.4 % more".
std::string MoreText(double step_ms, double plan_ms);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_JOINT_REPORT_H_
