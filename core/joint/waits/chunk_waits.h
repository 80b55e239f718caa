// What the stages of an interleaved pipeline wait for, as a linear program: a bound of the step task by task over all
// ways to deal layers out to chunks.
//
// Stage k of S, counted from 0, has v chunks, of which chunk i passes on to chunk i of stage k + 1, and that of the
// last stage to chunk i + 1 of the first one. A stage passes S micro-batches through chunk 0, then through chunk 1 and
// so on, and only forward until its last chunk has begun. So its first pass of chunk i
// - begins no sooner than that of stage k - 1 has ended (of the first stage: that of chunk i - 1 of the last one),
// - comes behind S passes of its own chunk i - 1, the first of which was as late,
// - and finds the stage with S passes of its chunks before i done, and all its other work left.
// A stage of the rear half waits besides, before its first backward pass, for the whole model and the last chunks of
// the stages behind it; by then it has done r = 2 (S - 1 - k) + 1 < S passes of its last chunk. The end of the step is
// the same backwards: chunks are left in the order of their numbers, 0 last. (docs/joint-search.md, section 3)
#ifndef PLANWRIGHT_CORE_JOINT_WAITS_CHUNK_WAITS_H_
#define PLANWRIGHT_CORE_JOINT_WAITS_CHUNK_WAITS_H_

#include <cstdint>
#include <vector>

#include "core/base/polling.h"

namespace planwright {

// Picoseconds of one micro-batch, and of the end of the step.
struct DealtTimes {
  int64_t forward_ps = 0;
  int64_t backward_ps = 0;
  int64_t step_end_ps = 0;
};

// All passes of a stage take at least `base_ps`, and `slope` times the forward passes of the layers dealt out to it.
struct StageFloor {
  double base_ps = 0;
  double slope = 0;
};

// What a stage takes with so much dealt out to it.
struct StagePoint {
  double forward_ps = 0;
  double passes_ps = 0;
};

// The lower hull of what a stage may take, by forward passes, of which each is more than the one before. O(points).
std::vector<StageFloor> FloorsBelow(const std::vector<StagePoint>& points);

struct InterleavedWork {
  int32_t num_stages = 2;
  int32_t chunks = 2;
  // A multiple of the number of stages.
  int64_t micro_batches = 2;
  // The first and the last layer of the model, which are in the first and the last chunk.
  DealtTimes first;
  DealtTimes last;
  // All layers between, which are dealt out; and what one of them takes at least, as every chunk without one of the two
  // has one.
  DealtTimes between;
  DealtTimes least;
  // Of the layers between: backward and end of the step by forward pass.
  double least_backward = 0;
  double most_backward = 0;
  double least_step_end = 0;
  // One way through a boundary, of either side: between stages, and from the last stage to the first.
  int64_t cut_ps = 0;
  int64_t wrap_ps = 0;
  // What all stages compute again of a micro-batch at least.
  int64_t again_ps = 0;
  // By stage, any number: what memory makes it compute again, for example. Of all micro-batches.
  std::vector<std::vector<StageFloor>> floors;
};

// Units of work of LeastInterleavedStepPs, some ten million a second: programs grow with all chunks, and what they take
// with the cube of that.
int64_t WorkOfWaits(int64_t num_stages, int64_t chunks);

// No division's step takes less; at most `needed_ps`. Interrupted or without a solver of linear programs: less than
// could be. REQUIRES: times of `least` and `between` are above 0.
int64_t LeastInterleavedStepPs(const InterleavedWork& work, int64_t needed_ps, Poller& poller);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_JOINT_WAITS_CHUNK_WAITS_H_
