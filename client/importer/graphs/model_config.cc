#include "client/importer/graphs/model_config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/importer/reading/json_fields.h"
#include "client/library/error_details.h"
#include "client/library/hint.h"

namespace planwright::client {
namespace {

using nlohmann::json;

constexpr int64_t kMostOfField = int64_t{1} << 32;

// How a family names what its experts are. nullptr: it has no such field.
struct ExpertFields {
  const char* experts;
  const char* width = nullptr;
  const char* shared = nullptr;
  const char* dense_layers = nullptr;
  // Which layers have experts; any number but 1 is more than the zoo can express.
  const char* every = nullptr;
};

// How a family of models names what the zoo needs. nullptr: it has no such field.
struct Family {
  // What model_type says.
  std::string_view type;
  // The kind of the zoo that it is.
  const char* kind;
  const char* layers = "num_hidden_layers";
  const char* hidden = "hidden_size";
  const char* heads = "num_attention_heads";
  const char* kv_heads = "num_key_value_heads";
  const char* feed_forward = "intermediate_size";
  // Where tie_word_embeddings is left out.
  bool is_tied = false;
  // Queries and keys of each head are normalised.
  bool has_head_norm = false;
  // Keys and values are compressed.
  bool is_latent = false;
  std::optional<ExpertFields> experts = std::nullopt;
  // What the zoo takes differently; empty: nothing.
  std::string_view difference = {};
};

constexpr std::string_view kQueryBias = "biases of queries, keys and values are not counted";

constexpr ExpertFields kDeepSeekExperts = {.experts = "n_routed_experts",
                                           .width = "moe_intermediate_size",
                                           .shared = "n_shared_experts",
                                           .dense_layers = "first_k_dense_replace",
                                           .every = "moe_layer_freq"};

constexpr std::array<Family, 11> kFamilies = {{
    {.type = "llama", .kind = "llama"},
    {.type = "mistral", .kind = "llama"},
    {.type = "mixtral", .kind = "llama", .experts = ExpertFields{.experts = "num_local_experts"}},
    {.type = "qwen2", .kind = "llama", .difference = kQueryBias},
    {.type = "qwen3", .kind = "llama", .has_head_norm = true},
    {.type = "qwen3_moe",
     .kind = "llama",
     .has_head_norm = true,
     .experts =
         ExpertFields{.experts = "num_experts", .width = "moe_intermediate_size", .every = "decoder_sparse_step"}},
    {.type = "deepseek_v2", .kind = "llama", .kv_heads = nullptr, .is_latent = true, .experts = kDeepSeekExperts},
    {.type = "deepseek_v3", .kind = "llama", .kv_heads = nullptr, .is_latent = true, .experts = kDeepSeekExperts},
    {.type = "gpt2",
     .kind = "gpt",
     .layers = "n_layer",
     .hidden = "n_embd",
     .heads = "n_head",
     .kv_heads = nullptr,
     .feed_forward = "n_inner",
     .is_tied = true},
    {.type = "gpt_neox",
     .kind = "gpt",
     .kv_heads = nullptr,
     .difference = "rotary positions count as learned ones, and attention and feed-forward run one after the other"},
    {.type = "gpt_neo",
     .kind = "gpt",
     .layers = "num_layers",
     .heads = "num_heads",
     .kv_heads = nullptr,
     .is_tied = true,
     .difference = "local attention counts as attention to all tokens"},
}};

// Fields that make a model more than its family, or than any that is read, and what they stand for.
struct Beyond {
  const char* field;
  std::string_view what;
};
constexpr std::array<Beyond, 9> kBeyond = {{{"num_local_experts", "experts"},
                                            {"num_experts", "experts"},
                                            {"n_routed_experts", "experts"},
                                            {"moe_intermediate_size", "experts"},
                                            {"kv_lora_rank", "latent attention"},
                                            {"q_lora_rank", "latent attention"},
                                            {"num_encoder_layers", "an encoder"},
                                            {"vision_config", "a part for pictures"},
                                            {"text_config", "a part for text beside others"}}};

// Elements by their names in torch_dtype; those of 4 bytes are trained so.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kElementTypes = {
    {{"float32", "fp32"}, {"float16", "fp16"}, {"bfloat16", "bf16"}}};

std::string FamilyNames() {
  return absl::StrJoin(kFamilies, ", ", [](std::string* out, const Family& family) { out->append(family.type); });
}

// Reads one file.
class ConfigReader {
 public:
  ConfigReader(const json& file, ViolationList& violations) : file_(file), fields_(file, "", violations) {}

  // nullptr: it is none that the zoo can express, which is reported.
  const Family* ReadFamily() {
    used_.insert("model_type");
    const auto type = fields_.String("model_type");
    const std::string wanted = type.value_or("llama");
    const auto* const family =
        std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& each) { return each.type == wanted; });
    if (family == kFamilies.end()) {
      fields_.Report("model_type", absl::StrCat("must be one of ", FamilyNames(), ", is \"", wanted,
                                                "\"; describe the model with zoo:transformer?... where it is alike"));
      return nullptr;
    }
    if (!type.has_value()) fields_.Require("model_type");
    return IsWithin(*family) ? family : nullptr;
  }

  // "key=value" of the zoo. A field that is missing is reported unless it is `optional`.
  void Add(const char* key, const char* field, bool optional = false, int64_t least = 1) {
    if (field == nullptr) return;
    used_.insert(field);
    if (!optional) fields_.Require(field);
    const auto value = fields_.Integer(field, least, kMostOfField);
    if (value.has_value()) keys_.push_back(absl::StrCat(key, "=", *value));
  }

  void AddTied(bool usual) {
    used_.insert("tie_word_embeddings");
    keys_.emplace_back(fields_.Flag("tie_word_embeddings").value_or(usual) ? "tied=yes" : "tied=no");
  }

  // Newer files say dtype. What it is not told the zoo takes for 16 bits.
  void AddElementType() {
    for (const char* field : {"torch_dtype", "dtype"}) {
      used_.insert(field);
      const auto name = fields_.String(field);
      if (!name.has_value()) continue;
      const auto* const known = std::find_if(kElementTypes.begin(), kElementTypes.end(),
                                             [&](const auto& each) { return each.first == *name; });
      if (known == kElementTypes.end()) {
        fields_.Report(field, absl::StrCat("must be float32, float16 or bfloat16, is \"", *name, "\""));
      } else {
        keys_.push_back(absl::StrCat("dtype=", std::string(known->second)));
      }
      return;
    }
  }

  // Heads of a width of their own, and of latent attention its parts.
  void AddHeads(const Family& family) {
    if (family.has_head_norm) keys_.emplace_back("head_norm=yes");
    if (!family.is_latent) return AddHeadWidth(family);
    used_.insert("num_key_value_heads");
    Add("head_width", "qk_nope_head_dim");
    Add("kv_rank", "kv_lora_rank");
    Add("q_rank", "q_lora_rank", /*optional=*/true);
    Add("rope_width", "qk_rope_head_dim");
    Add("value_width", "v_head_dim");
  }

  void AddExperts(const ExpertFields& names) {
    Add("experts", names.experts);
    Add("experts_per_token", "num_experts_per_tok");
    Add("expert_ffn", names.width);
    Add("shared_experts", names.shared, /*optional=*/true, /*least=*/0);
    Add("dense_layers", names.dense_layers, /*optional=*/true, /*least=*/0);
    if (names.every != nullptr) {
      used_.insert(names.every);
      if (fields_.Integer(names.every, 0, kMostOfField).value_or(1) != 1) ReportSomeLayers(names.every);
    }
    used_.insert("mlp_only_layers");
    const auto plain = file_.find("mlp_only_layers");
    if (plain != file_.end() && !plain->empty()) ReportSomeLayers("mlp_only_layers");
  }

  // Layers that predict tokens behind the next one.
  bool PredictsMore() {
    used_.insert("num_nextn_predict_layers");
    return fields_.Integer("num_nextn_predict_layers", 0, kMostOfField).value_or(0) > 0;
  }

  // Windows make attention cheaper than the zoo's.
  bool HasWindow() {
    used_.insert({"sliding_window", "use_sliding_window"});
    const bool is_on = fields_.Flag("use_sliding_window").value_or(true);
    return is_on && file_.contains("sliding_window") && file_.at("sliding_window").is_number();
  }

  std::vector<std::string>& keys() { return keys_; }

  // Names of the fields that nothing was made of, in their order.
  std::vector<std::string> Ignored() const {
    std::vector<std::string> ignored;
    for (const auto& [name, value] : file_.items()) {
      if (!used_.contains(name)) ignored.push_back(name);
    }
    return ignored;
  }

 private:
  // Whether the model is no more than its family, else it is reported what it has beyond.
  bool IsWithin(const Family& family) {
    bool is_within = true;
    for (const Beyond& beyond : kBeyond) {
      const bool is_read = (beyond.what == "experts" && family.experts.has_value()) ||
                           (beyond.what == "latent attention" && family.is_latent);
      const auto field = file_.find(beyond.field);
      // One expert is none, and a rank that is not set neither.
      const bool is_used = field != file_.end() && !field->is_null() && *field != 0 && *field != 1;
      if (is_read || !is_used) continue;
      fields_.Report(beyond.field, absl::StrCat("stands for ", std::string(beyond.what), ", which cannot be read of ",
                                                std::string(family.type)));
      is_within = false;
    }
    return is_within;
  }

  void AddHeadWidth(const Family& family) {
    used_.insert("head_dim");
    const auto width = fields_.Integer("head_dim", 1, kMostOfField);
    const auto hidden = fields_.Integer(family.hidden, 1, kMostOfField);
    const auto heads = fields_.Integer(family.heads, 1, kMostOfField);
    if (!width.has_value() || !hidden.has_value() || !heads.has_value()) return;
    if (*hidden % *heads != 0 || *width != *hidden / *heads) keys_.push_back(absl::StrCat("head_width=", *width));
  }

  void ReportSomeLayers(const char* field) {
    fields_.Report(field, "leaves some layers behind the first ones without experts, which the zoo cannot express");
  }

  const json& file_;
  FieldReader fields_;
  std::set<std::string> used_;
  std::vector<std::string> keys_;
};

void AddWorkpiece(const Workpiece& workpiece, ViolationList& violations, std::vector<std::string>& keys) {
  std::vector<std::string> missing;
  std::string flags;
  for (const auto& [key, name, value] : {std::tuple{"sequence", "sequence", workpiece.sequence},
                                         std::tuple{"micro_batch", "micro-batch", workpiece.micro_batch}}) {
    if (value.has_value()) {
      keys.push_back(absl::StrCat(key, "=", *value));
    } else {
      missing.emplace_back(name);
      absl::StrAppend(&flags, " --", key, "=N");
    }
  }
  if (missing.empty()) return;
  violations.Add("", absl::StrCat("a config.json does not say ", absl::StrJoin(missing, " and "), ": add", flags));
}

}  // namespace

absl::StatusOr<std::string> ReadModelConfig(std::string_view text, std::string_view source, const Workpiece& workpiece,
                                            std::vector<std::string>& warnings) {
  constexpr std::size_t kMaxIgnoredNamed = 40;
  const json file = json::parse(text);
  ViolationList violations;
  ConfigReader reader(file, violations);
  const Family* const family = reader.ReadFamily();
  if (family == nullptr) return violations.ToStatus(source);
  reader.keys().push_back(absl::StrCat("kind=", family->kind));
  reader.Add("layers", family->layers);
  reader.Add("hidden", family->hidden);
  reader.Add("heads", family->heads);
  reader.Add("kv_heads", family->kv_heads, /*optional=*/true);
  reader.Add("ffn", family->feed_forward, /*optional=*/family->kv_heads == nullptr);
  reader.Add("vocab", "vocab_size");
  reader.AddTied(family->is_tied);
  reader.AddElementType();
  reader.AddHeads(*family);
  if (family->experts.has_value()) reader.AddExperts(*family->experts);
  const bool has_window = reader.HasWindow();
  const bool predicts_more = reader.PredictsMore();
  const bool is_read = violations.empty();
  AddWorkpiece(workpiece, violations, reader.keys());
  if (!violations.empty()) {
    absl::Status refused = violations.ToStatus(source);
    // Of a file that has nothing to mend the error says itself what to do.
    return is_read ? WithHint(std::move(refused), "") : refused;
  }
  const std::string name = absl::StrCat("zoo:transformer?", absl::StrJoin(reader.keys(), "&"));
  const std::string prefix = absl::StrCat(std::string(source), ": ");
  warnings.push_back(absl::StrCat(prefix, "is taken for ", name));
  if (!family->difference.empty()) warnings.push_back(absl::StrCat(prefix, std::string(family->difference)));
  if (has_window) {
    warnings.push_back(absl::StrCat(prefix, "attention counts as attention to all tokens, without window"));
  }
  if (predicts_more) {
    warnings.push_back(absl::StrCat(prefix, "layers that predict tokens behind the next one are not counted"));
  }
  std::vector<std::string> ignored = reader.Ignored();
  const std::size_t more = ignored.size() - std::min(ignored.size(), kMaxIgnoredNamed);
  ignored.resize(ignored.size() - more);
  if (!ignored.empty()) {
    warnings.push_back(absl::StrCat(prefix, "does not matter here and is ignored: ", absl::StrJoin(ignored, ", "),
                                    more > 0 ? absl::StrCat(" and ", more, " more") : ""));
  }
  return name;
}

}  // namespace planwright::client
