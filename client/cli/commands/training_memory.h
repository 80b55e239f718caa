// What people train with, where they do not say it: an optimizer, and the micro-batches in flight of 1F1B.
//
// The service counts neither unless asked, so a plan for a transformer would look as if it needed a fraction of the
// memory. The program asks for both where the model is a transformer that it knows to be one, and says so.
#ifndef PLANWRIGHT_CLIENT_CLI_COMMANDS_TRAINING_MEMORY_H_
#define PLANWRIGHT_CLIENT_CLI_COMMANDS_TRAINING_MEMORY_H_

#include <string>
#include <string_view>

#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

// Sets memory_model.preset and schedule of `request` where its graph has the shape of a transformer or is one of the
// zoo, which `model` may name (InputFlags), its workload training, its objective throughput and nothing is said of
// memory. The schedule is left alone where one is said, where
// stages need not be contiguous, where an algorithm is named, which may have none, and where the caller says so.
// Returns what was asked for, for people; empty: nothing.
std::string AskForTrainingMemory(v1::CreatePlanRequest& request, std::string_view model, bool takes_schedule = true);

// That a plan of training for a transformer on several devices has pipelines alone, where a global batch would choose
// more; else empty. `model` as above; `plan`: the answer to `request`.
std::string PipelinesOnly(const v1::CreatePlanRequest& request, std::string_view model, const v1::Plan& plan);

// That operators move with their layers beside a global batch, where the graph is a decoder and something else is asked
// for; else empty.
std::string OperatorsInVain(const v1::CreatePlanRequest& request);

// Where nothing was found, how more may fit: for people; empty: nothing is known. `request`: that was refused.
std::string HintWhereNothingFits(const v1::CreatePlanRequest& request);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_COMMANDS_TRAINING_MEMORY_H_
