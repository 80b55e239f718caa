// Moves of annealing: what mends a broken limit, guessed from the links around it.
//
//   guided exchange   one end of an edge that is too slow moves to a device near the other end, out of those that the
//                     limit of the other end allows; who is there takes its place
//                     or, where its stage must not be, that of a third
//   relabelling       the replicas of one stage change devices and places on the ring, so that an edge gets faster and
//   the
//                     ring stays as it is (where loads and all-reduces both count)
//   2-opt             a part of a ring is turned around, so that a replica gets a near one as its next
//   segments          as many devices of one ring as of another change places, joined where they are near (kAllReduce)
//   replicas            where rings follow the replicas, some replicas of all stages come in the other order
#ifndef PLANWRIGHT_CORE_MAPPING_ANNEAL_MAPPING_MOVES_H_
#define PLANWRIGHT_CORE_MAPPING_ANNEAL_MAPPING_MOVES_H_

#include <cstdint>

#include "core/base/random.h"
#include "core/mapping/problem/mapping_penalties.h"
#include "core/mapping/problem/mapping_state.h"

namespace planwright {

// For one thread; what it is given outlives it.
class MappingMoves {
 public:
  MappingMoves(MappingState& state, const MappingPenalties& penalties, RandomStream& random);

  // Tries a move on the state, to be accepted or undone by the caller. Returns the number of devices moved on trial, at
  // least 1; the state may be as it was, where the guess was no move.
  int64_t Propose();

 private:
  std::size_t Pick(std::size_t count);
  bool Chance(double probability) { return random_.Unit() < probability; }
  void MendLoad(int32_t vertex);
  void MendRing(int32_t vertex);
  void MoveAnywhere(int32_t vertex);
  void MoveNear(int32_t centre, const MappingTables::Neighbour& neighbour);
  void MoveNextOnRing(int32_t vertex, bool moves_next);
  void ReversePart(int32_t vertex);
  void ExchangeSegments(int32_t vertex);
  void ReverseReplicas(int32_t vertex);
  bool Exchange(DeviceId a, DeviceId b);
  // Moves what is on a to b: by Exchange, or by rotation with a random third device where only that may be.
  void MoveTo(DeviceId a, DeviceId b);
  // A random one of the devices near `centre` for which `time`, of a device, is at most `limit`: of a few at least.
  template <typename Time>
  DeviceId NearDevice(DeviceId centre, double limit, Time time);
  // The replica of the stage on such a device; kNobody: a few tries met none.
  template <typename Time>
  int32_t NearReplica(int32_t stage, DeviceId centre, double limit, Time time);

  MappingState& state_;
  const MappingTables& tables_;
  const MappingInstance& instance_;
  const MappingPenalties& penalties_;
  const bool relabels_;
  RandomStream& random_;
  int64_t moved_ = 0;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MAPPING_ANNEAL_MAPPING_MOVES_H_
