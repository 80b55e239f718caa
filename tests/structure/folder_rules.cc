#include "tests/structure/folder_rules.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace planwright {
namespace {

using Names = std::vector<std::string_view>;

Names Together(Names first, const Names& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::vector<FolderRule> CoreRules() {
  // The one folder that knows the solver of integer programs; linear ones have a part of it.
  const Names not_in_mip = {"grpc",   "google/", "prometheus/", "nlohmann/", "httplib",   "yaml-cpp/",
                            "sqlite", "pqxx/",   "openssl/",    "civetweb",  "microhttpd"};
  const Names not_in_linear = Together(not_in_mip, {"Cbc", "Cgl", "Osi"});
  const Names not_in_core = Together(not_in_mip, {"Cbc", "Cgl", "Clp", "Coin", "Osi"});
  const Names solver = {"core/base", "core/model", "core/topology", "core/cost/", "core/graph"};
  // The words that every search for a partition shares.
  const Names search = Together(solver, {"core/partition/search"});
  return {
      // Client code may include it, so it has no dependencies.
      {"core/text", {}, Together(not_in_core, {"absl/"}), {}},
      {"core/base", {}, not_in_core, {}},
      {"core/linear", {"core/base"}, not_in_linear, {"linear_program"}},
      {"core/model", {"core/base"}, not_in_core, {}},
      // Shares no code with the solvers, nor with core/cost.
      {"core/verify/facts", {"core/base", "core/model"}, not_in_core, {}},
      {"core/joint/slots",
       {"core/base"},
       not_in_core,
       {"chain_cuts", "chunk_slots", "cut_shifts", "layer_dealing", "stage_levels"}},
      {"core/joint/cost", {"core/base", "core/model", "core/joint/slots"}, not_in_core, {}},
      // What layers cost is given to it, as measured times are.
      {"core/verify/joint",
       {"core/base", "core/model", "core/joint/cost", "core/verify/facts"},
       not_in_core,
       {"joint_costing", "joint_verifier", "round_robin_costing"}},
      {"core/verify/periodic", {"core/base", "core/model", "core/verify/facts"}, not_in_core, {"periodic_costing"}},
      {"core/verify",
       {"core/base", "core/model", "core/verify/facts", "core/verify/periodic"},
       not_in_core,
       {"verify"}},
      {"core/graph", {"core/base", "core/model"}, not_in_core, {}},
      {"core/topology", {"core/base", "core/model"}, not_in_core, {}},
      {"core/simulate", {"core/base", "core/model"}, not_in_core, {}},
      {"core/cost/terms", {"core/base", "core/model", "core/topology"}, not_in_core, {}},
      {"core/cost/chain", {"core/base", "core/model", "core/cost/terms"}, not_in_core, {}},
      {"core/cost", {"core/base", "core/model", "core/cost/terms", "core/cost/chain"}, not_in_core, {}},
      {"core/schedule", solver, not_in_core, {}},
      {"core/zoo/keys", {"core/base", "core/text"}, not_in_core, {}},
      {"core/zoo/models", {"core/base", "core/model", "core/zoo/keys"}, not_in_core, {}},
      {"core/zoo/clusters", {"core/base", "core/model", "core/topology", "core/zoo/keys"}, not_in_core, {"clusters"}},
      {"core/zoo",
       {"core/base", "core/model", "core/text", "core/zoo/keys", "core/zoo/models", "core/zoo/clusters"},
       not_in_core,
       {"zoo"}},
      {"core/joint/calibration",
       {"core/base", "core/model", "core/joint/cost", "core/zoo"},
       not_in_core,
       {"efficiency_fit", "fit_errors", "read_runs", "run_prediction", "training_run", "accelerators",
        "calibrated_cluster", "example_runs"}},
      {"core/joint/step",
       {"core/base", "core/model", "core/joint/cost", "core/topology"},
       not_in_core,
       {"link_uses", "step_tasks"}},
      {"core/joint/waits", {"core/base", "core/linear"}, not_in_core, {"chunk_waits"}},
      {"core/joint/stages",
       {"core/base", "core/model", "core/joint/cost", "core/joint/slots"},
       not_in_core,
       {"recomputation", "stage_table"}},
      {"core/joint/dealing",
       {"core/base", "core/model", "core/joint/cost", "core/joint/slots", "core/joint/waits", "core/joint/stages"},
       not_in_core,
       {"interleaving", "like_stages"}},
      {"core/joint/search",
       {"core/base", "core/model", "core/joint/cost", "core/joint/slots", "core/joint/waits", "core/joint/stages",
        "core/joint/dealing"},
       not_in_core,
       {"joint_search", "fewest_search"}},
      // What is compared with the search shares its costs alone.
      {"core/joint/baselines", {"core/base", "core/model", "core/joint/cost"}, not_in_core, {"joint_baselines"}},
      {"core/joint/place",
       {"core/base", "core/model", "core/cost/terms", "core/joint/cost"},
       not_in_core,
       {"linked_devices", "network_cluster", "ring_speeds", "stage_places"}},
      {"core/joint/plan",
       {"core/base", "core/model", "core/joint/cost", "core/joint/place", "core/joint/search"},
       not_in_core,
       {"device_mixes", "fewest_devices", "joint_planning", "network_planning", "other_layers", "settings"}},
      {"core/joint/operators",
       {"core/base", "core/model", "core/cost/terms", "core/graph", "core/joint/cost", "core/joint/plan"},
       not_in_core,
       {"operator_layers", "operator_pricer", "operator_settings", "operator_share"}},
      {"core/joint/roundrobin",
       {"core/base", "core/model", "core/cost/terms", "core/joint/operators"},
       not_in_core,
       {"round_robin_instance", "round_robin_search", "turn_tasks"}},
      {"core/mapping/problem", solver, not_in_core, {}},
      {"core/mapping/anneal", Together(solver, {"core/mapping/problem"}), not_in_core, {"mapping_annealing"}},
      {"core/mapping/prove",
       Together(solver, {"core/mapping/problem"}),
       not_in_core,
       {"replica_model", "replica_repair", "replica_cover_search", "device_symmetry", "load_bounds", "load_prover",
        "machine_tiles", "ring_bounds"}},
      {"core/mapping",
       Together(solver, {"core/mapping/problem", "core/mapping/anneal", "core/mapping/prove"}),
       not_in_core,
       {"mapping"}},
      {"core/partition/search", solver, not_in_core, {}},
      {"core/partition/contiguous/ideals",
       search,
       not_in_core,
       {"chain_code", "ideal_enumeration", "reached_set", "table_estimate"}},
      {"core/partition/contiguous",
       Together(search, {"core/partition/contiguous/ideals"}),
       not_in_core,
       {"block_split", "contiguous_throughput", "ideal_dp", "linearized_dp", "phase_sweep"}},
      {"core/partition/noncontiguous/certify", search, not_in_core, {"certificates"}},
      {"core/partition/noncontiguous",
       Together(search, {"core/partition/contiguous", "core/partition/noncontiguous/certify"}),
       not_in_core,
       {"net_instance", "net_state", "net_tables", "noncontiguous_throughput", "virtual_devices"}},
      {"core/partition/latency",
       search,
       not_in_core,
       {"latency_annealing", "latency_instance", "latency_placement", "min_latency", "subgraph_schedule"}},
      // Allocations whose quality only a schedule tells.
      {"core/partition/periodic", Together(search, {"core/schedule"}), not_in_core, {"periodic_search", "stage_costs"}},
      {"core/partition/mip",
       Together(search, {"core/partition/contiguous", "core/partition/noncontiguous",
                         "core/partition/noncontiguous/certify", "core/partition/latency", "core/schedule"}),
       not_in_mip,
       {"integer_program", "mip_search", "mip_solver"}},
      // Ends in device mapping.
      {"core/partition/parmesan",
       Together(search,
                {"core/mapping", "core/mapping/problem", "core/partition/contiguous", "core/partition/noncontiguous"}),
       not_in_core,
       {"remaining_devices", "uniform_links_problem", "parmesan_search", "stage_partition", "stage_shape",
        "replicas_per_stage"}},
      {"core/partition/sequence", Together(search, {"core/partition/parmesan"}), not_in_core, {"sequence_search"}},
      {"core/partition/stage_annealing",
       Together(search, {"core/partition/parmesan"}),
       not_in_core,
       {"stage_annealing"}},
      {"core/partition/baselines",
       Together(search, {"core/partition/contiguous", "core/partition/noncontiguous",
                         "core/partition/noncontiguous/certify", "core/partition/parmesan", "core/partition/periodic"}),
       not_in_core,
       {"baselines", "proposals"}},
      // Every mode, so those of patterns too.
      {"core/partition/enumeration",
       Together(search, {"core/schedule", "core/partition/noncontiguous", "core/partition/periodic"}),
       not_in_core,
       {"enumeration"}},
      {"core/planner/algorithms",
       Together(solver, {"core/mapping", "core/partition/", "core/schedule"}),
       not_in_core,
       {"algorithms", "capabilities"}},
      {"core/planner/joint",
       {"core/base", "core/model", "core/cost/terms", "core/joint/baselines", "core/joint/cost", "core/joint/operators",
        "core/joint/place", "core/joint/plan", "core/joint/roundrobin", "core/joint/step", "core/verify",
        "core/verify/joint"},
       not_in_core,
       {"joint_request"}},
      {"core/planner/devices",
       Together(search, {"core/planner/algorithms"}),
       not_in_core,
       {"device_search", "fewest_devices"}},
      {"core/planner",
       Together(solver, {"core/mapping", "core/partition/", "core/schedule", "core/simulate", "core/verify",
                         "core/planner/algorithms", "core/planner/devices", "core/planner/joint"}),
       not_in_core,
       {"explanation", "observer", "plan_simulation", "planner", "replanning"}},
  };
}

// What draws pages of plans. It is given messages and knows no server, which serves such pages as well.
std::vector<FolderRule> PageRules() {
  const Names counters = {"prometheus/"};
  return {
      {"client/library", {"core/text", "planwright/v1/"}, counters, {}},
      {"client/report", {"core/text", "planwright/v1/", "client/library"}, counters, {}},
      {"client/report/inputs", {"planwright/v1/", "client/library", "client/report"}, counters, {}},
      {"client/page", {"planwright/v1/", "client/report", "client/report/inputs"}, counters, {"page"}},
  };
}

std::vector<FolderRule> ServerRules() {
  const Names no_messages = {"grpc", "google/", "prometheus/"};
  return {
      {"server/connections", {"core/"}, no_messages, {}},
      {"server/observability", {"core/"}, {"grpc", "google/"}, {}},
      {"server/store/database", {"core/"}, no_messages, {}},
      {"server/store",
       {"core/", "server/store/database"},
       no_messages,
       {"open_store", "store", "store_check", "store_copy"}},
      {"server/serving/cache", {"core/"}, no_messages, {}},
      {"server/serving/tenants", {"core/", "server/store"}, no_messages, {}},
      {"server/serving/callers",
       {"core/", "server/serving/cache", "server/serving/tenants"},
       no_messages,
       {"auth_config", "authenticator", "call_registry", "caller", "pem", "revocations"}},
      {"server/serving/admission",
       {"core/", "server/serving/tenants"},
       no_messages,
       {"executor", "unanswered_calls", "memory_account", "niceness", "resources", "retry_delay", "unsent_answers",
        "uploads"}},
      {"server/serving/operations", {"core/", "server/serving/tenants", "server/store"}, no_messages, {}},
      {"server/codec", {"core/", "planwright/v1/"}, {"grpc", "prometheus/"}, {}},
      {"server/engine/task", {"core/", "planwright/v1/", "server/codec"}, {"grpc"}, {}},
      {"server/engine/library",
       {"core/", "planwright/v1/", "server/codec", "server/engine/task", "server/store"},
       {"grpc"},
       {}},
      {"server/engine/plans",
       {"core/", "planwright/v1/", "server/codec", "server/serving/cache", "server/store"},
       {"grpc"},
       {}},
      {"server/engine",
       {"core/", "planwright/v1/", "server/codec", "server/engine/task", "server/engine/library", "server/engine/plans",
        "server/observability", "server/serving/", "server/store", "server/store/database"},
       {"grpc"},
       {"batch_planning", "memory_shares", "plan_finder", "planning_engine", "rpc_status", "simulation_messages",
        "task_memory"}},
      {"server/engine/operations",
       {"core/", "planwright/v1/", "server/codec", "server/engine", "server/engine/task", "server/engine/library",
        "server/observability", "server/serving/", "server/store", "server/store/database"},
       {"grpc"},
       {"operation_work", "operations"}},
      {"server/service/record",
       {"core/", "planwright/v1/", "server/codec", "server/engine", "server/engine/task", "server/observability",
        "server/serving/"},
       {},
       {"method_roles", "rpc_record", "search_log", "status_conversion", "trace_context"}},
      {"server/service/call",
       {"core/", "planwright/v1/", "server/codec", "server/connections", "server/engine/", "server/observability",
        "server/serving/", "server/service/record"},
       {},
       {}},
      {"server/service/methods",
       {"core/", "planwright/v1/", "server/codec", "server/engine/", "server/observability", "server/serving/",
        "server/service/record", "server/service/call"},
       {},
       {}},
      {"server/service",
       {"core/", "planwright/v1/", "server/codec", "server/engine/", "server/observability", "server/serving/",
        "server/service/record", "server/service/call", "server/service/methods"},
       {},
       {"admin_service", "planning_service"}},
      {"server/pages",
       {"core/", "planwright/v1/", "client/page", "server/codec", "server/connections", "server/engine",
        "server/engine/task", "server/engine/library", "server/observability", "server/serving/", "server/store"},
       {"grpc"},
       {"page_desk", "page_metrics", "page_server", "plan_pages"}},
      {"server/main/tls", {"core/", "server/observability", "server/serving/callers"}, {}, {}},
      {"server/main/configuration",
       {"core/", "server/connections", "server/engine", "server/main/tls", "server/observability", "server/pages",
        "server/serving/", "server/store"},
       {},
       {"config_sources", "configuration", "connection_settings", "listen_address", "log_level", "secrets"}},
      {"server/main",
       {"core/", "planwright/v1/", "server/codec", "server/connections", "server/engine/", "server/main/tls",
        "server/main/configuration", "server/observability", "server/pages", "server/service/", "server/serving/",
        "server/store/"},
       {},
       {}},
  };
}

std::vector<FolderRule> ClientRules() {
  const Names counters = {"prometheus/"};
  const Names reports = {"core/text",
                         "planwright/v1/",
                         "client/library",
                         "client/importer",
                         "client/importer/clusters/",
                         "client/importer/graphs",
                         "client/importer/plans",
                         "client/report",
                         "client/report/inputs",
                         "client/report/timeline"};
  return {
      // A program of its own, which alone knows libonnx.
      {"client/onnx", {"core/text", "planwright/v1/"}, counters, {}},
      {"client/importer/reading", {"core/text", "planwright/v1/", "client/library"}, counters, {}},
      {"client/importer/graphs/torch",
       {"core/text", "planwright/v1/", "client/library", "client/importer/reading"},
       counters,
       {"exported_program"}},
      {"client/importer/graphs",
       {"core/text", "planwright/v1/", "client/library", "client/importer/reading"},
       counters,
       {}},
      {"client/importer/clusters/yaml",
       {"core/text", "planwright/v1/", "client/library", "client/importer/reading"},
       counters,
       {}},
      {"client/importer/clusters",
       {"core/text", "planwright/v1/", "client/library", "client/importer/reading", "client/importer/clusters/yaml"},
       counters,
       {}},
      {"client/importer/plans",
       {"core/text", "planwright/v1/", "client/library", "client/importer/reading", "client/importer/graphs"},
       counters,
       {"foreign_plan"}},
      {"client/importer",
       {"core/text", "planwright/v1/", "client/library", "client/importer/reading", "client/importer/graphs",
        "client/importer/graphs/torch", "client/importer/clusters/"},
       counters,
       {"importer"}},
      {"client/report/timeline", {"planwright/v1/", "client/library", "client/report"}, counters, {}},
      {"client/exporter", {"planwright/v1/", "client/library", "client/report"}, counters, {"exporter"}},
      // The only part of the client that knows the server.
      {"client/local", {"planwright/v1/", "core/", "server/", "client/library"}, counters, {}},
      {"client/cli/terminal", reports, counters, {}},
      {"client/cli/results", Together(reports, {"client/page", "client/cli/terminal"}), counters, {}},
      // Judges reviews without a network; problems are written as the flags of the program.
      {"client/webhook/review",
       Together(reports, {"client/exporter", "client/cli/terminal", "client/importer/reading"}),
       Together(counters, {"boost/", "grpc"}),
       {"envelope", "errors", "judge", "manifest", "pools"}},
      {"client/cli/commands",
       Together(reports, {"client/exporter", "client/cli/terminal", "client/cli/results", "client/webhook/review",
                          "core/base", "core/joint/calibration"}),
       counters,
       {"commands"}},
      {"client/cli", Together(reports, {"client/local", "client/cli/terminal", "client/cli/commands"}), counters, {}},
      {"client/webhook/http",
       {"server/connections"},
       Together(counters, {"grpc"}),
       {"body_account", "exchange", "https_server", "tls_context"}},
      // A server itself: its settings, its log and its metrics port are those of planwrightd.
      {"client/webhook",
       {"planwright/v1/", "client/library", "client/importer", "client/importer/clusters/yaml", "client/webhook/review",
        "client/webhook/http", "server/connections", "server/main/configuration", "server/main/tls",
        "server/observability"},
       {"grpc"},
       {}},
      {"docs/examples", {"client/"}, {"server/", "prometheus/"}, {}},
  };
}

std::string_view WithoutSlash(std::string_view entry) {
  return entry.ends_with('/') ? entry.substr(0, entry.size() - 1) : entry;
}

}  // namespace

const std::vector<FolderRule>& FolderRules() {
  static const std::vector<FolderRule> kRules = [] {
    std::vector<FolderRule> rules = CoreRules();
    for (const FolderRule& rule : PageRules()) rules.push_back(rule);
    for (const FolderRule& rule : ServerRules()) rules.push_back(rule);
    for (const FolderRule& rule : ClientRules()) rules.push_back(rule);
    return rules;
  }();
  return kRules;
}

bool Covers(std::string_view entry, std::string_view folder) {
  if (!entry.ends_with('/')) return entry == folder;
  return WithoutSlash(entry) == folder || folder.starts_with(entry);
}

std::vector<std::string> UpwardRules(const std::vector<FolderRule>& rules) {
  std::vector<std::string> upward;
  for (std::size_t row = 0; row < rules.size(); ++row) {
    for (const std::string_view entry : rules[row].own) {
      // Generated from proto/, which includes nothing of ours.
      if (entry == "planwright/v1/") continue;
      bool is_known = false;
      for (std::size_t other = 0; other < rules.size(); ++other) {
        if (!Covers(entry, rules[other].folder)) continue;
        is_known = true;
        if (other < row) continue;
        upward.push_back(std::string(rules[row].folder) + " must not be above " + std::string(rules[other].folder));
      }
      if (!is_known) upward.push_back(std::string(rules[row].folder) + " names " + std::string(entry));
    }
  }
  return upward;
}

}  // namespace planwright
