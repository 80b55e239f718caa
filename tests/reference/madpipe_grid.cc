#include "tests/reference/madpipe_grid.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/base/units.h"
#include "core/partition/periodic/madpipe.h"
#include "core/partition/periodic/stage_costs.h"

namespace planwright {
namespace {

constexpr int kIterations = 10;
constexpr int32_t kNone = -1;

// Equally distributed values from 0 to `largest`, rounded down to whole ones.
class Axis {
 public:
  Axis(int32_t points, int64_t largest)
      : points_per_unit_(largest == 0 ? 0 : (points - 1) / static_cast<double>(largest)) {
    const int64_t steps = points - 1;
    for (int64_t i = 0; i <= steps; ++i) values_.push_back(largest / steps * i + largest % steps * i / steps);
  }

  int32_t points() const { return static_cast<int32_t>(values_.size()); }
  int64_t ValueAt(int32_t point) const { return values_[Index(point)]; }
  // The first point of no smaller value; kNone: there is none.
  int32_t RoundUp(int64_t value) const {
    if (value > values_.back()) return kNone;
    // Near the answer, by the precision of a double.
    auto point = static_cast<int32_t>(static_cast<double>(value) * points_per_unit_);
    while (point > 0 && ValueAt(point - 1) >= value) --point;
    while (ValueAt(point) < value) ++point;
    return point;
  }

 private:
  double points_per_unit_;
  std::vector<int64_t> values_;
};

struct GridPoint {
  int32_t normal_devices = 0;
  int32_t special_load = 0;
  int32_t special_bytes = 0;
  int32_t delay = 0;
};

// A point that is reached with the layers from some layer on.
struct Entry {
  GridPoint point;
  // The largest load so far; the special device's counts when it is added.
  Picoseconds period{0};
  // As of madpipe.cc.
  SpecialStage stage;
  int32_t behind = kNone;
};

// The points reached at one layer.
struct Table {
  std::vector<Entry> entries;
  // Position in `entries` by number of the point; kNone: not reached.
  std::vector<int32_t> entry_at;
};

class GridProgram {
 public:
  GridProgram(const Chain& chain, const ChainDevices& devices)
      : devices_(devices),
        has_backward_(chain.has_backward),
        full_time_(PeriodsOf(chain, devices).high),
        costs_(chain, devices),
        special_load_(101, costs_.Load(0, costs_.num_layers() - 1).count()),
        special_bytes_(11, devices.memory_bytes.value_or(0)),
        delay_(51, full_time_.count()),
        tables_(Index(costs_.num_layers()) + 1) {
    const std::size_t num_points =
        Index(devices.count) * Index(special_load_.points()) * Index(special_bytes_.points()) * Index(delay_.points());
    for (Table& table : tables_) table.entry_at.assign(num_points, kNone);
  }

  Picoseconds full_time() const { return full_time_; }

  // MadPipe-DP(target): the least period of an allocation whose memory is counted as at `target`.
  std::optional<std::pair<Picoseconds, std::vector<SpecialStage>>> Solve(Picoseconds target) {
    for (Table& table : tables_) {
      for (const Entry& entry : table.entries) table.entry_at[NumberOf(entry.point)] = kNone;
      table.entries.clear();
    }
    Reach(costs_.num_layers(), Entry{});
    for (int32_t next = costs_.num_layers(); next > 0; --next) {
      for (std::size_t i = 0; i < tables_[Index(next)].entries.size(); ++i) AddStages(next, i, target);
    }
    const std::vector<Entry>& complete = tables_.front().entries;
    if (complete.empty()) return std::nullopt;
    const auto best = std::min_element(complete.begin(), complete.end(),
                                       [](const Entry& a, const Entry& b) { return a.period < b.period; });
    return std::pair(best->period, StagesOf(*best));
  }

 private:
  std::size_t NumberOf(const GridPoint& point) const {
    std::size_t number = Index(point.normal_devices);
    number = number * Index(special_load_.points()) + Index(point.special_load);
    number = number * Index(special_bytes_.points()) + Index(point.special_bytes);
    return number * Index(delay_.points()) + Index(point.delay);
  }

  void Reach(int32_t first, const Entry& entry) {
    Table& table = tables_[Index(first)];
    int32_t& position = table.entry_at[NumberOf(entry.point)];
    if (position == kNone) {
      position = static_cast<int32_t>(table.entries.size());
      table.entries.push_back(entry);
    } else if (entry.period < table.entries[Index(position)].period) {
      table.entries[Index(position)] = entry;
    }
  }

  void AddStages(int32_t next, std::size_t i, Picoseconds target) {
    const Entry behind = tables_[Index(next)].entries[i];
    // Without normal devices the special one takes all that is left as one stage.
    const bool is_last = behind.point.normal_devices + 1 == devices_.count;
    for (int32_t first = is_last ? 0 : next - 1; first >= 0; --first) {
      for (const bool is_special : {false, true}) {
        if (is_last && !is_special) continue;
        std::optional<Entry> entry = InFront(behind, {first, next, is_special}, target);
        if (!entry.has_value()) continue;
        entry->behind = static_cast<int32_t>(i);
        Reach(first, *entry);
      }
    }
  }

  // As in the paper, whatever the target is; nullopt: memory does not suffice, or the delay is beyond the grid.
  std::optional<Entry> InFront(const Entry& behind, const SpecialStage& stage, Picoseconds target) const {
    const int32_t last = stage.next - 1;
    const Picoseconds load = costs_.Load(stage.first, last);
    const Picoseconds delay(delay_.ValueAt(behind.point.delay));
    const int32_t batches = BatchesOf(delay + load, target);
    Entry entry = behind;
    entry.stage = stage;
    if (stage.is_special) {
      const int64_t bytes =
          StageBytes(costs_.ResidentBytes(stage.first, last) + costs_.WorkspaceBytes(stage.first, last),
                     costs_.StoredBytes(stage.first, last), batches - 1);
      if (!AddSpecial(load, bytes, entry)) return std::nullopt;
    } else {
      if (!costs_.Fits(stage.first, last, batches)) return std::nullopt;
      ++entry.point.normal_devices;
      entry.period = std::max(entry.period, load);
    }
    Picoseconds in_front = Plus(delay, load, target);
    if (stage.first > 0) {
      entry.period = std::max(entry.period, costs_.LinkLoad(stage.first));
      const Picoseconds both = costs_.SendTime(stage.first);
      in_front = devices_.full_duplex ? in_front + both : Plus(in_front, both, target);
    }
    entry.point.delay = stage.first > 0 ? delay_.RoundUp(in_front.count()) : 0;
    return entry.point.delay == kNone ? std::nullopt : std::optional(entry);
  }

  // False: more bytes than there are.
  bool AddSpecial(Picoseconds load, int64_t bytes, Entry& entry) const {
    // All layers together are the end of the grid.
    const int64_t sum = special_load_.ValueAt(entry.point.special_load) + load.count();
    entry.point.special_load = special_load_.RoundUp(std::min(sum, special_load_.ValueAt(special_load_.points() - 1)));
    entry.period = std::max(entry.period, Picoseconds(special_load_.ValueAt(entry.point.special_load)));
    if (!devices_.memory_bytes.has_value()) return true;
    entry.point.special_bytes =
        special_bytes_.RoundUp(SaturatingAdd(special_bytes_.ValueAt(entry.point.special_bytes), bytes));
    return entry.point.special_bytes != kNone;
  }

  // g(k, l, V) of the paper.
  int32_t BatchesOf(Picoseconds delay, Picoseconds target) const {
    if (!has_backward_) return 1;
    return static_cast<int32_t>(std::max<int64_t>(1, CeilDivide(delay.count(), target.count())));
  }

  // The (+) of the paper, for loads of any length.
  static Picoseconds Plus(Picoseconds delay, Picoseconds load, Picoseconds target) {
    const Picoseconds next_group = CeilDivide(delay.count(), target.count()) * target;
    return delay + load <= next_group || delay == Picoseconds(0) ? delay + load : next_group + load;
  }

  std::vector<SpecialStage> StagesOf(const Entry& front) const {
    std::vector<SpecialStage> stages;
    for (const Entry* entry = &front; entry->behind != kNone;
         entry = &tables_[Index(entry->stage.next)].entries[Index(entry->behind)]) {
      stages.push_back(entry->stage);
    }
    return stages;
  }

  const ChainDevices devices_;
  const bool has_backward_;
  const Picoseconds full_time_;
  const ChainStageCosts costs_;
  const Axis special_load_;
  const Axis special_bytes_;
  const Axis delay_;
  // By first layer.
  std::vector<Table> tables_;
};

}  // namespace

std::optional<PeriodicAllocation> MadpipeGrid(const Chain& chain, const ChainDevices& devices) {
  GridProgram program(chain, devices);
  const int64_t work = ChainStageCosts(chain, devices).Load(0, static_cast<int32_t>(chain.layers.size()) - 1).count();
  Picoseconds low(std::max<int64_t>(1, CeilDivide(work, devices.count)));
  Picoseconds high = std::max(low, program.full_time());
  Picoseconds target = low;
  std::optional<PeriodicAllocation> best;
  for (int i = 0; i < kIterations; ++i) {
    const auto found = program.Solve(target);
    // Without an allocation the period is infinite.
    const Picoseconds period = found.has_value() ? found->first : Picoseconds(kMaxQuantity);
    const Picoseconds reached = std::max(period, target);
    if (found.has_value() && (!best.has_value() || reached < best->period)) {
      best = {NumberDevices(found->second), reached};
    }
    low = std::max(low, std::min(period, target));
    high = std::min(high, reached);
    target = low + (high - low) / 2;
  }
  return best;
}

}  // namespace planwright
