// Large machines as many equal small ones: what is solved for one tile is repeated on all of them.
//
// Device numbers of regular machines are digits: node and place in the node, or coordinates of a grid. For every way to
// read them as three digits, boxes of digits are tried as tiles, and taken where every tile has the same links inside
// as the first one, pair by pair; nothing needs to be known of the interconnect. Replicas that stay inside a tile have
// the same loads there as in any other, so a mapping of one tile gives one of the machine with the same largest load.
// Bounds are proved on the whole machine only.
#ifndef PLANWRIGHT_CORE_MAPPING_PROVE_MACHINE_TILES_H_
#define PLANWRIGHT_CORE_MAPPING_PROVE_MACHINE_TILES_H_

#include <cstdint>
#include <vector>

#include "core/base/polling.h"
#include "core/mapping/prove/replica_model.h"

namespace planwright {

// The devices of every tile, as numbers of the model; those at the same position play the same part.
using MachineTiles = std::vector<std::vector<int32_t>>;

// Ways to cut the machine into tiles of at most `most_devices` devices, each of which holds whole replicas, the least
// star bound of a tile first (load_bounds.h). Empty where no two tiles are alike, or devices have to stay idle.
// Complexity O(devices x tile) for each way that is taken, of which there are at most some hundred.
std::vector<MachineTiles> TilesOf(const ReplicaModel& model, int32_t most_devices, Poller& poller);

// The problem of one tile: the devices of all others take no part.
MappingInstance InstanceOfTile(const ReplicaModel& model, const std::vector<int32_t>& tile);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_PROVE_MACHINE_TILES_H_
