#include "core/partition/stage_annealing/pipeline_moves.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/index.h"

namespace planwright {
namespace {

constexpr double kBusiestShare = 0.5;
constexpr double kNextStageShare = 0.8;
constexpr double kBorderShare = 0.75;
// No move takes more blocks than these at a time.
constexpr std::size_t kMostBlocks = 1024;

}  // namespace

PipelineMoves::PipelineMoves(const PipelineTables& tables, PipelineState& state, RandomStream& random)
    : tables_(tables),
      state_(state),
      random_(random),
      resizes_teams_(!tables.has_equal_replicas()),
      resizes_all_(tables.has_equal_replicas() && !tables.fixed_replicas().has_value()),
      orders_copies_(!tables.links_are_alike() && tables.problem().replication != Replication::kNone),
      seen_(Index(tables.num_blocks()), 0) {}

bool PipelineMoves::Propose() {
  state_.Begin();
  const int32_t without_teams = resizes_all_ ? 90 : 88;
  const int32_t kind = Below(resizes_teams_ ? 100 : without_teams);
  if (kind < 36) return Shift();
  if (kind < 48) return Exchange();
  if (kind < 54) return Split();
  if (kind < 58) return Merge();
  if (kind < 64) return Regroup();
  if (kind < 74) return Relocate();
  if (kind < 79) return ExchangeTeams();
  if (kind < 82) return MoveTeam();
  if (kind < 84) return ReorderStages();
  if (kind < 86) return ReorderCopies();
  if (kind < 88) return ReverseRing();
  if (resizes_all_) return ResizeAll();
  if (kind < 92) return Grow();
  if (kind < 95) return Shrink();
  return Transfer();
}

int32_t PipelineMoves::ChooseStage() {
  if (Chance(kBusiestShare)) return state_.slot_at(static_cast<int32_t>(state_.costs().busiest));
  return state_.slot_at(Below(state_.num_stages()));
}

int32_t PipelineMoves::ChooseTarget(int32_t position) {
  if (Chance(kNextStageShare)) {
    if (position == 0) return 1;
    if (position + 1 == state_.num_stages()) return position - 1;
    return position + (Chance(0.5) ? 1 : -1);
  }
  const int32_t target = Below(state_.num_stages() - 1);
  return target < position ? target : target + 1;
}

int32_t PipelineMoves::ChooseBlock(int32_t slot, bool faces_later) {
  const std::vector<int32_t>& blocks = state_.stage(slot).blocks;
  const auto size = static_cast<int32_t>(blocks.size());
  if (!Chance(kBorderShare)) return blocks[Index(Below(size))];
  // As near to the border as to half, a quarter, an eighth ... of the stage.
  int32_t range = 1;
  while (range < size && Chance(0.6)) range *= 2;
  const int32_t rank = Below(std::min(range, size));
  return blocks[Index(faces_later ? size - 1 - rank : rank)];
}

bool PipelineMoves::Collect(int32_t block, int32_t target, bool goes_later) {
  ++round_;
  moved_ = {block};
  seen_[Index(block)] = round_;
  const bool is_split = target == state_.position_of_block(block);
  for (std::size_t i = 0; i < moved_.size(); ++i) {
    const std::span<const int32_t> next =
        goes_later ? tables_.precedence().successors(moved_[i]) : tables_.precedence().predecessors(moved_[i]);
    for (const int32_t neighbour : next) {
      if (seen_[Index(neighbour)] == round_) continue;
      const int32_t position = state_.position_of_block(neighbour);
      const bool is_passed = goes_later ? position < target : position > target;
      if (!is_passed && !(is_split && position == target)) continue;
      seen_[Index(neighbour)] = round_;
      moved_.push_back(neighbour);
    }
    if (moved_.size() > kMostBlocks) return false;
  }
  return true;
}

bool PipelineMoves::MoveFrom(int32_t slot, int32_t target) {
  const bool goes_later = target > state_.position_of(slot);
  const int32_t block = ChooseBlock(slot, goes_later);
  if (!Collect(block, target, goes_later)) return false;
  state_.MoveBlocks(moved_, state_.slot_at(target));
  return true;
}

bool PipelineMoves::Shift() {
  if (state_.num_stages() == 1) return false;
  const int32_t chosen = ChooseStage();
  const int32_t other = ChooseTarget(state_.position_of(chosen));
  if (Chance(0.7)) return MoveFrom(chosen, other);
  return MoveFrom(state_.slot_at(other), state_.position_of(chosen));
}

bool PipelineMoves::Exchange() {
  if (state_.num_stages() == 1) return false;
  const int32_t slot = ChooseStage();
  const int32_t position = state_.position_of(slot);
  const int32_t target = ChooseTarget(position);
  if (!MoveFrom(slot, target)) return false;
  if (state_.stage(slot).blocks.empty()) return true;
  const std::vector<int32_t> gone = moved_;
  const bool goes_later = position > target;
  const int32_t back = ChooseBlock(state_.slot_at(target), goes_later);
  if (!Collect(back, position, goes_later)) return false;
  const bool undoes =
      std::any_of(gone.begin(), gone.end(), [&](int32_t block) { return seen_[Index(block)] == round_; });
  if (undoes) return false;
  state_.MoveBlocks(moved_, slot);
  return true;
}

std::vector<int32_t> PipelineMoves::ChooseIdle(int32_t count) {
  if (state_.num_idle() < count) return {};
  idle_.clear();
  for (int32_t device = 0; device < tables_.num_devices(); ++device) {
    if (state_.slot_of_device(device) == PipelineState::kIdle) idle_.push_back(device);
  }
  const int32_t device_class = tables_.class_of(idle_[Index(Below(static_cast<int32_t>(idle_.size())))]);
  std::erase_if(idle_, [&](int32_t device) { return tables_.class_of(device) != device_class; });
  const auto size = static_cast<int32_t>(idle_.size());
  if (size < count) return {};
  if (Chance(0.5)) {
    const int32_t first = Below(size - count + 1);
    return {idle_.begin() + first, idle_.begin() + first + count};
  }
  for (int32_t i = 0; i < count; ++i) std::swap(idle_[Index(i)], idle_[Index(i + Below(size - i))]);
  return {idle_.begin(), idle_.begin() + count};
}

int32_t PipelineMoves::ChooseIdleOf(int32_t device_class) {
  if (state_.num_idle() == 0) return -1;
  idle_.clear();
  for (int32_t device = 0; device < tables_.num_devices(); ++device) {
    const bool is_idle = state_.slot_of_device(device) == PipelineState::kIdle;
    if (is_idle && tables_.class_of(device) == device_class) idle_.push_back(device);
  }
  return idle_.empty() ? -1 : idle_[Index(Below(static_cast<int32_t>(idle_.size())))];
}

bool PipelineMoves::SplitOnto(int32_t slot, std::vector<int32_t> devices) {
  const bool goes_later = Chance(0.5);
  const int32_t position = state_.position_of(slot);
  if (!Collect(ChooseBlock(slot, goes_later), position, goes_later)) return false;
  const int32_t added = state_.InsertStage(goes_later ? position + 1 : position, std::move(devices));
  state_.MoveBlocks(moved_, added);
  return true;
}

bool PipelineMoves::Split() {
  const int32_t slot = ChooseStage();
  if (resizes_teams_ && NumReplicas(slot) > 1 && Chance(0.5)) {
    std::vector<int32_t> kept = state_.stage(slot).devices;
    const int32_t left = 1 + Below(static_cast<int32_t>(kept.size()) - 1);
    std::vector<int32_t> given(kept.begin() + left, kept.end());
    kept.resize(Index(left));
    state_.SetDevices(slot, std::move(kept));
    return SplitOnto(slot, std::move(given));
  }
  if (state_.num_idle() == 0) return false;
  const int32_t count =
      resizes_teams_ ? 1 + Below(std::min(state_.num_idle(), 1 + NumReplicas(slot))) : NumReplicas(slot);
  std::vector<int32_t> devices = ChooseIdle(count);
  return !devices.empty() && SplitOnto(slot, std::move(devices));
}

void PipelineMoves::MergeInto(int32_t from, int32_t to) {
  const std::vector<int32_t> blocks = state_.stage(from).blocks;
  state_.MoveBlocks(blocks, to);
}

bool PipelineMoves::Merge() {
  if (state_.num_stages() == 1) return false;
  const int32_t first = Below(state_.num_stages() - 1);
  int32_t from = state_.slot_at(first);
  int32_t to = state_.slot_at(first + 1);
  if (Chance(0.5)) std::swap(from, to);
  MergeInto(from, to);
  if (!resizes_teams_ || ClassOf(from) != ClassOf(to) || Chance(0.5)) return true;
  std::vector<int32_t> joined = state_.stage(to).devices;
  const std::vector<int32_t>& added = state_.stage(from).devices;
  joined.insert(joined.end(), added.begin(), added.end());
  state_.SetDevices(to, std::move(joined));
  return true;
}

bool PipelineMoves::Regroup() {
  if (state_.num_stages() < 3) return false;
  const int32_t first = Below(state_.num_stages() - 1);
  int32_t from = state_.slot_at(first);
  int32_t to = state_.slot_at(first + 1);
  if (Chance(0.5)) std::swap(from, to);
  const int32_t divided = ChooseStage();
  if (divided == from || divided == to) return false;
  MergeInto(from, to);
  return SplitOnto(divided, state_.stage(from).devices);
}

bool PipelineMoves::Relocate() {
  const int32_t slot = ChooseStage();
  const int32_t device = Below(tables_.num_devices());
  const int32_t other = state_.slot_of_device(device);
  if (other == slot) return false;
  std::vector<int32_t> devices = state_.stage(slot).devices;
  int32_t& replaced = devices[Index(Below(static_cast<int32_t>(devices.size())))];
  const bool is_alike = tables_.class_of(device) == tables_.class_of(replaced);
  if (!is_alike && devices.size() > 1) return false;
  if (other == PipelineState::kIdle) {
    replaced = device;
    state_.SetDevices(slot, std::move(devices));
    return true;
  }
  std::vector<int32_t> others = state_.stage(other).devices;
  if (!is_alike && others.size() > 1) return false;
  std::swap(*std::find(others.begin(), others.end(), device), replaced);
  state_.SetDevices(slot, std::move(devices));
  state_.SetDevices(other, std::move(others));
  return true;
}

bool PipelineMoves::ExchangeTeams() {
  if (state_.num_stages() == 1) return false;
  const int32_t slot = ChooseStage();
  const int32_t other = state_.slot_at(ChooseTarget(state_.position_of(slot)));
  std::vector<int32_t> devices = state_.stage(slot).devices;
  state_.SetDevices(slot, state_.stage(other).devices);
  state_.SetDevices(other, std::move(devices));
  return true;
}

bool PipelineMoves::MoveTeam() {
  const int32_t slot = ChooseStage();
  std::vector<int32_t> devices = ChooseIdle(NumReplicas(slot));
  if (devices.empty()) return false;
  state_.SetDevices(slot, std::move(devices));
  return true;
}

bool PipelineMoves::Grow() {
  const int32_t slot = ChooseStage();
  const int32_t device = ChooseIdleOf(ClassOf(slot));
  if (device < 0) return false;
  std::vector<int32_t> devices = state_.stage(slot).devices;
  devices.insert(devices.begin() + Below(NumReplicas(slot) + 1), device);
  state_.SetDevices(slot, std::move(devices));
  return true;
}

bool PipelineMoves::Shrink() {
  const int32_t slot = ChooseStage();
  if (NumReplicas(slot) == 1) return false;
  std::vector<int32_t> devices = state_.stage(slot).devices;
  devices.erase(devices.begin() + Below(NumReplicas(slot)));
  state_.SetDevices(slot, std::move(devices));
  return true;
}

bool PipelineMoves::Transfer() {
  if (state_.num_stages() == 1) return false;
  const int32_t to = ChooseStage();
  const int32_t from = state_.slot_at(Below(state_.num_stages()));
  if (from == to || NumReplicas(from) == 1 || ClassOf(from) != ClassOf(to)) return false;
  std::vector<int32_t> less = state_.stage(from).devices;
  std::vector<int32_t> more = state_.stage(to).devices;
  const int32_t given = Below(NumReplicas(from));
  more.insert(more.begin() + Below(NumReplicas(to) + 1), less[Index(given)]);
  less.erase(less.begin() + given);
  state_.SetDevices(from, std::move(less));
  state_.SetDevices(to, std::move(more));
  return true;
}

bool PipelineMoves::ResizeAll() {
  const int32_t before = NumReplicas(state_.slot_at(0));
  const int32_t after = Chance(0.5) ? before + (Chance(0.5) ? 1 : -1) : 1 + Below(tables_.num_devices());
  if (after == before || after < 1 || after > tables_.num_devices()) return false;
  std::vector<int32_t> slots;
  slots.reserve(Index(state_.num_stages()));
  for (int32_t position = 0; position < state_.num_stages(); ++position) slots.push_back(state_.slot_at(position));
  while (static_cast<int32_t>(slots.size()) > tables_.num_devices() / after) {
    const int32_t first = Below(static_cast<int32_t>(slots.size()) - 1);
    MergeInto(slots[Index(first)], slots[Index(first + 1)]);
    slots.erase(slots.begin() + first);
  }
  return GiveReplicas(slots, after);
}

bool PipelineMoves::GiveReplicas(const std::vector<int32_t>& slots, int32_t replicas) {
  std::vector<bool> is_taken(Index(tables_.num_devices()), false);
  for (const int32_t slot : slots) {
    const std::vector<int32_t>& devices = state_.stage(slot).devices;
    for (int32_t i = 0; i < std::min(NumReplicas(slot), replicas); ++i) is_taken[Index(devices[Index(i)])] = true;
  }
  for (const int32_t slot : slots) {
    std::vector<int32_t> devices = state_.stage(slot).devices;
    const int32_t device_class = ClassOf(slot);
    devices.resize(Index(std::min(NumReplicas(slot), replicas)));
    for (int32_t device = 0; device < tables_.num_devices() && devices.size() < Index(replicas); ++device) {
      if (is_taken[Index(device)] || tables_.class_of(device) != device_class) continue;
      is_taken[Index(device)] = true;
      devices.push_back(device);
    }
    if (devices.size() < Index(replicas)) return false;
    state_.SetDevices(slot, std::move(devices));
  }
  return true;
}

bool PipelineMoves::ReorderStages() {
  if (state_.num_stages() == 1) return false;
  const int32_t first = Below(state_.num_stages() - 1);
  const int32_t next = state_.slot_at(first + 1);
  for (const int32_t block : state_.stage_at(first).blocks) {
    for (const int32_t successor : tables_.precedence().successors(block)) {
      if (state_.slot_of(successor) == next) return false;
    }
  }
  state_.SwapWithNext(first);
  return true;
}

bool PipelineMoves::ReorderCopies() {
  if (!orders_copies_) return false;
  const int32_t slot = ChooseStage();
  if (NumReplicas(slot) == 1) return false;
  std::vector<int32_t> devices = state_.stage(slot).devices;
  std::vector<int32_t> ring = state_.stage(slot).ring;
  std::swap(devices[Index(Below(NumReplicas(slot)))], devices[Index(Below(NumReplicas(slot)))]);
  state_.SetDevices(slot, std::move(devices));
  state_.SetRing(slot, std::move(ring));
  return true;
}

bool PipelineMoves::ReverseRing() {
  const int32_t slot = ChooseStage();
  std::vector<int32_t> ring = state_.stage(slot).ring;
  // All rings of three are alike.
  if (ring.size() < 4) return false;
  const auto size = static_cast<int32_t>(ring.size());
  const int32_t first = Below(size - 1);
  const int32_t last = first + 1 + Below(size - 1 - first);
  std::reverse(ring.begin() + first, ring.begin() + last + 1);
  state_.SetRing(slot, std::move(ring));
  return true;
}

}  // namespace planwright
