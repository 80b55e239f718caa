#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/cost/device_load.h"
#include "core/cost/pipeline_fill.h"
#include "core/cost/terms/memory_form.h"
#include "core/cost/terms/transfer.h"
#include "core/partition/enumeration/forms.h"
#include "core/partition/enumeration/ring_choice.h"
#include "core/partition/enumeration/tensor_table.h"

namespace planwright {
namespace {

class PipelineEnumeration {
 public:
  PipelineEnumeration(const SearchRequest& request, const BlockInstance& blocks, const DeviceOptions& devices,
                      PlacementJudge& judge)
      : request_(request),
        problem_(request.problem),
        network_(request.costs.network()),
        blocks_(blocks),
        devices_(devices),
        judge_(judge),
        tensors_(MakeTensorTable(request, blocks.operators)),
        pays_once_(RulesOf(request.cluster.interconnect).pay_once),
        gradients_follow_(GradientsFollowTensors(request.graph, problem_.workload)),
        reduces_(ReducesGradients(problem_)),
        turns_(TransferTurns::Of(problem_, pays_once_)),
        ignores_order_(IgnoresOrderOfStages(problem_)),
        teams_(devices),
        rings_(network_, problem_.allreduce),
        stage_of_(blocks.operators.size(), kLeft),
        seen_(tensors_.tensors.size(), 0) {
    for (const std::vector<OperatorId>& operators : blocks.operators) AddBlock(operators);
  }

  void Run() {
    if (problem_.replication != Replication::kUniform) return ExtendPipeline();
    for (std::size_t replicas = 1; replicas <= devices_.max_used(); ++replicas) {
      if (problem_.num_replicas.has_value() && !std::cmp_equal(replicas, *problem_.num_replicas)) continue;
      uniform_replicas_ = replicas;
      ExtendPipeline();
    }
  }

 private:
  static constexpr int32_t kLeft = -1;

  // What tensors from one stage to another take, by link class and the pass of the producer.
  struct Flow {
    std::vector<Picoseconds> forward;
    std::vector<Picoseconds> backward;
    bool is_empty = true;
  };

  // The next stage while its blocks are chosen.
  struct Growth {
    std::vector<int32_t> blocks;
    // The least time of those, and of the blocks that are left to earlier stages.
    Picoseconds work{0};
    Picoseconds passed_over{0};
  };

  // The next stage, whatever its team.
  struct Candidate {
    std::vector<int32_t> blocks;
    std::vector<OperatorId> operators;
    // By device.
    std::vector<bool> may_hold;
    std::vector<MicroBatchWork> compute;
    int64_t parameter_bytes = 0;
    int64_t boundary_bytes = 0;
    // To and from each of the stages behind.
    std::vector<Flow> to;
    std::vector<Flow> from;
    // The least that it pays for tensors to and from blocks that are left; pay-once: all that it pays.
    MicroBatchWork border;
  };

  struct PlacedStage {
    const Candidate* candidate = nullptr;
    std::vector<DeviceId> devices;
    std::vector<DeviceId> ring;
    Picoseconds allreduce{0};
    // Where its first replica stands in the list of works.
    std::size_t first_work = 0;
    // Its slots may be more, once all transfers are known.
    StageTurns least_turns;
  };

  // Bounds and works of all replicas, at one depth.
  struct Front {
    std::vector<MicroBatchWork> works;
    Picoseconds floor{0};
    // Micro-batches in the stages so far, at least (FillFromEnd::behind).
    int64_t behind = 0;
  };

  void AddBlock(const std::vector<OperatorId>& operators) {
    options_.push_back(devices_.MakeGroup(operators));
    left_work_ += options_.back().least_time;
    ++blocks_left_;
  }

  // The blocks that are left become stages before those that there are.
  void ExtendPipeline() {
    if (blocks_left_ == 0) return JudgePipeline();
    if (problem_.num_stages.has_value() && std::cmp_greater_equal(stages_.size(), *problem_.num_stages)) return;
    Growth outer = std::exchange(growth_, {});
    Grow(blocks_.num_blocks() - 1);
    growth_ = std::move(outer);
  }

  // Decides on `block` and those of smaller number, which never follow one of greater number.
  void Grow(int32_t block) {
    if (judge_.ShouldStop()) return;
    while (block >= 0 && stage_of_[Index(block)] != kLeft) --block;
    if (block < 0) {
      if (!growth_.blocks.empty()) PlaceStage();
      return;
    }
    const auto successors = blocks_.precedence.successors(block);
    const bool is_last = std::none_of(successors.begin(), successors.end(),
                                      [this](int32_t next) { return stage_of_[Index(next)] == kLeft; });
    const Picoseconds time = options_[Index(block)].least_time;
    if (is_last) {
      growth_.blocks.push_back(block);
      growth_.work += time;
      Move(block, static_cast<int32_t>(stages_.size()));
      if (judge_.CanImprove(FloorOfShare(growth_.work, MaxReplicas()))) Grow(block - 1);
      Move(block, kLeft);
      growth_.work -= time;
      growth_.blocks.pop_back();
    }
    if (!MayBeFollowed()) return;
    growth_.passed_over += time;
    if (judge_.CanImprove(FloorOfShare(growth_.passed_over, teams_.idle() - MinReplicas()))) Grow(block - 1);
    growth_.passed_over -= time;
  }

  // What it makes certain that the next stages share `time` among so many devices: a step has all its micro-batches and
  // those that fill the stages behind to wait for the busiest.
  Picoseconds FloorOfShare(Picoseconds time, std::size_t devices) const {
    if (!problem_.micro_batches.has_value()) return Share(time, devices);
    int64_t turns = AllMicroBatches();
    for (const PlacedStage& stage : stages_) turns += static_cast<int64_t>(stage.devices.size());
    const auto all = static_cast<std::size_t>(AllMicroBatches());
    return Share(Picoseconds(SaturatingMultiply(turns, time.count())), std::max<std::size_t>(1, devices) * all);
  }

  // Whether there can be another stage before the one that is growing.
  bool MayBeFollowed() const {
    const bool may_be_more =
        !problem_.num_stages.has_value() || std::cmp_less(stages_.size() + 1, *problem_.num_stages);
    return may_be_more && teams_.idle() >= 2 * MinReplicas();
  }

  void Move(int32_t block, int32_t stage) {
    stage_of_[Index(block)] = stage;
    const bool leaves = stage != kLeft;
    const Picoseconds time = options_[Index(block)].least_time;
    left_work_ += leaves ? -time : time;
    blocks_left_ = leaves ? blocks_left_ - 1 : blocks_left_ + 1;
  }

  static Picoseconds Share(Picoseconds time, std::size_t parts) {
    return Picoseconds(CeilDivide(time.count(), static_cast<int64_t>(std::max<std::size_t>(1, parts))));
  }

  std::size_t MinReplicas() const {
    if (uniform_replicas_.has_value()) return *uniform_replicas_;
    return static_cast<std::size_t>(problem_.num_replicas.value_or(1));
  }

  std::size_t MaxReplicas() const {
    if (problem_.replication == Replication::kNone) return 1;
    if (uniform_replicas_.has_value()) return *uniform_replicas_;
    if (problem_.num_replicas.has_value()) return static_cast<std::size_t>(*problem_.num_replicas);
    return teams_.idle();
  }

  void PlaceStage() {
    if (ignores_order_ && !stages_.empty() && StandsBehindNext()) return;
    const Candidate candidate = MakeCandidate();
    const auto may_hold = [&](std::size_t position) { return !judge_.has_stopped() && candidate.may_hold[position]; };
    teams_.ForEach(OrderOfTeam(), MinReplicas(), MaxReplicas(), may_hold,
                   [&](const std::vector<std::size_t>& team) { TryTeam(candidate, team); });
  }

  // Whether the grown blocks and the stage behind could change places, and stand the wrong way round.
  bool StandsBehindNext() const {
    const std::vector<int32_t>& next = stages_.back().candidate->blocks;
    if (*std::min_element(growth_.blocks.begin(), growth_.blocks.end()) < *std::min_element(next.begin(), next.end()))
      return false;
    const auto last = static_cast<int32_t>(stages_.size()) - 1;
    return std::none_of(growth_.blocks.begin(), growth_.blocks.end(), [&](int32_t block) {
      const auto successors = blocks_.precedence.successors(block);
      return std::any_of(successors.begin(), successors.end(),
                         [&](int32_t successor) { return stage_of_[Index(successor)] == last; });
    });
  }

  TeamOrder OrderOfTeam() const {
    const TeamOrder order = OrderOfTeams(request_);
    if (order == TeamOrder::kAscending || !stages_.empty()) return order;
    const bool is_free = problem_.allreduce.ring == AllReduce::Ring::kFree;
    const bool is_alone = blocks_left_ == 0;
    return is_free && (is_alone || uniform_replicas_.has_value()) ? TeamOrder::kAscending : TeamOrder::kLeastFirst;
  }

  Candidate MakeCandidate() {
    Candidate candidate;
    candidate.blocks = growth_.blocks;
    candidate.may_hold.assign(devices_.size(), true);
    candidate.compute.resize(devices_.size());
    for (const int32_t block : growth_.blocks) {
      const std::vector<OperatorId>& operators = blocks_.operators[Index(block)];
      candidate.operators.insert(candidate.operators.end(), operators.begin(), operators.end());
      const DeviceOptions::Group& options = options_[Index(block)];
      for (std::size_t position = 0; position < devices_.size(); ++position) {
        if (!options.may_hold[position]) candidate.may_hold[position] = false;
        candidate.compute[position] += options.compute[position];
      }
    }
    std::sort(candidate.operators.begin(), candidate.operators.end());
    candidate.parameter_bytes = ParameterBytes(request_.graph, candidate.operators);
    candidate.to.resize(stages_.size());
    candidate.from.resize(stages_.size());
    ++round_;
    for (const int32_t block : growth_.blocks) {
      for (const int32_t position : tensors_.of_group[Index(block)]) {
        if (std::exchange(seen_[Index(position)], round_) != round_)
          AddTensor(tensors_.tensors[Index(position)], candidate);
      }
    }
    return candidate;
  }

  // `tensor` has an end in the candidate.
  void AddTensor(const GroupTensor& tensor, Candidate& candidate) const {
    const auto here = static_cast<int32_t>(stages_.size());
    const int32_t producer = stage_of_[Index(tensor.producer)];
    if (producer != here) {
      candidate.boundary_bytes += tensor.size_bytes;
      if (pays_once_ || producer == kLeft) {
        Receive(candidate.border, tensor.pass, tensor.least_time);
      } else {
        AddTo(candidate.from[Index(producer)], tensor);
      }
      return;
    }
    bool leaves = false;
    bool is_read_by_left = false;
    std::vector<int32_t> readers;
    for (const int32_t block : tensor.readers) {
      const int32_t reader = stage_of_[Index(block)];
      if (reader == here) continue;
      leaves = true;
      if (reader == kLeft) {
        is_read_by_left = true;
      } else if (std::find(readers.begin(), readers.end(), reader) == readers.end()) {
        readers.push_back(reader);
      }
    }
    if (!leaves) return;
    candidate.boundary_bytes += tensor.size_bytes;
    if (pays_once_ || is_read_by_left) Send(candidate.border, tensor.pass, tensor.least_time);
    if (pays_once_) return;
    for (const int32_t reader : readers) AddTo(candidate.to[Index(reader)], tensor);
  }

  static void AddTo(Flow& flow, const GroupTensor& tensor) {
    if (std::exchange(flow.is_empty, false)) {
      flow.forward.assign(tensor.times.size(), Picoseconds(0));
      flow.backward.assign(tensor.times.size(), Picoseconds(0));
    }
    std::vector<Picoseconds>& times = tensor.pass == Pass::kForward ? flow.forward : flow.backward;
    for (std::size_t link_class = 0; link_class < times.size(); ++link_class)
      times[link_class] += tensor.times[link_class];
  }

  void Send(MicroBatchWork& work, Pass pass, Picoseconds time) const {
    work.of(pass).out += time;
    if (gradients_follow_) work.backward.in += time;
  }
  void Receive(MicroBatchWork& work, Pass pass, Picoseconds time) const {
    work.of(pass).in += time;
    if (gradients_follow_) work.backward.out += time;
  }

  void TryTeam(const Candidate& candidate, const std::vector<std::size_t>& team) {
    if (!judge_.Step()) return;
    if (!judge_.CanImprove(FloorOfCompute(candidate, team))) return;
    if (!Fits(candidate, team)) return judge_.NoteOverfull();
    PlacedStage& stage = stages_.emplace_back();
    stage.candidate = &candidate;
    for (const std::size_t position : team) stage.devices.push_back(devices_[position].device);
    ChooseRing(stage);
    Front front;
    if (!fronts_.empty()) front = fronts_.back();
    stage.first_work = front.works.size();
    AddWorks(candidate, team, front);
    const MicroBatchWork border = BorderOf(candidate, team);
    FillAtLeast(border, stage, front);
    front.floor = std::max(front.floor, FloorOfStages(front.works, border));
    if (judge_.CanImprove(front.floor) && judge_.CanImprove(FloorOfRest())) {
      fronts_.push_back(std::move(front));
      ExtendPipeline();
      fronts_.pop_back();
    }
    stages_.pop_back();
  }

  // What the work of the next stage alone makes certain: more than its share is never waited for.
  Picoseconds FloorOfCompute(const Candidate& candidate, const std::vector<std::size_t>& team) const {
    MicroBatchWork work = candidate.compute[team.front()];
    work += BorderOf(candidate, team);
    return FloorOfShare(LoadsOf(work, problem_.schedule, problem_.overlap).total(), team.size());
  }

  bool Fits(const Candidate& candidate, const std::vector<std::size_t>& team) const {
    const int64_t bytes = StageMemoryBytes(request_.graph, problem_, candidate.operators, candidate.boundary_bytes,
                                           LeastInFlight(team.size()));
    return std::all_of(team.begin(), team.end(), [&](std::size_t position) { return devices_[position].Fits(bytes); });
  }

  // Micro-batches that the next stage keeps at least.
  int32_t LeastInFlight(std::size_t team_size) const {
    const auto replicas = static_cast<int32_t>(team_size);
    const FillFromEnd fill(turns_, fronts_.empty() ? 0 : fronts_.back().behind);
    return InFlightMicroBatches(problem_, fill.HeldBy(replicas), replicas);
  }

  void ChooseRing(PlacedStage& stage) {
    if (stage.devices.size() == 1 || !reduces_) return;
    RingChoice::Ring ring = rings_.BestRing(stage.devices, stage.candidate->parameter_bytes);
    stage.ring = std::move(ring.order);
    stage.allreduce = ring.time;
  }

  void AddWorks(const Candidate& candidate, const std::vector<std::size_t>& team, Front& front) const {
    for (const std::size_t position : team) front.works.push_back(candidate.compute[position]);
    for (std::size_t other = 0; other + 1 < stages_.size(); ++other) {
      Charge(candidate.to[other], stages_.back(), stages_[other], front.works);
      Charge(candidate.from[other], stages_[other], stages_.back(), front.works);
    }
  }

  // Replicas that are equal modulo the greatest common divisor of both numbers exchange micro-batches; each pays the
  // mean over its partners.
  void Charge(const Flow& flow, const PlacedStage& from, const PlacedStage& to,
              std::vector<MicroBatchWork>& works) const {
    if (flow.is_empty) return;
    const std::size_t divisor = std::gcd(from.devices.size(), to.devices.size());
    std::vector<int64_t> partners(network_.num_link_classes());
    const auto charge = [&](const PlacedStage& payer, const PlacedStage& other, bool sends) {
      for (std::size_t a = 0; a < payer.devices.size(); ++a) {
        std::fill(partners.begin(), partners.end(), 0);
        for (std::size_t b = a % divisor; b < other.devices.size(); b += divisor) {
          ++partners[network_.LinkClassOf(payer.devices[a], other.devices[b])];
        }
        MicroBatchWork& work = works[payer.first_work + a];
        const Picoseconds forward = MeanTime(partners, flow.forward);
        const Picoseconds backward = MeanTime(partners, flow.backward);
        if (sends) {
          Send(work, Pass::kForward, forward);
          work.backward.out += backward;
        } else {
          Receive(work, Pass::kForward, forward);
          work.backward.in += backward;
        }
      }
    };
    charge(from, to, true);
    charge(to, from, false);
  }

  void FillAtLeast(const MicroBatchWork& border, PlacedStage& stage, Front& front) const {
    stage.least_turns.replicas = static_cast<int32_t>(stage.devices.size());
    // What else there will be to send may make two slots one again, and another replica the one that counts.
    stage.least_turns.slots = turns_.through_host ? 2 : 1;
    for (std::size_t i = stage.first_work; i < front.works.size(); ++i) {
      MicroBatchWork work = front.works[i];
      work += border;
      stage.least_turns.slots = std::min(stage.least_turns.slots, turns_.SlotsOf(work));
    }
    FillFromEnd fill(turns_, front.behind);
    fill.Add(stage.least_turns);
    front.behind = fill.behind();
  }

  MicroBatchWork BorderOf(const Candidate& candidate, const std::vector<std::size_t>& team) const {
    const bool pays = !pays_once_ || !devices_[team.front()].is_cpu;
    return pays ? candidate.border : MicroBatchWork();
  }

  // What the stages so far make certain of the objective. `border`: what the last one pays beside its work in `works`.
  Picoseconds FloorOfStages(std::vector<MicroBatchWork>& works, const MicroBatchWork& border) const {
    // Pay-once is paid for good, the rest is made certain when the other end is placed.
    std::vector<MicroBatchWork> with_border;
    std::vector<MicroBatchWork>* counted = &works;
    if (!pays_once_) {
      with_border = works;
      counted = &with_border;
    }
    for (std::size_t i = stages_.back().first_work; i < counted->size(); ++i) (*counted)[i] += border;
    const int64_t turns = problem_.micro_batches.has_value() ? LeastTurns() : 0;
    PhaseLoads greatest;
    Picoseconds allreduce{0};
    for (const PlacedStage& stage : stages_) {
      allreduce = std::max(allreduce, stage.allreduce);
      for (std::size_t i = 0; i < stage.devices.size(); ++i) {
        const PhaseLoads loads = FloorOfReplica((*counted)[stage.first_work + i], stage, turns);
        greatest.main = std::max(greatest.main, loads.main);
        greatest.backward = std::max(greatest.backward, loads.backward);
      }
    }
    if (!problem_.micro_batches.has_value()) return greatest.total();
    return Share(greatest.total() + allreduce, static_cast<std::size_t>(AllMicroBatches()));
  }

  // `turns` of a step, if it has a number of micro-batches.
  PhaseLoads FloorOfReplica(const MicroBatchWork& work, const PlacedStage& stage, int64_t turns) const {
    const PhaseLoads undivided = LoadsOf(work, problem_.schedule, problem_.overlap);
    const auto replicas = static_cast<int32_t>(stage.devices.size());
    if (!problem_.micro_batches.has_value()) {
      return ReplicaLoads(undivided, replicas, stage.allreduce, ReductionRuleOf(problem_));
    }
    const auto in_turns = [&](Picoseconds load) {
      return Share(Picoseconds(SaturatingMultiply(turns, load.count())), stage.devices.size());
    };
    return {.main = in_turns(undivided.main), .backward = in_turns(undivided.backward)};
  }

  int64_t AllMicroBatches() const {
    return MicroBatchesOfStep(problem_, static_cast<int32_t>(uniform_replicas_.value_or(1)));
  }

  // Turns of a step, each of one micro-batch: at least those of the stages so far. Numbers of replicas that differ may
  // lose their common divisor g, so of those it only counts that (turns + 1) x g is at least their sum and all that a
  // step does.
  int64_t LeastTurns() const {
    if (problem_.replication != Replication::kPerStage) {
      std::vector<StageTurns> stages;
      for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) stages.push_back(stage->least_turns);
      const StepTurns turns = TurnsOfStep(problem_, turns_, stages);
      return turns.count * turns.side_by_side;
    }
    int64_t sum = 0;
    int64_t fewest = stages_.front().least_turns.replicas;
    for (const PlacedStage& stage : stages_) {
      sum += stage.least_turns.replicas;
      fewest = std::min<int64_t>(fewest, stage.least_turns.replicas);
    }
    return AllMicroBatches() + sum - fewest;
  }

  // What is left, shared by the devices that are idle.
  Picoseconds FloorOfRest() const {
    if (blocks_left_ > 0 && teams_.idle() < MinReplicas()) return Picoseconds(kMaxQuantity);
    return FloorOfShare(left_work_, teams_.idle());
  }

  void JudgePipeline() {
    if (problem_.num_stages.has_value() && !std::cmp_equal(stages_.size(), *problem_.num_stages)) return;
    Placement placement;
    for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
      placement.stages.push_back({stage->candidate->operators, stage->devices, stage->ring});
    }
    judge_.Judge(std::move(placement));
  }

  const SearchRequest& request_;
  const ResolvedProblem& problem_;
  const Network& network_;
  const BlockInstance& blocks_;
  const DeviceOptions& devices_;
  PlacementJudge& judge_;
  const TensorTable tensors_;
  const bool pays_once_;
  const bool gradients_follow_;
  const bool reduces_;
  const TransferTurns turns_;
  const bool ignores_order_;
  TeamChooser teams_;
  RingChoice rings_;
  // By block.
  std::vector<DeviceOptions::Group> options_;
  // The stage of each block, the last stage of the pipeline being 0; kLeft.
  std::vector<int32_t> stage_of_;
  std::vector<PlacedStage> stages_;
  std::vector<Front> fronts_;
  Growth growth_;
  Picoseconds left_work_{0};
  std::size_t blocks_left_ = 0;
  std::optional<std::size_t> uniform_replicas_;
  // By tensor: the last candidate that counted it.
  std::vector<int64_t> seen_;
  int64_t round_ = 0;
};

}  // namespace

void EnumeratePipelines(const SearchRequest& request, const BlockInstance& blocks, const DeviceOptions& devices,
                        PlacementJudge& judge) {
  PipelineEnumeration(request, blocks, devices, judge).Run();
}

TeamOrder OrderOfTeams(const SearchRequest& request) {
  const bool links_differ = request.costs.network().num_link_classes() > 1;
  return links_differ ? TeamOrder::kAny : TeamOrder::kAscending;
}

bool IgnoresOrderOfStages(const ResolvedProblem& problem) {
  const bool keeps_by_position =
      problem.memory_model.kind == MemoryModel::Kind::kComponents && DrainsEarly(problem.schedule);
  // Each stage of a step takes one turn more to fill, wherever it is; only slots depend on it, and numbers of replicas.
  const bool fills_alike = problem.overlap == Overlap::kSerial && problem.replication != Replication::kPerStage;
  return problem.schedule != ScheduleKind::kPeriodic && !keeps_by_position &&
         (!problem.micro_batches.has_value() || fills_alike);
}

}  // namespace planwright
