#include "client/report/timeline/trace.h"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace planwright::client {
namespace {

using Resource = v1::SimulationSummary::Resource;

constexpr int kDevicesPid = 1;
constexpr int kLinksPid = 2;

std::string Quoted(const std::string& text) { return nlohmann::json(text).dump(); }

std::string Microseconds(double milliseconds) { return absl::StrFormat("%.6f", milliseconds * 1000); }

// One thread of a resource, and until when it is taken.
struct Lane {
  int tid = 0;
  double end_ms = 0;
};

class TraceWriter {
 public:
  explicit TraceWriter(const Simulation& simulation)
      : simulation_(simulation),
        lanes_(static_cast<std::size_t>(simulation.summary.resources_size())),
        memory_bytes_(lanes_.size()) {}

  std::string Write() && {
    NameProcess(kDevicesPid, "devices");
    NameProcess(kLinksPid, "links");
    for (std::size_t resource = 0; resource < lanes_.size(); ++resource) {
      memory_bytes_[resource] = ResourceAt(resource).initial_memory_bytes();
      if (IsDevice(resource)) Count(resource, 0, 0);
    }
    for (const v1::SimulatedTask& task : simulation_.timeline.tasks()) AddTask(task);
    return absl::StrCat("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", events_, "\n]}\n");
  }

 private:
  const Resource& ResourceAt(std::size_t resource) const {
    return simulation_.summary.resources(static_cast<int>(resource));
  }
  bool IsDevice(std::size_t resource) const { return ResourceAt(resource).kind() == Resource::KIND_DEVICE; }
  int PidOf(std::size_t resource) const { return IsDevice(resource) ? kDevicesPid : kLinksPid; }

  template <typename... Parts>
  void Add(const Parts&... parts) {
    absl::StrAppend(&events_, events_.empty() ? "{" : ",\n{", parts..., "}");
  }

  void AddMetadata(const char* name, int pid, int tid, const std::string& args) {
    Add("\"ph\":\"M\",\"name\":\"", name, "\",\"pid\":", pid, ",\"tid\":", tid, ",\"args\":{", args, "}");
  }

  void NameProcess(int pid, const std::string& name) {
    AddMetadata("process_name", pid, 0, "\"name\":" + Quoted(name));
    AddMetadata("process_sort_index", pid, 0, absl::StrCat("\"sort_index\":", pid));
  }

  // A thread of the resource that is free at `start_ms`, named on first use.
  int TakeLane(std::size_t resource, double start_ms, double end_ms) {
    std::vector<Lane>& lanes = lanes_[resource];
    for (Lane& lane : lanes) {
      if (lane.end_ms > start_ms) continue;
      lane.end_ms = end_ms;
      return lane.tid;
    }
    lanes.push_back({++last_tid_, end_ms});
    const std::string number = lanes.size() == 1 ? "" : absl::StrCat(" #", lanes.size());
    AddMetadata("thread_name", PidOf(resource), last_tid_, "\"name\":" + Quoted(ResourceAt(resource).name() + number));
    AddMetadata("thread_sort_index", PidOf(resource), last_tid_, absl::StrCat("\"sort_index\":", resource));
    return last_tid_;
  }

  void AddTask(const v1::SimulatedTask& task) {
    const auto resource = static_cast<std::size_t>(task.resource());
    const int tid = TakeLane(resource, task.start_ms(), task.end_ms());
    threads_.push_back(tid);
    AddSlice(task, resource, tid);
    // What uses links beside its resource is drawn on all of them.
    for (const int32_t link : task.links()) {
      const auto used = static_cast<std::size_t>(link);
      if (used != resource) AddSlice(task, used, TakeLane(used, task.start_ms(), task.end_ms()));
    }
    for (const int32_t before : task.waits_for()) AddFlow(before, task);
    Count(resource, task.start_ms(), task.memory_at_start_bytes());
    Count(resource, task.end_ms(), task.memory_at_end_bytes());
  }

  void AddSlice(const v1::SimulatedTask& task, std::size_t resource, int tid) {
    Add("\"ph\":\"X\",\"name\":", Quoted(task.name()), ",\"cat\":", Quoted(task.operation()),
        ",\"pid\":", PidOf(resource), ",\"tid\":", tid, ",\"ts\":", Microseconds(task.start_ms()),
        ",\"dur\":", Microseconds(task.end_ms() - task.start_ms()), ",\"args\":{\"stage\":", task.stage(),
        ",\"micro_batch\":", task.micro_batch(), "}");
  }

  // Both ends lie at the start of their tasks, so that they are inside of them.
  void AddFlow(int32_t before_id, const v1::SimulatedTask& task) {
    const v1::SimulatedTask& before = simulation_.timeline.tasks(before_id);
    if (before.resource() == task.resource()) return;
    ++last_flow_;
    AddFlowEnd("\"s\"", before);
    AddFlowEnd("\"f\",\"bp\":\"e\"", task);
  }

  void AddFlowEnd(std::string_view phase, const v1::SimulatedTask& task) {
    Add("\"ph\":", std::string(phase), ",\"name\":\"result\",\"cat\":\"flow\",\"id\":", last_flow_,
        ",\"pid\":", PidOf(static_cast<std::size_t>(task.resource())),
        ",\"tid\":", threads_[static_cast<std::size_t>(task.id())], ",\"ts\":", Microseconds(task.start_ms()));
  }

  // The memory of a device changes; the first time is its beginning.
  void Count(std::size_t resource, double time_ms, int64_t change_bytes) {
    if (!IsDevice(resource) || (change_bytes == 0 && time_ms > 0)) return;
    memory_bytes_[resource] += change_bytes;
    Add("\"ph\":\"C\",\"name\":", Quoted("memory " + ResourceAt(resource).name()), ",\"pid\":", kDevicesPid,
        ",\"ts\":", Microseconds(time_ms), ",\"args\":{\"bytes\":", memory_bytes_[resource], "}");
  }

  const Simulation& simulation_;
  std::vector<std::vector<Lane>> lanes_;
  std::vector<int64_t> memory_bytes_;
  // The thread of each task so far, by id.
  std::vector<int> threads_;
  int last_tid_ = 0;
  int64_t last_flow_ = 0;
  std::string events_;
};

}  // namespace

std::string TraceText(const Simulation& simulation) { return TraceWriter(simulation).Write(); }

}  // namespace planwright::client
