#include "tests/property/naive_bill.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <variant>

namespace planwright {
namespace {

// What one replica does in one pass.
struct Sums {
  Picoseconds in{0};
  Picoseconds compute{0};
  Picoseconds out{0};
};
// [pass].
using Work = std::array<Sums, 2>;

// Load of a replica that does every micro-batch; the first phase is GPIPE's only.
struct Phases {
  Picoseconds first{0};
  Picoseconds second{0};

  Picoseconds total() const { return first + second; }
};

// Stages that pay as one: those of one device, or of one team of replicas.
struct Payer {
  std::vector<std::size_t> devices;
  std::vector<std::size_t> operators;
  std::vector<std::size_t> ring;
  // By replica.
  std::vector<Work> work;

  std::size_t replicas() const { return devices.size(); }
};

Picoseconds Combine(const Sums& sums, Overlap overlap) {
  switch (overlap) {
    case Overlap::kSerial:
      return sums.in + sums.compute + sums.out;
    case Overlap::kOverlapped:
      return std::max(sums.compute, sums.in + sums.out);
    case Overlap::kFullDuplex:
      break;
  }
  return std::max({sums.in, sums.compute, sums.out});
}

int64_t CeilOf(int64_t number, int64_t parts) { return (number + parts - 1) / parts; }

Picoseconds ShareOf(Picoseconds time, std::size_t parts) {
  return Picoseconds(CeilOf(time.count(), static_cast<int64_t>(parts)));
}

class BillMaker {
 public:
  BillMaker(const NaiveModel& model, const Placement& placement) : model_(model), problem_(model.problem()) {
    for (const Placement::Stage& stage : placement.stages) {
      std::vector<std::size_t> operators;
      for (const OperatorId op : stage.operators) {
        if (model.TakesPart(op.index())) operators.push_back(op.index());
      }
      if (!operators.empty()) AddStage(stage, operators);
    }
  }

  NaiveBill Make() {
    AddComputation();
    if (IsHostStaged()) {
      for (const Tensor& tensor : model_.graph().tensors) PayHost(tensor);
    } else {
      for (std::size_t from = 0; from < payers_.size(); ++from) {
        for (std::size_t to = 0; to < payers_.size(); ++to) PayNetwork(from, to);
      }
    }
    NaiveBill bill;
    for (const auto& [ends, load] : raw_links_) bill.links[ends] = ShareOf(load.first, load.second);
    bill.loads.resize(model_.num_devices());
    if (problem_.micro_batches.has_value() && !payers_.empty()) {
      FillStep(bill);
    } else {
      FillLimitOfMany(bill);
    }
    FillMemory(bill);
    return bill;
  }

 private:
  bool IsHostStaged() const { return std::holds_alternative<HostStagedInterconnect>(model_.cluster().interconnect); }

  void AddStage(const Placement::Stage& stage, const std::vector<std::size_t>& operators) {
    const std::vector<std::size_t> team = Indices(stage.devices);
    auto payer = std::find_if(payers_.begin(), payers_.end(), [&](const Payer& p) { return p.devices == team; });
    if (payer == payers_.end()) {
      payer = payers_.insert(payer, Payer{team, {}, RingOf(stage), std::vector<Work>(team.size())});
    }
    payer->operators.insert(payer->operators.end(), operators.begin(), operators.end());
  }

  static std::vector<std::size_t> Indices(const std::vector<DeviceId>& devices) {
    std::vector<std::size_t> indices;
    for (const DeviceId device : devices) indices.push_back(device.index());
    return indices;
  }

  std::vector<std::size_t> RingOf(const Placement::Stage& stage) const {
    if (!stage.ring.empty()) return Indices(stage.ring);
    std::vector<std::size_t> ring = Indices(stage.devices);
    if (problem_.allreduce.ring == AllReduce::Ring::kFree) std::sort(ring.begin(), ring.end());
    return ring;
  }

  static bool Holds(const Payer& payer, std::size_t op) {
    return std::find(payer.operators.begin(), payer.operators.end(), op) != payer.operators.end();
  }

  static bool Reads(const Payer& payer, const Tensor& tensor) {
    return std::any_of(tensor.consumers.begin(), tensor.consumers.end(),
                       [&](OperatorId consumer) { return Holds(payer, consumer.index()); });
  }

  static bool Crosses(const Tensor& tensor, const Payer& from, const Payer& to) {
    return &from != &to && Holds(from, tensor.producer.index()) && Reads(to, tensor);
  }

  std::size_t PassOf(const Tensor& tensor) const { return model_.IsForward(tensor.producer.index()) ? 0 : 1; }

  void AddComputation() {
    for (Payer& payer : payers_) {
      for (std::size_t i = 0; i < payer.replicas(); ++i) {
        for (const std::size_t op : payer.operators) {
          payer.work[i][0].compute += model_.time(op, payer.devices[i])->forward;
          payer.work[i][1].compute += model_.time(op, payer.devices[i])->backward;
        }
      }
    }
  }

  void Send(Work& work, std::size_t pass, Picoseconds time) const {
    work[pass].out += time;
    if (model_.gradients_return()) work[1].in += time;
  }
  void Receive(Work& work, std::size_t pass, Picoseconds time) const {
    work[pass].in += time;
    if (model_.gradients_return()) work[1].out += time;
  }

  void PayHost(const Tensor& tensor) {
    const std::size_t pass = PassOf(tensor);
    bool leaves = false;
    for (Payer& from : payers_) {
      for (Payer& to : payers_) {
        if (!Crosses(tensor, from, to)) continue;
        const Picoseconds time = model_.Transfer(tensor, from.devices[0], to.devices[0]);
        for (Work& work : to.work) {
          if (!model_.IsCpu(to.devices[0])) Receive(work, pass, time);
        }
        if (std::exchange(leaves, true) || model_.IsCpu(from.devices[0])) continue;
        for (Work& work : from.work) Send(work, pass, time);
      }
    }
  }

  // Runs micro-batches until every pair of replicas that meets has met equally often.
  void PayNetwork(std::size_t from_index, std::size_t to_index) {
    Payer& from = payers_[from_index];
    Payer& to = payers_[to_index];
    const std::size_t micro_batches = from.replicas() * to.replicas();
    for (std::size_t pass = 0; pass < 2; ++pass) {
      std::vector<Picoseconds> sent(from.replicas());
      std::vector<Picoseconds> received(to.replicas());
      for (std::size_t n = 0; n < micro_batches; ++n) {
        const std::size_t a = n % from.replicas();
        const std::size_t b = n % to.replicas();
        for (const Tensor& tensor : model_.graph().tensors) {
          if (PassOf(tensor) != pass || !Crosses(tensor, from, to)) continue;
          const Picoseconds time = model_.Transfer(tensor, from.devices[a], to.devices[b]);
          sent[a] += time;
          received[b] += time;
          auto& [load, uses] = raw_links_[std::minmax({from.devices[a], to.devices[b]})];
          load += (model_.gradients_return() ? 2 : 1) * time;
          uses = micro_batches;
        }
      }
      for (std::size_t a = 0; a < sent.size(); ++a) Send(from.work[a], pass, ShareOf(sent[a], to.replicas()));
      for (std::size_t b = 0; b < received.size(); ++b) {
        Receive(to.work[b], pass, ShareOf(received[b], from.replicas()));
      }
    }
  }

  Phases PhasesOf(const Work& work) const {
    const auto& [forward, backward] = work;
    if (problem_.schedule == ScheduleKind::kGpipe) {
      return {Combine(forward, problem_.overlap), Combine(backward, problem_.overlap)};
    }
    const Sums both{forward.in + backward.in, forward.compute + backward.compute, forward.out + backward.out};
    return {Picoseconds(0), Combine(both, problem_.overlap)};
  }

  Picoseconds AllReduceOf(const Payer& payer) const {
    int64_t parameter_bytes = 0;
    for (const std::size_t op : payer.operators) parameter_bytes += model_.graph().operators[op].parameter_bytes;
    return model_.AllReduce(parameter_bytes, payer.ring);
  }

  // Each replica does one micro-batch of a round, at the end of which gradients are reduced.
  Phases ShareOfRound(const Phases& undivided, Picoseconds allreduce, std::size_t replicas) const {
    if (problem_.allreduce.amortize_over_micro_batches) allreduce = Picoseconds(0);
    const auto combine = [&](Picoseconds load, Picoseconds reduction) {
      return problem_.overlap == Overlap::kSerial ? load + reduction : std::max(load, reduction);
    };
    const bool is_per_round = problem_.allreduce.charge == AllReduce::Charge::kPerRound;
    return {ShareOf(undivided.first, replicas), is_per_round ? ShareOf(combine(undivided.second, allreduce), replicas)
                                                             : combine(ShareOf(undivided.second, replicas), allreduce)};
  }

  void FillLimitOfMany(NaiveBill& bill) const {
    Phases greatest;
    for (const Payer& payer : payers_) {
      const Picoseconds allreduce = AllReduceOf(payer);
      for (std::size_t i = 0; i < payer.replicas(); ++i) {
        const Phases load = ShareOfRound(PhasesOf(payer.work[i]), allreduce, payer.replicas());
        bill.loads[payer.devices[i]] = load.total();
        greatest = {std::max(greatest.first, load.first), std::max(greatest.second, load.second)};
      }
    }
    bill.objective = greatest.total();
  }

  // Of the step, by all copies of the pipeline.
  int64_t AllMicroBatches() const {
    const int64_t number = *problem_.micro_batches;
    if (problem_.replication != Replication::kUniform) return number;
    return number * static_cast<int64_t>(payers_.front().replicas());
  }

  int64_t MicroBatchesOfReplica(const Payer& payer) const {
    return CeilOf(AllMicroBatches(), static_cast<int64_t>(payer.replicas()));
  }

  void FillStep(NaiveBill& bill) const {
    std::size_t divisor = 0;
    for (const Payer& payer : payers_) divisor = std::gcd(divisor, payer.replicas());
    const auto groups = static_cast<int64_t>(divisor);
    const int64_t to_fill = HeldUncapped(divisor).front() * (static_cast<int64_t>(payers_.front().replicas()) / groups);
    const int64_t turns = CeilOf(AllMicroBatches(), groups) + to_fill - 1;
    Phases step;
    Picoseconds greatest_allreduce{0};
    for (const Payer& payer : payers_) {
      const Picoseconds allreduce = AllReduceOf(payer);
      greatest_allreduce = std::max(greatest_allreduce, allreduce);
      for (std::size_t i = 0; i < payer.replicas(); ++i) {
        const Phases load = PhasesOf(payer.work[i]);
        step.first = std::max(step.first, ShareOf(turns * groups * load.first, payer.replicas()));
        step.second = std::max(step.second, ShareOf(turns * groups * load.second, payer.replicas()));
        const Picoseconds busy = MicroBatchesOfReplica(payer) * load.total() + allreduce;
        bill.loads[payer.devices[i]] = ShareOf(busy, static_cast<std::size_t>(AllMicroBatches()));
      }
    }
    bill.step_time = step.total() + greatest_allreduce;
    bill.objective = ShareOf(bill.step_time, static_cast<std::size_t>(AllMicroBatches()));
  }

  // Micro-batches on their way to or from a stage while others are worked on: its transfers with the stages before it,
  // of the replica that has most of them.
  int64_t TransferSlots(const Payer& payer) const {
    if (problem_.overlap == Overlap::kSerial) return 0;
    int64_t slots = 0;
    for (const Work& work : payer.work) slots = std::max(slots, TransferSlotsOf(work));
    return slots;
  }

  int64_t TransferSlotsOf(const Work& work) const {
    const Picoseconds carried = work[0].in + work[1].out;
    if (carried == Picoseconds(0)) return 0;
    if (IsHostStaged()) return 2;
    if (problem_.schedule == ScheduleKind::kGpipe || problem_.overlap == Overlap::kOverlapped) return 1;
    return carried <= PhasesOf(work).total() ? 1 : 2;
  }

  // By stage: micro-batches that one replica must hold to keep the pace, as if every number of replicas were divided by
  // `divisor`.
  std::vector<int64_t> HeldUncapped(std::size_t divisor) const {
    std::vector<int64_t> held(payers_.size());
    int64_t behind = 0;
    for (std::size_t stage = payers_.size(); stage-- > 0;) {
      const auto replicas = static_cast<int64_t>(payers_[stage].replicas() / divisor);
      held[stage] = CeilOf(behind + replicas, replicas);
      if (IsHostStaged() && behind > 0 && problem_.overlap == Overlap::kOverlapped) held[stage] += 1;
      if (IsHostStaged() && behind > 0 && problem_.overlap == Overlap::kFullDuplex) held[stage] += 2;
      behind = (held[stage] + TransferSlots(payers_[stage])) * replicas;
    }
    return held;
  }

  std::vector<int64_t> InFlight() const {
    const bool drains_early =
        problem_.schedule == ScheduleKind::kOneFOneB || problem_.schedule == ScheduleKind::kPipedreamAsync;
    std::vector<int64_t> counts = drains_early ? HeldUncapped(1) : std::vector<int64_t>(payers_.size(), 1);
    if (!problem_.micro_batches.has_value()) return counts;
    for (std::size_t stage = 0; stage < payers_.size(); ++stage) {
      const int64_t of_step = MicroBatchesOfReplica(payers_[stage]);
      counts[stage] = drains_early ? std::min(counts[stage], of_step) : of_step;
    }
    return counts;
  }

  void FillMemory(NaiveBill& bill) const {
    bill.memory_bytes.resize(model_.num_devices());
    bill.in_flight = InFlight();
    for (const Payer& payer : payers_) bill.slots.push_back(TransferSlots(payer));
    for (std::size_t position = 0; position < payers_.size(); ++position) {
      const Payer& payer = payers_[position];
      int64_t border_bytes = 0;
      for (const Tensor& tensor : model_.graph().tensors) {
        const bool crosses = std::any_of(payers_.begin(), payers_.end(), [&](const Payer& other) {
          return Crosses(tensor, payer, other) || Crosses(tensor, other, payer);
        });
        if (crosses) border_bytes += tensor.size_bytes;
      }
      for (const std::size_t device : payer.devices) {
        bill.memory_bytes[device] = model_.Memory(payer.operators, border_bytes, bill.in_flight[position]);
        if (!model_.Fits(device, bill.memory_bytes[device])) bill.fits = false;
      }
    }
  }

  const NaiveModel& model_;
  const ResolvedProblem& problem_;
  std::vector<Payer> payers_;
  // By the two devices: time of all that crosses, and in how many micro-batches.
  std::map<std::pair<std::size_t, std::size_t>, std::pair<Picoseconds, std::size_t>> raw_links_;
};

}  // namespace

NaiveBill MakeNaiveBill(const NaiveModel& model, const Placement& placement) {
  return BillMaker(model, placement).Make();
}

}  // namespace planwright
