// A pipeline that is changed step by step, and what it costs.
//
// Changes are made on trial: after Begin any number of them, then Costs, then Keep or Undo. Only stages whose costs may
// have changed are costed again, each from its blocks: those changed, and those that exchange tensors with what has
// moved. Costs are exactly those of core/cost (docs/cost-model.md), for every interconnect and kind of replication.
#ifndef PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_STATE_H_
#define PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_STATE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/partition/stage_annealing/pipeline_tables.h"

namespace planwright {

// For one thread. Stages have *slots*, which stay theirs whatever their position. Invariants between trials:
//   1. every block is in one stage, and no stage is empty;
//   2. edges of the precedence go to the same or a later position;
//   3. no device is in two stages, and those of a stage are of one class.
class PipelineState {
 public:
  static constexpr int32_t kIdle = -1;

  // REQUIRES: the pipeline obeys the invariants; tables outlive the state.
  PipelineState(const PipelineTables& tables, const Pipeline& pipeline);

  int32_t num_stages() const { return static_cast<int32_t>(order_.size()); }
  int32_t slot_at(int32_t position) const { return order_[Index(position)]; }
  int32_t position_of(int32_t slot) const { return position_[Index(slot)]; }
  const PipelineStage& stage(int32_t slot) const { return stages_[Index(slot)]; }
  const PipelineStage& stage_at(int32_t position) const { return stage(slot_at(position)); }
  int32_t slot_of(int32_t block) const { return slot_of_[Index(block)]; }
  // The position of its stage.
  int32_t position_of_block(int32_t block) const { return position_of(slot_of(block)); }
  // kIdle: none.
  int32_t slot_of_device(int32_t device) const { return owner_[Index(device)]; }
  int32_t num_idle() const { return num_idle_; }
  Pipeline pipeline() const;

  // The costs of the pipeline before the trial.
  const PipelineCosts& costs() const { return costs_; }
  // Devices beyond those that the limits of the request allow, and stages beyond or below those asked for.
  int64_t misshapen() const;
  bool is_feasible() const { return costs_.overflow == 0 && costs_.misplaced == 0 && misshapen() == 0; }

  void Begin();
  // A stage that has lost all of its blocks by the end of the trial is gone, and its devices are idle.
  void MoveBlocks(std::span<const int32_t> blocks, int32_t to_slot);
  // Takes the devices from where they are. REQUIRES: other stages have devices when the trial ends.
  void SetDevices(int32_t slot, std::vector<int32_t> devices);
  void SetRing(int32_t slot, std::vector<int32_t> ring);
  // A stage without blocks. Returns its slot. REQUIRES: it has blocks when the trial ends.
  int32_t InsertStage(int32_t position, std::vector<int32_t> devices);
  // Exchanges the stage at the position and the next one. REQUIRES: no edge leads from one to the other.
  void SwapWithNext(int32_t position);
  // Returns the costs of the trial.
  const PipelineCosts& Evaluate();
  void Keep();
  void Undo();

  // Blocks, ends of nets and pairs of replicas looked at, about 10 ns each.
  int64_t work() const { return work_; }

 private:
  // What one end of a net adds to its stage.
  struct Exchange {
    Picoseconds forward{0};
    Picoseconds backward{0};

    Exchange& operator+=(const Exchange& other) {
      forward += other.forward;
      backward += other.backward;
      return *this;
    }
  };
  // Another stage that this one exchanges tensors with: times over each class of links between the two.
  struct Partner {
    int32_t slot = 0;
    std::vector<std::size_t> link_classes;
    std::vector<Exchange> sent;
    std::vector<Exchange> received;
  };
  // What a stage was before the trial. Stages that only exchange tensors with what has moved keep all but their costs.
  struct Saved {
    int32_t slot = 0;
    PipelineStageCosts costs;
    bool has_stage = false;
    PipelineStage stage;
  };

  // The costs of the stage may have changed.
  Saved& Touch(int32_t slot);
  // The stage is about to change.
  void Save(int32_t slot);
  void TouchPartners(int32_t block);
  void SaveOrder();
  void Renumber();
  void RemoveEmptyStages();
  void SetOwner(int32_t device, int32_t slot);

  void Cost(int32_t slot);
  void AddMemory(int32_t slot, int64_t boundary_bytes, PipelineStageCosts& costs) const;
  void AddMisplaced(const PipelineStage& stage, PipelineStageCosts& costs) const;
  Picoseconds AllReduceOf(const PipelineStage& stage) const;
  MicroBatchWork ComputeOf(const PipelineStage& stage) const;
  // Returns the bytes that cross the border.
  int64_t MeasureTraffic(int32_t slot, MicroBatchWork& work);
  void AddSent(int32_t slot, int32_t net, MicroBatchWork& work);
  void AddReceived(int32_t slot, int32_t net, MicroBatchWork& work);
  void AddToWork(const Exchange& sent, const Exchange& received, MicroBatchWork& work) const;
  Exchange ExchangeOf(int32_t net, std::size_t link_class) const;
  Partner& PartnerOf(int32_t slot, int32_t other);
  // `work` without what goes over links of their own.
  void AddLoads(int32_t slot, const MicroBatchWork& work, PipelineStageCosts& costs);
  void ChargePartner(const PipelineStage& own, const Partner& partner, std::vector<MicroBatchWork>& works);

  const PipelineTables& tables_;
  const TransferTurns turns_;
  PipelineCosting costing_;
  std::vector<PipelineStage> stages_;
  std::vector<PipelineStageCosts> stage_costs_;
  std::vector<int32_t> free_slots_;
  std::vector<int32_t> order_;
  // By slot.
  std::vector<int32_t> position_;
  // By block.
  std::vector<int32_t> slot_of_;
  // By device.
  std::vector<int32_t> owner_;
  int32_t num_idle_ = 0;
  PipelineCosts costs_;
  int64_t work_ = 0;

  // The trial.
  std::vector<Saved> saved_;
  std::size_t num_saved_ = 0;
  // By slot: its place in saved_, or kIdle.
  std::vector<int32_t> saved_place_;
  std::vector<std::pair<int32_t, int32_t>> moved_blocks_;
  std::vector<std::pair<int32_t, int32_t>> moved_devices_;
  std::vector<int32_t> saved_order_;
  std::vector<int32_t> saved_free_slots_;
  bool order_has_changed_ = false;
  PipelineCosts trial_costs_;
  std::vector<const PipelineStageCosts*> in_order_;

  // Partners of the stage that is being costed.
  std::vector<Partner> partners_;
  std::size_t num_partners_ = 0;
  // By slot: the round that saw it last, and its place among the partners.
  std::vector<uint64_t> partner_round_;
  std::vector<std::size_t> partner_place_;
  std::vector<uint64_t> reader_round_;
  uint64_t reader_tick_ = 0;
  // By net.
  std::vector<uint64_t> net_round_;
  uint64_t round_ = 0;
  std::vector<MicroBatchWork> replica_works_;
  std::vector<int64_t> link_counts_;
  std::vector<Picoseconds> class_times_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_STATE_H_
