// planwright_make_lattice NAME: writes a synthetic instance (tests/support/lattices.h) to stdout as a request in native
// JSON, for `planwright plan --graph=FILE`. Exit codes: 0; 2 for an unknown name.
#include <iostream>
#include <optional>

#include "client/report/json.h"
#include "planwright/v1/planning_service.pb.h"
#include "server/codec/cluster.h"
#include "server/codec/graph.h"
#include "tests/support/lattices.h"

int main(int argc, char** argv) {
  const std::optional<planwright::Lattice> lattice = argc == 2 ? planwright::MakeLattice(argv[1]) : std::nullopt;
  if (!lattice.has_value()) {
    std::cerr << "usage: planwright_make_lattice {inc|grid|tow}_{A}x{B}_{lo|hi} > FILE\n";
    return 2;
  }
  planwright::v1::CreatePlanRequest request;
  *request.mutable_graph() = planwright::server::EncodeGraph(lattice->graph);
  *request.mutable_cluster() = planwright::server::EncodeCluster(lattice->cluster);
  std::cout << planwright::client::JsonText(request, planwright::client::DefaultValues::kOmitted);
  return std::cout.flush().good() ? 0 : 1;
}
