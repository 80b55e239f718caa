#include "core/partition/stage_annealing/pipeline_state.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/cost/terms/transfer.h"

namespace planwright {
namespace {

constexpr std::size_t kAllClasses = 0;

// Visits the pairs of replicas that exchange micro-batches when micro-batch n runs on replica n mod R.
template <typename Visit>
void ForEachPartnership(std::size_t replicas_a, std::size_t replicas_b, Visit visit) {
  const std::size_t divisor = std::gcd(replicas_a, replicas_b);
  for (std::size_t a = 0; a < replicas_a; ++a) {
    for (std::size_t b = a % divisor; b < replicas_b; b += divisor) visit(a, b);
  }
}

}  // namespace

PipelineState::PipelineState(const PipelineTables& tables, const Pipeline& pipeline)
    : tables_(tables),
      turns_(TransferTurns::Of(tables.problem(), tables.pays_once())),
      costing_(tables.problem(), turns_, tables.memory_varies()),
      slot_of_(Index(tables.num_blocks()), 0),
      owner_(Index(tables.num_devices()), kIdle),
      num_idle_(tables.num_devices()),
      net_round_(Index(tables.num_nets()), 0) {
  // One more than there are devices, for a stage that is about to lose its blocks.
  const std::size_t slots = std::max(pipeline.stages.size(), owner_.size()) + 1;
  stages_.resize(slots);
  stage_costs_.resize(slots);
  position_.assign(slots, 0);
  saved_place_.assign(slots, kIdle);
  partner_round_.assign(slots, 0);
  partner_place_.assign(slots, 0);
  reader_round_.assign(slots, 0);
  for (std::size_t slot = 0; slot < pipeline.stages.size(); ++slot) {
    stages_[slot] = pipeline.stages[slot];
    order_.push_back(static_cast<int32_t>(slot));
    for (const int32_t block : stages_[slot].blocks) slot_of_[Index(block)] = order_.back();
    for (const int32_t device : stages_[slot].devices) SetOwner(device, order_.back());
  }
  for (std::size_t slot = slots; slot > order_.size(); --slot) free_slots_.push_back(static_cast<int32_t>(slot) - 1);
  Renumber();
  for (const int32_t slot : order_) Touch(slot);
  Evaluate();
  Keep();
}

Pipeline PipelineState::pipeline() const {
  Pipeline pipeline;
  pipeline.stages.reserve(order_.size());
  for (const int32_t slot : order_) pipeline.stages.push_back(stage(slot));
  return pipeline;
}

int64_t PipelineState::misshapen() const {
  int64_t count = 0;
  const std::optional<int32_t>& asked = tables_.problem().num_stages;
  if (asked.has_value()) count += std::abs(num_stages() - *asked);
  for (const ClassLimit& limit : tables_.class_limits()) {
    int64_t used = 0;
    for (const int32_t slot : order_) {
      const std::vector<int32_t>& devices = stage(slot).devices;
      if (limit.counts[Index(tables_.class_of(devices.front()))]) used += static_cast<int64_t>(devices.size());
    }
    count += std::max<int64_t>(0, used - limit.most);
  }
  return count;
}

void PipelineState::Begin() {
  num_saved_ = 0;
  moved_blocks_.clear();
  moved_devices_.clear();
  order_has_changed_ = false;
}

PipelineState::Saved& PipelineState::Touch(int32_t slot) {
  int32_t& place = saved_place_[Index(slot)];
  if (place != kIdle) return saved_[Index(place)];
  place = static_cast<int32_t>(num_saved_++);
  if (num_saved_ > saved_.size()) saved_.emplace_back();
  Saved& saved = saved_[Index(place)];
  saved.slot = slot;
  saved.costs = stage_costs_[Index(slot)];
  saved.has_stage = false;
  return saved;
}

void PipelineState::Save(int32_t slot) {
  Saved& saved = Touch(slot);
  if (saved.has_stage) return;
  saved.has_stage = true;
  saved.stage = stages_[Index(slot)];
}

void PipelineState::TouchPartners(int32_t block) {
  for (const int32_t net : tables_.produced(block)) {
    if (tables_.links_are_alike()) break;
    for (const int32_t consumer : tables_.net(net).consumers) Touch(slot_of(consumer));
  }
  for (const int32_t net : tables_.consumed(block)) {
    Touch(slot_of(tables_.net(net).producer));
    // Other readers pay what they paid.
  }
}

void PipelineState::SaveOrder() {
  if (order_has_changed_) return;
  order_has_changed_ = true;
  saved_order_ = order_;
  saved_free_slots_ = free_slots_;
}

void PipelineState::Renumber() {
  for (std::size_t position = 0; position < order_.size(); ++position) {
    position_[Index(order_[position])] = static_cast<int32_t>(position);
  }
}

void PipelineState::SetOwner(int32_t device, int32_t slot) {
  int32_t& owner = owner_[Index(device)];
  if (owner == slot) return;
  moved_devices_.emplace_back(device, owner);
  num_idle_ += static_cast<int32_t>(slot == kIdle) - static_cast<int32_t>(owner == kIdle);
  owner = slot;
}

void PipelineState::MoveBlocks(std::span<const int32_t> blocks, int32_t to_slot) {
  Save(to_slot);
  for (const int32_t block : blocks) {
    int32_t& slot = slot_of_[Index(block)];
    Save(slot);
    TouchPartners(block);
    moved_blocks_.emplace_back(block, slot);
    slot = to_slot;
  }
  for (std::size_t i = moved_blocks_.size() - blocks.size(); i < moved_blocks_.size(); ++i) {
    const int32_t from = moved_blocks_[i].second;
    if (i > 0 && moved_blocks_[i - 1].second == from && i > moved_blocks_.size() - blocks.size()) continue;
    std::erase_if(stages_[Index(from)].blocks, [&](int32_t block) { return slot_of(block) != from; });
  }
  std::vector<int32_t>& held = stages_[Index(to_slot)].blocks;
  const auto middle = static_cast<std::ptrdiff_t>(held.size());
  held.insert(held.end(), blocks.begin(), blocks.end());
  std::sort(held.begin() + middle, held.end());
  std::inplace_merge(held.begin(), held.begin() + middle, held.end());
}

void PipelineState::SetDevices(int32_t slot, std::vector<int32_t> devices) {
  Save(slot);
  PipelineStage& stage = stages_[Index(slot)];
  if (!tables_.links_are_alike()) {
    for (const int32_t block : stage.blocks) TouchPartners(block);
    work_ += static_cast<int64_t>(stage.blocks.size());
  }
  for (const int32_t device : stage.devices) {
    if (slot_of_device(device) == slot) SetOwner(device, kIdle);
  }
  for (const int32_t device : devices) SetOwner(device, slot);
  stage.devices = std::move(devices);
  stage.ring.clear();
  if (stage.devices.size() == 1 || !tables_.orders_rings()) return;
  stage.ring = stage.devices;
  std::sort(stage.ring.begin(), stage.ring.end());
}

void PipelineState::SetRing(int32_t slot, std::vector<int32_t> ring) {
  Save(slot);
  stages_[Index(slot)].ring = std::move(ring);
}

int32_t PipelineState::InsertStage(int32_t position, std::vector<int32_t> devices) {
  SaveOrder();
  const int32_t slot = free_slots_.back();
  free_slots_.pop_back();
  order_.insert(order_.begin() + position, slot);
  Renumber();
  SetDevices(slot, std::move(devices));
  return slot;
}

void PipelineState::SwapWithNext(int32_t position) {
  SaveOrder();
  std::swap(order_[Index(position)], order_[Index(position) + 1]);
  Renumber();
}

void PipelineState::RemoveEmptyStages() {
  bool any_empty = false;
  for (std::size_t i = 0; i < num_saved_; ++i) {
    const int32_t slot = saved_[i].slot;
    PipelineStage& stage = stages_[Index(slot)];
    if (!stage.blocks.empty() || stage.devices.empty()) continue;
    any_empty = true;
    for (const int32_t device : stage.devices) {
      if (slot_of_device(device) == slot) SetOwner(device, kIdle);
    }
    stage.devices.clear();
    stage.ring.clear();
  }
  if (!any_empty) return;
  SaveOrder();
  for (const int32_t slot : order_) {
    if (stage(slot).blocks.empty()) free_slots_.push_back(slot);
  }
  std::erase_if(order_, [&](int32_t slot) { return stage(slot).blocks.empty(); });
  Renumber();
}

const PipelineCosts& PipelineState::Evaluate() {
  RemoveEmptyStages();
  for (std::size_t i = 0; i < num_saved_; ++i) {
    if (!stage(saved_[i].slot).blocks.empty()) Cost(saved_[i].slot);
  }
  in_order_.clear();
  for (const int32_t slot : order_) in_order_.push_back(&stage_costs_[Index(slot)]);
  work_ += 2 * int64_t{num_stages()};
  trial_costs_ = costing_.CostsOf(in_order_);
  return trial_costs_;
}

void PipelineState::Keep() {
  costs_ = trial_costs_;
  for (std::size_t i = 0; i < num_saved_; ++i) saved_place_[Index(saved_[i].slot)] = kIdle;
}

void PipelineState::Undo() {
  for (std::size_t i = 0; i < num_saved_; ++i) {
    Saved& saved = saved_[i];
    saved_place_[Index(saved.slot)] = kIdle;
    stage_costs_[Index(saved.slot)] = saved.costs;
    if (saved.has_stage) std::swap(stages_[Index(saved.slot)], saved.stage);
  }
  for (auto move = moved_blocks_.rbegin(); move != moved_blocks_.rend(); ++move) {
    slot_of_[Index(move->first)] = move->second;
  }
  for (auto move = moved_devices_.rbegin(); move != moved_devices_.rend(); ++move) {
    num_idle_ +=
        static_cast<int32_t>(move->second == kIdle) - static_cast<int32_t>(owner_[Index(move->first)] == kIdle);
    owner_[Index(move->first)] = move->second;
  }
  if (!order_has_changed_) return;
  std::swap(order_, saved_order_);
  std::swap(free_slots_, saved_free_slots_);
  Renumber();
}

void PipelineState::Cost(int32_t slot) {
  const PipelineStage& own = stage(slot);
  PipelineStageCosts& costs = stage_costs_[Index(slot)];
  costs = PipelineStageCosts();
  costs.turns.replicas = static_cast<int32_t>(own.devices.size());
  costs.allreduce = AllReduceOf(own);
  MicroBatchWork work = ComputeOf(own);
  const int64_t boundary_bytes = MeasureTraffic(slot, work);
  AddLoads(slot, work, costs);
  costs.replica =
      ReplicaLoads(costs.undivided, costs.turns.replicas, costs.allreduce, ReductionRuleOf(tables_.problem()));
  AddMemory(slot, boundary_bytes, costs);
  AddMisplaced(own, costs);
  work_ += static_cast<int64_t>(own.blocks.size());
}

MicroBatchWork PipelineState::ComputeOf(const PipelineStage& stage) const {
  MicroBatchWork work;
  const int32_t device_class = tables_.class_of(stage.devices.front());
  for (const int32_t block : stage.blocks) {
    const PipelineTables::Times& times = tables_.time(block, device_class);
    work.forward.compute += times.forward;
    work.backward.compute += times.backward;
  }
  return work;
}

Picoseconds PipelineState::AllReduceOf(const PipelineStage& stage) const {
  if (stage.devices.size() == 1 || !ReducesGradients(tables_.problem())) return Picoseconds(0);
  int64_t parameter_bytes = 0;
  for (const int32_t block : stage.blocks) parameter_bytes += tables_.parameter_bytes(block);
  const Network& network = tables_.network();
  const std::vector<int32_t>& ring = stage.ring.empty() ? stage.devices : stage.ring;
  LinkSpeed slowest = network.speed(tables_.LinkClassOf(ring.back(), ring.front()));
  if (!tables_.links_are_alike()) {
    for (std::size_t i = 1; i < ring.size(); ++i) {
      slowest = Slower(slowest, network.speed(tables_.LinkClassOf(ring[i - 1], ring[i])));
    }
  }
  return AllReduceTime(parameter_bytes, static_cast<int32_t>(ring.size()), slowest, tables_.problem().allreduce.factor);
}

void PipelineState::AddMemory(int32_t slot, int64_t boundary_bytes, PipelineStageCosts& costs) const {
  const PipelineStage& own = stage(slot);
  MemoryParts sum;
  for (const int32_t block : own.blocks) sum.Add(tables_.memory(block));
  costs.fixed_bytes = tables_.memory_form().TotalBytes(sum, boundary_bytes, /*in_flight=*/0);
  costs.kept_bytes = sum.stored;
  costs.limit_bytes = std::numeric_limits<int64_t>::max();
  for (const int32_t device : own.devices) {
    costs.limit_bytes = std::min(costs.limit_bytes, tables_.memory_limit(device));
  }
}

void PipelineState::AddMisplaced(const PipelineStage& stage, PipelineStageCosts& costs) const {
  const int32_t device_class = tables_.class_of(stage.devices.front());
  for (const int32_t block : stage.blocks) {
    if (!tables_.time(block, device_class).supported) costs.misplaced += static_cast<int64_t>(stage.devices.size());
    if (!tables_.is_restricted(block)) continue;
    costs.misplaced += std::count_if(stage.devices.begin(), stage.devices.end(),
                                     [&](int32_t device) { return !tables_.is_allowed(block, device); });
  }
}

int64_t PipelineState::MeasureTraffic(int32_t slot, MicroBatchWork& work) {
  ++round_;
  num_partners_ = 0;
  int64_t boundary_bytes = 0;
  for (const int32_t block : stage(slot).blocks) {
    for (const int32_t net : tables_.produced(block)) {
      const std::vector<int32_t>& consumers = tables_.net(net).consumers;
      work_ += static_cast<int64_t>(consumers.size());
      if (std::all_of(consumers.begin(), consumers.end(), [&](int32_t reader) { return slot_of(reader) == slot; })) {
        continue;
      }
      boundary_bytes += tables_.net(net).bytes;
      AddSent(slot, net, work);
    }
    for (const int32_t net : tables_.consumed(block)) {
      ++work_;
      if (slot_of(tables_.net(net).producer) == slot || net_round_[Index(net)] == round_) continue;
      net_round_[Index(net)] = round_;
      boundary_bytes += tables_.net(net).bytes;
      AddReceived(slot, net, work);
    }
  }
  return boundary_bytes;
}

void PipelineState::AddSent(int32_t slot, int32_t net, MicroBatchWork& work) {
  if (tables_.pays_once()) return AddToWork(ExchangeOf(net, kAllClasses), {}, work);
  ++reader_tick_;
  reader_round_[Index(slot)] = reader_tick_;
  for (const int32_t consumer : tables_.net(net).consumers) {
    const int32_t reader = slot_of(consumer);
    if (reader_round_[Index(reader)] == reader_tick_) continue;
    reader_round_[Index(reader)] = reader_tick_;
    if (tables_.links_are_alike()) {
      AddToWork(ExchangeOf(net, kAllClasses), {}, work);
      continue;
    }
    Partner& partner = PartnerOf(slot, reader);
    for (std::size_t i = 0; i < partner.link_classes.size(); ++i) {
      partner.sent[i] += ExchangeOf(net, partner.link_classes[i]);
    }
  }
}

void PipelineState::AddReceived(int32_t slot, int32_t net, MicroBatchWork& work) {
  if (tables_.links_are_alike()) return AddToWork({}, ExchangeOf(net, kAllClasses), work);
  Partner& partner = PartnerOf(slot, slot_of(tables_.net(net).producer));
  for (std::size_t i = 0; i < partner.link_classes.size(); ++i) {
    partner.received[i] += ExchangeOf(net, partner.link_classes[i]);
  }
}

PipelineState::Exchange PipelineState::ExchangeOf(int32_t net, std::size_t link_class) const {
  const Picoseconds time = tables_.TransferTime(net, link_class);
  if (tables_.net(net).pass == Pass::kForward) return {.forward = time};
  return {.backward = time};
}

void PipelineState::AddToWork(const Exchange& sent, const Exchange& received, MicroBatchWork& work) const {
  work.forward.out += sent.forward;
  work.backward.out += sent.backward;
  work.forward.in += received.forward;
  work.backward.in += received.backward;
  if (!tables_.gradients_follow()) return;
  work.backward.in += sent.forward;
  work.backward.out += received.forward;
}

PipelineState::Partner& PipelineState::PartnerOf(int32_t slot, int32_t other) {
  if (partner_round_[Index(other)] == round_) return partners_[partner_place_[Index(other)]];
  partner_round_[Index(other)] = round_;
  partner_place_[Index(other)] = num_partners_++;
  if (num_partners_ > partners_.size()) partners_.emplace_back();
  Partner& partner = partners_[num_partners_ - 1];
  partner.slot = other;
  partner.link_classes.clear();
  ForEachPartnership(stage(slot).devices.size(), stage(other).devices.size(), [&](std::size_t a, std::size_t b) {
    const std::size_t link_class = tables_.LinkClassOf(stage(slot).devices[a], stage(other).devices[b]);
    std::vector<std::size_t>& known = partner.link_classes;
    if (std::find(known.begin(), known.end(), link_class) == known.end()) known.push_back(link_class);
    ++work_;
  });
  partner.sent.assign(partner.link_classes.size(), {});
  partner.received.assign(partner.link_classes.size(), {});
  return partner;
}

void PipelineState::AddLoads(int32_t slot, const MicroBatchWork& work, PipelineStageCosts& costs) {
  const PipelineStage& own = stage(slot);
  if (tables_.pays_once() && tables_.is_cpu(tables_.class_of(own.devices.front()))) {
    replica_works_ = {{.forward = {.compute = work.forward.compute}, .backward = {.compute = work.backward.compute}}};
  } else {
    // Without links of their own, replicas are alike.
    replica_works_.assign(num_partners_ == 0 ? 1 : own.devices.size(), work);
  }
  for (std::size_t i = 0; i < num_partners_; ++i) ChargePartner(own, partners_[i], replica_works_);
  const ResolvedProblem& problem = tables_.problem();
  for (const MicroBatchWork& replica : replica_works_) {
    const PhaseLoads loads = LoadsOf(replica, problem.schedule, problem.overlap);
    costs.undivided.main = std::max(costs.undivided.main, loads.main);
    costs.undivided.backward = std::max(costs.undivided.backward, loads.backward);
    costs.turns.slots = std::max(costs.turns.slots, turns_.SlotsOf(replica));
  }
}

void PipelineState::ChargePartner(const PipelineStage& own, const Partner& partner,
                                  std::vector<MicroBatchWork>& works) {
  const std::size_t classes = partner.link_classes.size();
  if (classes == 1) {
    for (MicroBatchWork& work : works) AddToWork(partner.sent.front(), partner.received.front(), work);
    return;
  }
  // Counts each replica's partners by link class.
  const std::vector<int32_t>& others = stage(partner.slot).devices;
  link_counts_.assign(works.size() * classes, 0);
  ForEachPartnership(own.devices.size(), others.size(), [&](std::size_t a, std::size_t b) {
    const std::size_t link_class = tables_.LinkClassOf(own.devices[a], others[b]);
    const auto found = std::find(partner.link_classes.begin(), partner.link_classes.end(), link_class);
    ++link_counts_[a * classes + static_cast<std::size_t>(found - partner.link_classes.begin())];
    ++work_;
  });
  const auto mean_of = [&](std::span<const int64_t> counts, const std::vector<Exchange>& exchanges,
                           Picoseconds Exchange::*pass) {
    class_times_.clear();
    for (const Exchange& exchange : exchanges) class_times_.push_back(exchange.*pass);
    return MeanTime(counts, class_times_);
  };
  const auto mean = [&](std::size_t replica, const std::vector<Exchange>& exchanges) {
    const std::span<const int64_t> counts = std::span(link_counts_).subspan(replica * classes, classes);
    return Exchange{.forward = mean_of(counts, exchanges, &Exchange::forward),
                    .backward = mean_of(counts, exchanges, &Exchange::backward)};
  };
  for (std::size_t replica = 0; replica < works.size(); ++replica) {
    AddToWork(mean(replica, partner.sent), mean(replica, partner.received), works[replica]);
  }
}

}  // namespace planwright
