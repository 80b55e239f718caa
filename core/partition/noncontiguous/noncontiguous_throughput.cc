#include "core/partition/noncontiguous/noncontiguous_throughput.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/partition/contiguous/contiguous_throughput.h"
#include "core/partition/contiguous/phase_sweep.h"
#include "core/partition/noncontiguous/certify/certificates.h"
#include "core/partition/noncontiguous/net_annealing.h"
#include "core/partition/noncontiguous/net_instance.h"
#include "core/partition/noncontiguous/net_tables.h"
#include "core/partition/noncontiguous/team_assignments.h"
#include "core/partition/noncontiguous/virtual_devices.h"
#include "core/partition/search/feasibility.h"
#include "core/partition/search/load_windows.h"
#include "core/partition/search/search_record.h"

namespace planwright {
namespace {

constexpr char kName[] = "net_annealing";
// Some seconds on graphs of some hundred operators.
constexpr int64_t kDefaultMoves = 90'000'000;
// Ideals enumerated or queried for the contiguous start: a second at most.
constexpr int64_t kContiguousWork = 2'000'000;
// The first proofs are tried after so many moves, the next ones after as many times more each, the last at the end.
constexpr int64_t kMovesBeforeProofs = 2'400'000;
constexpr int64_t kProofGrowth = 8;
// Moves that take about as long as one step of the proofs: both get the same time.
constexpr int64_t kMovesPerProofStep = 240;

class Solver : RecordedSearch {
 public:
  Solver(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, const SearchCallbacks& callbacks)
      : RecordedSearch(kName, request, limits, arena, callbacks),
        instance_(BuildNetInstance(request)),
        stages_(request.graph, request.problem) {
    record_.counters()["groups"] = instance_.num_groups();
    record_.counters()["nets"] = static_cast<int64_t>(instance_.charges.size());
  }

  absl::StatusOr<SearchOutcome> Run() {
    const std::optional<Infeasibility> shortages = FindShortages(request_.graph, request_.cluster, instance_.blocks);
    if (shortages.has_value()) return InfeasibleError(*shortages);
    const std::optional<Infeasibility> homeless = FindHomelessGroup();
    if (homeless.has_value()) return InfeasibleError(*homeless);
    OfferStarts();
    RaiseElementaryBounds();
    if (!instance_.has_pins) OfferContiguous();
    if (!record_.is_settled()) AnnealAll();
    record_.NameFallback();
    return std::move(record_).Finish("no assignment that fits was found, which proves nothing; allow more work");
  }

 private:
  // A group that pins and bans leave no device; nullopt: there is none.
  std::optional<Infeasibility> FindHomelessGroup() const {
    for (std::size_t group = 0; group < instance_.may_run.size(); ++group) {
      const std::vector<bool>& may_run = instance_.may_run[group];
      if (std::find(may_run.begin(), may_run.end(), true) != may_run.end()) continue;
      const std::string& name = request_.graph.operators[instance_.blocks.operators[group].front().index()].name;
      return Infeasibility{
          {{"devices", name, 0, 0,
            absl::StrCat("pinned and forbidden devices leave none that can run operator \"", name,
                         "\" and those that must share its device: pin them to one device that supports them all")}},
          0};
    }
    return std::nullopt;
  }

  // Replicas may be of one class with different memory, which the pools keep apart.
  void RaiseElementaryBounds() {
    const BlockInstance blocks = instance_.rule().replicates ? WithJoinedClasses(instance_.blocks) : instance_.blocks;
    for (Bound& bound : ElementaryBounds(blocks, LoadWindows(blocks))) record_.RaiseBound(std::move(bound));
  }

  // The best contiguous split that little work finds. Its bounds and proofs are those of another problem.
  void OfferContiguous() {
    ResolvedProblem problem = request_.problem;
    problem.split = Split::kContiguous;
    SolverOptions options = request_.options;
    options.work_limit = kContiguousWork;
    const SearchRequest request{request_.graph, request_.cluster,    problem, request_.costs,
                                options,        Algorithm::kIdealDp, {}};
    SearchCallbacks callbacks;
    callbacks.objective = callbacks_.objective;
    callbacks.on_phase = callbacks_.on_phase;
    callbacks.on_bound = [](const Bound&) {};
    callbacks.on_incumbent = [this](const SearchOutcome& so_far, int64_t /*work*/, std::string_view made_by) {
      record_.Offer(so_far.placement, made_by);
    };
    const absl::StatusOr<SearchOutcome> outcome = SolveContiguousThroughput(request, limits_, arena_, callbacks);
    if (outcome.ok()) record_.Offer(outcome->placement, outcome->algorithm);
  }

  void AnnealAll() {
    callbacks_.on_phase(kName);
    if (NetAnnealing::BytesFor(instance_) > limits_.memory_bytes) {
      record_.set_stop_reason(StopReason::kMemoryLimit);
      return;
    }
    SolveLimits limits = limits_;
    limits.work = std::min(limits.work, request_.options.work_limit.value_or(kDefaultMoves));
    const NetTables tables(instance_);
    NetAnnealing annealing(tables, request_.options.seed, limits, arena_);
    if (record_.has_placement()) {
      NetAssignment start = AssignmentOf(instance_, record_.placement());
      if (!start.empty()) annealing.Offer(std::move(start));
    }
    OfferIncumbent(annealing);
    int64_t next_proofs = kMovesBeforeProofs;
    bool has_work = true;
    while (has_work && !record_.is_settled()) {
      has_work = annealing.RunBatch();
      OfferIncumbent(annealing);
      if (annealing.moves() < next_proofs && has_work) continue;
      Certify(tables, annealing);
      next_proofs *= kProofGrowth;
    }
    record_.set_stop_reason(StopReasonOf(limits_, StopReason::kWorkLimit));
  }

  void OfferIncumbent(const NetAnnealing& annealing) {
    record_.AddWork(annealing.moves() - record_.work());
    record_.counters()["moves"] = annealing.moves();
    record_.counters()["slices"] = annealing.slices();
    if (annealing.incumbent().empty()) return;
    if (record_.has_placement() && annealing.incumbent_load() >= record_.objective().count()) return;
    record_.Offer(PlacementOfTeams(instance_, stages_, annealing.incumbent()), kName);
  }

  // Spends about as much time as the moves took on proofs that no plan is much better than the incumbent; they know no
  // replicas.
  void Certify(const NetTables& tables, const NetAnnealing& annealing) {
    if (!record_.has_placement() || record_.is_settled() || instance_.rule().replicates) return;
    callbacks_.on_phase("certificates");
    const int64_t steps = annealing.moves() / kMovesPerProofStep;
    const bool has_phases = instance_.rule().has_phases && !annealing.incumbent().empty();
    Prove(instance_.blocks, record_.objective(), request_.options.relative_gap, has_phases ? steps / 2 : steps,
          [this](const Bound& bound) { record_.RaiseBound(bound); });
    if (has_phases) CertifyPhases(NetState(tables, annealing.incumbent()).GreatestLoads(), steps / 4);
    callbacks_.on_phase(kName);
  }

  // GPIPE: no plan is better than the best forward pass and the best backward pass, each by itself.
  void CertifyPhases(const PhaseLoads& incumbent, int64_t steps) {
    Picoseconds forward(0);
    Picoseconds backward(0);
    const auto raise = [](Picoseconds& best) {
      return [&best](const Bound& bound) { best = std::max(best, bound.value); };
    };
    Prove(OnlyForward(instance_.blocks), incumbent.main, 0, steps, raise(forward));
    Prove(OnlyBackward(instance_.blocks), incumbent.backward, 0, steps, raise(backward));
    record_.RaiseBound({forward + backward, "phases", BoundScope::kProblem, /*pays_once=*/true});
  }

  void Prove(const BlockInstance& blocks, Picoseconds incumbent, double relative_gap, int64_t steps,
             const std::function<void(const Bound&)>& on_bound) {
    SolveLimits limits = limits_;
    limits.work = steps;
    record_.counters()["proof_steps"] +=
        CertifyMaxLoad(blocks, request_.problem.overlap, incumbent, relative_gap, limits, on_bound);
  }

  const NetInstance instance_;
  const VirtualDevices stages_;
};

}  // namespace

absl::StatusOr<SearchOutcome> SolveNonContiguousThroughput(const SearchRequest& request, const SolveLimits& limits,
                                                           TaskArena& arena, const SearchCallbacks& callbacks) {
  callbacks.on_phase("preprocess");
  return Solver(request, limits, arena, callbacks).Run();
}

AlgorithmRow NetAnnealingRow() {
  return {.algorithm = Algorithm::kNetAnnealing,
          .name = kName,
          .version = "2",
          .description =
              "portfolio of annealing runs on the net form, seeded by the best contiguous split (for the "
              "problem of Tarnawski et al. 2020, 5.2)",
          .work_unit = "groups moved on trial",
          .solve = SolveNonContiguousThroughput,
          .modes = {ThroughputModes({"host_staged", "uniform"}, SchedulesOfLoads(),
                                    {Replication::kNone, Replication::kPerStage}, {Split::kNonContiguous},
                                    "splits of greatest throughput in the limit of many micro-batches, inference and "
                                    "training, any number of stages per device, replicated or not")}};
}

}  // namespace planwright
