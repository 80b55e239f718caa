// StagePass::LeastByPlace.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "core/joint/search/stage_pass.h"

namespace planwright {
namespace {

// Cells that are looked at for a unit of work, and units for one that is reached.
constexpr int64_t kCellsOfUnit = 4;
constexpr int64_t kWorkOfWay = 2;
// Of the poller, for a place behind a block.
constexpr int64_t kUnitsOfNext = 16;

}  // namespace

// Where stages may begin, and where each option leads from there.
struct StagePass::Ways {
  struct Way {
    // nullptr: no block fits.
    StageTable* table = nullptr;
    const Site* site = nullptr;
    // Places where the next stage may begin.
    std::vector<std::size_t> next;
  };

  // Ascending.
  std::vector<int64_t> depths;
  // By place, how far the stages on both sides are apart at least.
  std::vector<int32_t> tiers;
  // By option, then by place.
  std::vector<std::vector<Way>> ways;
  // What all of it takes.
  int64_t bytes = 0;

  std::size_t PlaceOf(int64_t depth) const {
    return static_cast<std::size_t>(std::lower_bound(depths.begin(), depths.end(), depth) - depths.begin());
  }
};

// Lists them within the limits of the pass's poller.
class StagePass::WayLister {
 public:
  explicit WayLister(const StagePass& pass) : pass_(pass), places_(pass.places_) {}

  // nullopt: the poller ended it, or it takes more memory.
  std::optional<Ways> Run() {
    if (!ListDepths()) return std::nullopt;
    ways_.tiers.assign(ways_.depths.size(), pass_.num_tiers_ - 1);
    for (std::size_t option = 0; option < pass_.options_.size(); ++option) {
      if (!ListWays(option)) return std::nullopt;
    }
    return std::move(ways_);
  }

 private:
  struct Block {
    const Site* site = nullptr;
    int64_t end = -1;
  };

  Block BlockAt(int64_t depth, std::size_t option) const {
    const Site& site = pass_.SiteOf(static_cast<int32_t>(option), places_.ClassAt(depth));
    return {&site, site.tables == nullptr ? -1 : places_.EndOf(depth, site.span)};
  }

  template <typename Visit>
  void ForEachNext(int64_t end, Visit visit) const {
    places_.ForEachNext(end, [&](int64_t depth) {
      if (depth < places_.size()) visit(depth);
    });
  }

  bool MayTake(int64_t bytes) {
    ways_.bytes += bytes;
    return ways_.bytes <= pass_.poller_.limits().memory_bytes;
  }

  bool ListDepths() {
    std::set<int64_t> depths;
    for (const int64_t start : places_.starts()) {
      if (start < places_.size()) depths.insert(start);
    }
    // Depths that are added lie behind the one looked at.
    for (const int64_t depth : depths) {
      for (std::size_t option = 0; option < pass_.options_.size(); ++option) {
        if (!AddDepthsBehind(BlockAt(depth, option), depths)) return false;
      }
    }
    ways_.depths = {depths.begin(), depths.end()};
    return MayTake(std::ssize(depths) * static_cast<int64_t>(sizeof(int64_t) + sizeof(int32_t)));
  }

  bool AddDepthsBehind(const Block& block, std::set<int64_t>& depths) const {
    if (block.end < 0) return true;
    int64_t added = 0;
    ForEachNext(block.end, [&](int64_t next) {
      depths.insert(next);
      ++added;
    });
    return !pass_.poller_.ShouldStop(kUnitsOfNext * added);
  }

  bool ListWays(std::size_t option) {
    if (!MayTake(std::ssize(ways_.depths) * static_cast<int64_t>(sizeof(Ways::Way)))) return false;
    std::vector<Ways::Way>& of_option = ways_.ways.emplace_back(ways_.depths.size());
    for (std::size_t place = 0; place < ways_.depths.size(); ++place) {
      const Block block = BlockAt(ways_.depths[place], option);
      if (block.end < 0) continue;
      Ways::Way& way = of_option[place];
      SetWay(option, block, way);
      const bool may_take = MayTake(static_cast<int64_t>(way.next.capacity() * sizeof(std::size_t)));
      if (!may_take || pass_.poller_.ShouldStop(kUnitsOfNext * std::ssize(way.next))) return false;
    }
    return true;
  }

  void SetWay(std::size_t option, const Block& block, Ways::Way& way) {
    const int64_t devices = pass_.options_[option].degrees.devices();
    way.site = block.site;
    const int32_t tier =
        pass_.num_tiers_ == 2 ? int32_t{block.site->span.fills_nodes} : places_.TierOf(block.end, devices);
    way.table = block.site->tables[tier];
    if (way.table == nullptr) return;
    const PlacedStage stage{0, 0, static_cast<int32_t>(option), block.end};
    ForEachNext(block.end, [&](int64_t depth) { AddNext(stage, depth, way); });
  }

  // The stage before `stage` may begin at `depth`.
  void AddNext(const PlacedStage& stage, int64_t depth, Ways::Way& way) {
    const std::size_t next = ways_.PlaceOf(depth);
    way.next.push_back(next);
    const uint32_t tiers = pass_.TiersBefore(stage, stage.end, depth);
    for (int32_t tier = 0; tier < ways_.tiers[next]; ++tier) {
      if ((tiers >> tier & 1U) != 0) ways_.tiers[next] = tier;
    }
  }

  const StagePass& pass_;
  const Places& places_;
  Ways ways_;
};

class StagePass::PlacePass {
 public:
  PlacePass(StagePass& pass, Ways ways, int64_t limit, int64_t& work_left)
      : pass_(pass),
        ways_(std::move(ways)),
        limit_(limit),
        cap_(limit / pass.micro_batches_),
        work_left_(work_left),
        least_(limit),
        bytes_(ways_.bytes) {}

  std::optional<int64_t> Run() {
    const int32_t num_layers = pass_.num_layers_;
    fronts_.resize(static_cast<std::size_t>(num_layers) + 1);
    CellRow& none = fronts_.back().emplace_back();
    for (const int64_t start : pass_.places_.starts()) {
      if (start < pass_.places_.size()) none.At(ways_.PlaceOf(start), ways_.depths.size()) = {0, 0};
    }
    for (int32_t first = num_layers - 1; first >= 0; --first) {
      SetRooms(first);
      for (std::size_t option = 0; option < pass_.options_.size(); ++option) {
        for (int32_t end = first + 1; end <= num_layers; ++end) {
          if (BaseOf(pass_.options_[option], first, end) > cap_) break;
          if (!Extend(option, first, end)) return std::nullopt;
        }
      }
    }
    return least_;
  }

 private:
  // Of the pipelines from a layer on that end at a place: the least sum, and the least of the most that one of their
  // stages measures with those before it.
  struct Cell {
    int64_t sum = kBeyondAll;
    int64_t most = kBeyondAll;
  };

  // Cells by place, of which only [begin, end) are reached.
  struct CellRow {
    std::vector<Cell> cells;
    std::size_t begin = 0;
    std::size_t end = 0;

    Cell& At(std::size_t place, std::size_t num_places) {
      if (cells.empty()) {
        cells.resize(num_places);
        begin = place;
      }
      begin = std::min(begin, place);
      end = std::max(end, place + 1);
      return cells[place];
    }
  };

  // A stage of one option before so many others.
  struct Stage {
    std::size_t option = 0;
    int32_t first = 0;
    int32_t end = 0;
    int64_t behind = 0;
  };
  // What it takes on a class.
  struct Times {
    StageTable* table = nullptr;
    int64_t time = kDoesNotFit;
    int64_t forward = 0;
  };

  // What may be reached at each place so that the layers before still fit below the limit.
  void SetRooms(int32_t first) {
    rooms_.clear();
    for (const int64_t depth : ways_.depths) {
      rooms_.push_back(std::max<int64_t>(0, limit_ - pass_.RestBound(first, cap_, depth)));
    }
  }

  // Whether there was work and memory left, and the poller let it.
  bool Extend(std::size_t option, int32_t first, int32_t end) {
    const std::vector<CellRow>& from = fronts_[static_cast<std::size_t>(end)];
    std::vector<CellRow>& to = fronts_[static_cast<std::size_t>(first)];
    for (std::size_t behind = 0; behind < from.size(); ++behind) {
      const CellRow& row = from[behind];
      const auto stages = static_cast<int64_t>(behind) + 1;
      if (row.cells.empty() || !pass_.MayHave(stages, first)) continue;
      if (to.size() < behind + 2) to.resize(behind + 2);
      const bool was_empty = to[behind + 1].cells.empty();
      const int64_t work = ExtendRow({option, first, end, stages - 1}, row, to[behind + 1]);
      bytes_ += was_empty ? static_cast<int64_t>(to[behind + 1].cells.size() * sizeof(Cell)) : 0;
      work_left_ -= work;
      if (pass_.poller_.ShouldStop(work) || work_left_ < 0 || bytes_ > pass_.poller_.limits().memory_bytes)
        return false;
    }
    return true;
  }

  int64_t ExtendRow(const Stage& stage, const CellRow& row, CellRow& found) {
    const std::vector<Ways::Way>& ways = ways_.ways[stage.option];
    const auto transfer = [&](const Ways::Way& way, int32_t layer, std::size_t place) {
      return way.site->transfers[Index(layer * pass_.num_tiers_ + ways_.tiers[place])];
    };
    int64_t work = static_cast<int64_t>(row.end - row.begin) / kCellsOfUnit + 1;
    Times times;
    for (std::size_t place = row.begin; place < row.end; ++place) {
      const Cell& behind = row.cells[place];
      const Ways::Way& way = ways[place];
      if (behind.most == kBeyondAll || way.table == nullptr) continue;
      if (way.table != times.table) times = TimesOf(stage, *way.table);
      if (times.time == kDoesNotFit) continue;
      const int64_t sent = transfer(way, stage.end, place);
      if (stage.first == 0) {
        const int64_t end = way.table->StepEndPs(stage.first, stage.end) + EndsPs(stage, place, *way.table);
        least_ = std::min(least_, MostOf(stage, times, behind, sent) + end);
        continue;
      }
      for (const std::size_t next : way.next) {
        work += kWorkOfWay;
        const int64_t transfers = sent + transfer(way, stage.first, next);
        const int64_t most = MostOf(stage, times, behind, transfers);
        if (most >= rooms_[next]) continue;
        Cell& cell = found.At(next, ways_.depths.size());
        cell.sum = std::min(cell.sum, behind.sum + times.time + transfers);
        cell.most = std::min(cell.most, most);
      }
    }
    return work;
  }

  // What the first stage adds up with the last one at least.
  int64_t EndsPs(const Stage& stage, std::size_t place, const StageTable& table) const {
    const int64_t devices = pass_.options_[stage.option].degrees.devices();
    const int32_t tier = pass_.places_.LeastTierOfEnds(pass_.places_.ClassAt(ways_.depths[place]), devices,
                                                       stage.behind * pass_.smallest_);
    return table.EndsPs(stage.first, stage.end, pass_.places_.row().cluster().LinkOf(tier));
  }

  Times TimesOf(const Stage& stage, StageTable& table) const {
    if (table.BasePs(stage.first, stage.end) == kDoesNotFit) return {.table = &table};
    return {.table = &table,
            .time = table.TimePs(stage.first, stage.end, std::min(pass_.micro_batches_, stage.behind + 1)),
            .forward = table.PassesPs(stage.first, stage.end, false).forward_ps};
  }

  int64_t MostOf(const Stage& stage, const Times& times, const Cell& behind, int64_t transfers) const {
    const int64_t cost = times.time + transfers;
    return std::max(pass_.StepMeasureOf(stage.behind, behind.sum, cost, times.forward + transfers / 2),
                    behind.most + cost);
  }

  StagePass& pass_;
  Ways ways_;
  int64_t limit_;
  int64_t cap_;
  int64_t& work_left_;
  int64_t least_;
  // Of the ways and all cells.
  int64_t bytes_;
  // By layer boundary and number of stages behind it.
  std::vector<std::vector<CellRow>> fronts_;
  // By place.
  std::vector<int64_t> rooms_;
};

std::optional<int64_t> StagePass::LeastByPlace(int64_t limit, int64_t& work_left) {
  std::optional<Ways> ways = WayLister(*this).Run();
  if (!ways.has_value()) return std::nullopt;
  return PlacePass(*this, *std::move(ways), limit, work_left).Run();
}

}  // namespace planwright
