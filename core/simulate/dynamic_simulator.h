// Discrete-event simulation: resources run what is ready, links are shared.
//
// A resource with an order runs its tasks in that order, one at a time, and waits for the next one even while others
// are ready; tasks of it that the order leaves out take no time and run as soon as they can. A resource without one
// takes, of the tasks that are ready, the one that has been so for longest (of equals the first of the list). Links
// without an order either do the same or run everything at once at equal shares (fair_link.h). What happens at one time
// is worked off in batches: all ends, then all starts that they allow, so that the outcome does not depend on the order
// of equal events.
#ifndef PLANWRIGHT_CORE_SIMULATE_DYNAMIC_SIMULATOR_H_
#define PLANWRIGHT_CORE_SIMULATE_DYNAMIC_SIMULATOR_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "core/model/task_list.h"
#include "core/simulate/contention.h"
#include "core/simulate/event_queue.h"
#include "core/simulate/fair_link.h"
#include "core/simulate/task_graph.h"
#include "core/simulate/timeline.h"

namespace planwright {

// Runs one list any number of times. `list` outlives the object. Not thread-safe.
class DynamicSimulator {
 public:
  // REQUIRES: FindCycle(list) is empty; orders list every task of their resource that takes time; the durations add up
  // to at most kMaxQuantity. O(tasks + precedences).
  DynamicSimulator(const TaskList& list, Contention contention);

  // O(tasks log(tasks that wait for one resource or share one link) + precedences + events log resources).
  Timeline Run();

 private:
  // First come, first served: when a task became ready, and which.
  using Waiting = std::pair<int64_t, int32_t>;

  static constexpr int32_t kNoResource = -1;

  enum class Discipline : uint8_t { kOrdered, kFirstCome, kShared };

  struct Resource {
    Discipline discipline = Discipline::kFirstCome;
    bool is_busy = false;
    // Whether it is among touched_.
    bool is_touched = false;
    int32_t running = 0;
    // kOrdered: how many of its tasks have been started.
    uint32_t started = 0;
  };

  void Reset();
  void Touch(int32_t resource);
  void MakeReady(int32_t task);
  // Ends everything that ends at `now_`.
  void EndDue();
  void End(int32_t task);
  // Starts what the resource may start now.
  void Dispatch(int32_t resource);
  void Start(int32_t task, int32_t resource);
  // A task that takes no time and waits for no resource.
  void RunAtOnce(int32_t task);
  void DispatchOrdered(int32_t resource);
  void DispatchFirstCome(int32_t resource);
  void DispatchShared(int32_t resource);

  const TaskList& list_;
  const TaskGraph graph_;
  // Resource and duration of each task, side by side.
  struct Work {
    int64_t duration = 0;
    // kNoResource: it runs at once.
    int32_t resource = 0;
    int32_t waits_for = 0;
  };
  std::vector<Work> work_;
  std::vector<Resource> resources_;
  std::vector<std::vector<Waiting>> waiting_;
  std::vector<FairLink> links_;
  EventQueue events_;
  std::vector<int32_t> touched_;
  int64_t now_ = 0;
  Timeline timeline_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_SIMULATE_DYNAMIC_SIMULATOR_H_
