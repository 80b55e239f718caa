// The JSON of the device-placement paper (Tarnawski et al.: Efficient Algorithms for Device Placement of DNN Graph
// Operators, 2020) and of its public code: a graph, the devices to split it over, and splits.
//
// A file of graph and devices becomes a request: operators named by their id, tensors t<id>, classes `accelerator` and
// `cpu`, devices acc0.., cpu0.., interconnect host_staged, memory DECLARED. "FPGA" there means any accelerator. The
// result does not depend on the order of the file but for the order of its own lists.
//
// Differences from the reference reader: numbers are not converted silently (an id of 2.5 is refused, not 2); duplicate
// and unknown ids are named; a source whose edges differ in cost by more than 1e-6 ms is not refused but becomes one
// tensor per edge (Appendix B of the paper).
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_DEVICE_PLACEMENT_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_DEVICE_PLACEMENT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/importer/reading/json_text.h"
#include "planwright/v1/planning_service.pb.h"

namespace planwright::client {

inline constexpr char kAcceleratorClass[] = "accelerator";
inline constexpr char kCpuClass[] = "cpu";

// Whether the text is about a graph and its devices, or about a split.
bool IsDevicePlacementGraph(const JsonOutline& outline);
bool IsDevicePlacementSplit(const JsonOutline& outline);

// Reads a graph and its devices: `request` gets graph, cluster and problem. `warnings` gets what a person should know:
// costs that look like seconds, as those of the published layer graphs are (they are used as given).
// Errors: INVALID_ARGUMENT with every violation ("nodes[17].fpgaLatency: must be a number, is "fast"").
// REQUIRES: OutlineOf(text) is OK and IsDevicePlacementGraph.
absl::Status ReadDevicePlacementGraph(std::string_view text, std::string_view source, v1::CreatePlanRequest& request,
                                      std::vector<std::string>& warnings);

// Reads a split as the stages of a plan, one for each device that holds operators. Loads are not taken over: they may
// be unknown (-1) and are rounded. Operators of `graph` that the split leaves out are placed with their colocation
// group; `graph` may be nullptr.
// Errors: INVALID_ARGUMENT with every violation. REQUIRES: OutlineOf(text) is OK and IsDevicePlacementSplit.
absl::StatusOr<v1::Plan> ReadDevicePlacementSplit(std::string_view text, std::string_view source,
                                                  const v1::Graph* graph);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_DEVICE_PLACEMENT_H_
