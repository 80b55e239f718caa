// SolveIntegerProgram by CBC: preprocessing, cuts, rounding heuristics, branch and bound, with its defaults otherwise.
#include <CbcEventHandler.hpp>
#include <CbcHeuristicDiveCoefficient.hpp>
#include <CbcHeuristicFPump.hpp>
#include <CbcModel.hpp>
#include <CglClique.hpp>
#include <CglGomory.hpp>
#include <CglKnapsackCover.hpp>
#include <CglMixedIntegerRounding2.hpp>
#include <CglPreProcess.hpp>
#include <CglProbing.hpp>
#include <CglTwomir.hpp>
#include <ClpEventHandler.hpp>
#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/polling.h"
#include "core/partition/mip/left_behind.h"
#include "core/partition/mip/mip_solver.h"

namespace planwright {
namespace {

// Preprocessing larger programs takes long between two looks at the clock.
constexpr int kMostPreprocessedRows = 12'000;
// Units of polling for each entry of the program while it is handed over.
constexpr int64_t kUnitsPerEntry = 16;
// Cuts of a kind are generated in every node of this depth, or where they help.
constexpr int kWhereTheyHelp = -1;

// What of a request outlives the program, which CBC has a copy of.
struct Terms {
  double cutoff = 0;
  double relative_gap = 0;
  SolveLimits limits;
};

// What the handlers share; CBC clones them freely.
struct Watch {
  const SolveLimits& limits;
  bool has_stopped = false;
  // Best bound before the stop: after it the solver may take a node for infeasible that it only abandoned.
  double bound = -IntegerProgram::kInfinity;

  bool ShouldStop() {
    has_stopped = has_stopped || CheckInterruption(limits).has_value();
    return has_stopped;
  }
};

// Ends a simplex run.
class SimplexHandler final : public ClpEventHandler {
 public:
  explicit SimplexHandler(Watch* watch) : watch_(watch) {}
  int event(Event which) override {
    if (which != endOfIteration && which != endOfFactorization) return -1;
    return watch_->ShouldStop() ? 1 : -1;
  }
  ClpEventHandler* clone() const override { return new SimplexHandler(*this); }

 private:
  Watch* watch_;
};

// Ends the tree search, and keeps the bound.
class TreeHandler final : public CbcEventHandler {
 public:
  explicit TreeHandler(Watch* watch) : watch_(watch) {}
  CbcAction event(CbcEvent which) override {
    if (watch_->ShouldStop()) return stop;
    // Searches within heuristics have models of their own.
    const bool is_main = getModel()->parentModel() == nullptr;
    if (is_main && which == node) watch_->bound = std::max(watch_->bound, getModel()->getBestPossibleObjValue());
    return noAction;
  }
  CbcEventHandler* clone() const override { return new TreeHandler(*this); }

 private:
  Watch* watch_;
};

double ToCoin(double value) { return std::clamp(value, -COIN_DBL_MAX, COIN_DBL_MAX); }

// A program as CBC takes it.
struct Arrays {
  std::vector<double> column_lower;
  std::vector<double> column_upper;
  std::vector<double> objective;
  std::vector<int> integers;
  std::vector<double> row_lower;
  std::vector<double> row_upper;
  std::vector<CoinBigIndex> row_starts{0};
  // By row.
  std::vector<int> columns;
  std::vector<double> coefficients;
};

// nullopt: there was no time.
std::optional<Arrays> ArraysOf(const IntegerProgram& program, const SolveLimits& limits) {
  Poller poller(limits);
  std::size_t entries = 0;
  for (const IntegerProgram::Row& row : program.rows) {
    if (poller.ShouldStop()) return std::nullopt;
    entries += row.entries.size();
  }
  Arrays arrays;
  // Else they are copied as they grow, which takes some tens of milliseconds at a time.
  for (auto* of_column : {&arrays.column_lower, &arrays.column_upper, &arrays.objective}) {
    of_column->reserve(program.columns.size());
  }
  arrays.integers.reserve(program.columns.size());
  arrays.row_lower.reserve(program.rows.size());
  arrays.row_upper.reserve(program.rows.size());
  arrays.row_starts.reserve(program.rows.size() + 1);
  arrays.columns.reserve(entries);
  arrays.coefficients.reserve(entries);
  for (const IntegerProgram::Column& column : program.columns) {
    if (poller.ShouldStop(kUnitsPerEntry)) return std::nullopt;
    if (column.is_integer) arrays.integers.push_back(static_cast<int>(arrays.objective.size()));
    arrays.column_lower.push_back(ToCoin(column.lower));
    arrays.column_upper.push_back(ToCoin(column.upper));
    arrays.objective.push_back(column.objective);
  }
  for (const IntegerProgram::Row& row : program.rows) {
    if (poller.ShouldStop(kUnitsPerEntry * std::ssize(row.entries))) return std::nullopt;
    arrays.row_lower.push_back(ToCoin(row.lower));
    arrays.row_upper.push_back(ToCoin(row.upper));
    for (const auto& [column, coefficient] : row.entries) {
      arrays.columns.push_back(column);
      arrays.coefficients.push_back(coefficient);
    }
    arrays.row_starts.push_back(static_cast<CoinBigIndex>(arrays.columns.size()));
  }
  return arrays;
}

void Load(const Arrays& arrays, OsiClpSolverInterface& solver) {
  // By rows: from triples it is sorted first, which takes long.
  const CoinPackedMatrix matrix(/*colordered=*/false, static_cast<int>(arrays.objective.size()),
                                static_cast<int>(arrays.row_lower.size()),
                                static_cast<CoinBigIndex>(arrays.columns.size()), arrays.coefficients.data(),
                                arrays.columns.data(), arrays.row_starts.data(), /*len=*/nullptr);
  solver.loadProblem(matrix, arrays.column_lower.data(), arrays.column_upper.data(), arrays.objective.data(),
                     arrays.row_lower.data(), arrays.row_upper.data());
  for (const int column : arrays.integers) solver.setInteger(column);
}

void AddCuts(CbcModel& model) {
  CglProbing probing;
  probing.setUsingObjective(1);
  probing.setMaxPass(1);
  probing.setMaxProbe(10);
  probing.setMaxLook(10);
  probing.setMaxElements(200);
  probing.setRowCuts(3);
  CglGomory gomory;
  gomory.setLimit(300);
  CglKnapsackCover knapsack;
  CglMixedIntegerRounding2 rounding;
  CglClique clique;
  clique.setStarCliqueReport(false);
  clique.setRowCliqueReport(false);
  CglTwomir twomir;
  model.addCutGenerator(&probing, kWhereTheyHelp, "Probing");
  model.addCutGenerator(&gomory, kWhereTheyHelp, "Gomory");
  model.addCutGenerator(&knapsack, kWhereTheyHelp, "Knapsack");
  model.addCutGenerator(&rounding, kWhereTheyHelp, "MixedIntegerRounding");
  model.addCutGenerator(&clique, kWhereTheyHelp, "Clique");
  model.addCutGenerator(&twomir, kWhereTheyHelp, "TwoMirCuts");
}

void AddHeuristics(CbcModel& model) {
  CbcRounding rounding(model);
  CbcHeuristicFPump pump(model);
  CbcHeuristicDiveCoefficient dive(model);
  model.addHeuristic(&rounding);
  model.addHeuristic(&pump);
  model.addHeuristic(&dive);
}

void Configure(const Terms& terms, Watch& watch, CbcModel& model) {
  model.setLogLevel(0);
  model.solver()->messageHandler()->setLogLevel(0);
  AddCuts(model);
  AddHeuristics(model);
  TreeHandler handler(&watch);
  model.passInEventHandler(&handler);
  model.setCutoff(std::min(terms.cutoff, 1e50));
  model.setAllowableGap(kMipTolerance / 10);
  model.setAllowableFractionGap(std::max(terms.relative_gap, kMipTolerance / 10));
  model.setIntegerTolerance(kMipTolerance / 10);
  model.setNumberThreads(0);
  model.setMaximumNodes(static_cast<int>(std::clamp<int64_t>(terms.limits.work, 0, 2'000'000'000)));
}

MipOutcome Interpret(const CbcModel& model, const Terms& terms, const Watch& watch) {
  MipOutcome outcome;
  outcome.nodes = model.getNodeCount();
  outcome.bound = watch.bound;
  if (watch.has_stopped) {
    outcome.end = MipEnd::kStopped;
  } else if (model.status() != 0) {
    outcome.end = MipEnd::kNodeLimit;
    outcome.bound = std::max(outcome.bound, model.getBestPossibleObjValue());
  } else {
    outcome.end = MipEnd::kFinished;
    outcome.bound = model.bestSolution() != nullptr ? model.getBestPossibleObjValue() : terms.cutoff;
  }
  outcome.bound = std::min(outcome.bound, terms.cutoff);
  if (const double* best = model.bestSolution()) outcome.solution.assign(best, best + model.getNumCols());
  return outcome;
}

// The solution is in the columns of `solver`.
MipOutcome Search(const Terms& terms, Watch& watch, OsiSolverInterface& solver) {
  solver.setHintParam(OsiDoReducePrint, true, OsiHintTry);
  // Left to itself Clp begins large programs with a crash that asks nobody for seconds.
  solver.setHintParam(OsiDoDualInInitial, true, OsiHintDo);
  CbcModel model(solver);
  Configure(terms, watch, model);
  model.initialSolve();
  if (watch.has_stopped) return {};
  if (model.solver()->isProvenOptimal()) watch.bound = model.solver()->getObjValue();
  model.branchAndBound();
  return Interpret(model, terms, watch);
}

// Makes the program smaller, and solutions large again.
class Preprocessing {
 public:
  Preprocessing() {
    preprocess_.messageHandler()->setLogLevel(0);
    CglProbing probing;
    probing.setUsingObjective(0);
    probing.setMaxPass(3);
    probing.setMaxElements(200);
    probing.setRowCuts(3);
    preprocess_.addCutGenerator(&probing);
  }

  // nullptr: infeasible. Owned by this object.
  OsiSolverInterface* Reduce(OsiSolverInterface& solver) { return preprocess_.preProcess(solver); }

  // The way back solves a last linear program, which must not be stopped. `original`: what was reduced; it is changed.
  std::vector<double> Restore(const std::vector<double>& solution, const OsiSolverInterface& reduced,
                              OsiClpSolverInterface& original) {
    const std::unique_ptr<OsiSolverInterface> solved(reduced.clone());
    for (std::size_t column = 0; column < solution.size(); ++column) {
      const auto index = static_cast<int>(column);
      if (!solved->isInteger(index)) continue;
      solved->setColBounds(index, std::round(solution[column]), std::round(solution[column]));
    }
    const ClpEventHandler patient;
    original.getModelPtr()->passInEventHandler(&patient);
    dynamic_cast<OsiClpSolverInterface&>(*solved).getModelPtr()->passInEventHandler(&patient);
    solved->resolve();
    preprocess_.postProcess(*solved);
    const double* values = original.getColSolution();
    return {values, values + original.getNumCols()};
  }

 private:
  CglPreProcess preprocess_;
};

// Who is left behind while the program is handed over, which takes some hundred milliseconds for large ones, has this.
struct CbcRun {
  Terms terms;
  Arrays arrays;
  OsiClpSolverInterface solver;
  MipOutcome outcome;
};

MipOutcome Solve(CbcRun& run) {
  const Terms& terms = run.terms;
  OsiClpSolverInterface& solver = run.solver;
  Load(run.arrays, solver);
  run.arrays = {};
  Watch watch{terms.limits};
  if (watch.ShouldStop()) return {};
  SimplexHandler handler(&watch);
  solver.getModelPtr()->passInEventHandler(&handler);
  if (solver.getNumRows() > kMostPreprocessedRows) return Search(terms, watch, solver);

  Preprocessing preprocessing;
  OsiSolverInterface* const reduced = preprocessing.Reduce(solver);
  if (watch.has_stopped) return {};
  if (reduced == nullptr) return {.end = MipEnd::kFinished, .bound = terms.cutoff, .solution = {}, .nodes = 0};
  // All decided: there is no solution of no columns to make large again.
  if (reduced->getNumCols() == 0) return Search(terms, watch, solver);
  MipOutcome outcome = Search(terms, watch, *reduced);
  if (!outcome.solution.empty()) outcome.solution = preprocessing.Restore(outcome.solution, *reduced, solver);
  return outcome;
}

}  // namespace

bool HasMipSolver() { return true; }

MipOutcome SolveIntegerProgram(const MipRequest& request) {
  const auto run = std::make_shared<CbcRun>();
  run->terms = {request.cutoff, request.relative_gap, request.limits};
  run->solver.messageHandler()->setLogLevel(0);
  run->solver.getModelPtr()->setLogLevel(0);
  std::optional<Arrays> arrays = ArraysOf(request.program, request.limits);
  if (!arrays.has_value()) return {};
  run->arrays = *std::move(arrays);
  if (!RunOrLeaveBehind(request.limits, [run] { run->outcome = Solve(*run); })) return {};
  return std::move(run->outcome);
}

}  // namespace planwright
