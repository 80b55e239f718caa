#include "server/serving/callers/pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"

namespace planwright::server {
namespace {

constexpr std::string_view kBegin = "-----BEGIN ";
constexpr std::string_view kEnd = "-----END ";
constexpr std::string_view kHyphens = "-----";

// The label of a line such as "-----BEGIN CERTIFICATE-----"; nullopt: it is none.
std::optional<std::string_view> LabelOf(std::string_view line, std::string_view prefix) {
  if (!line.starts_with(prefix) || !line.ends_with(kHyphens) || line.size() <= prefix.size() + kHyphens.size()) {
    return std::nullopt;
  }
  return line.substr(prefix.size(), line.size() - prefix.size() - kHyphens.size());
}

absl::Status Wrong(int line, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", ToAbsl(what)));
}

// UTF-8 is not looked into: no byte of it can be taken for a control character.
bool IsText(std::string_view line) {
  return std::none_of(line.begin(), line.end(), [](unsigned char c) { return absl::ascii_iscntrl(c) && c != '\t'; });
}

BioPointer Reader(std::string_view text) {
  return BioPointer(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Never asks for a password.
int NoPassword(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) { return 0; }

// Blocks that stand beside certificates in files of both, and are somebody else's business.
bool IsOtherBlock(std::string_view label) {
  return label.ends_with("PRIVATE KEY") || label.ends_with("PARAMETERS") || label == "PUBLIC KEY";
}

// All blocks with one of `labels`, each by `read`, one of OpenSSL's readers of PEM.
template <typename Pointer, typename Read>
absl::StatusOr<std::vector<Pointer>> ReadObjects(std::string_view file, std::initializer_list<std::string_view> labels,
                                                 const char* name, Read read) {
  ASSIGN_OR_RETURN(const std::vector<PemBlock> blocks, ReadPemBlocks(file));
  std::vector<Pointer> objects;
  for (const PemBlock& block : blocks) {
    if (std::find(labels.begin(), labels.end(), std::string_view(block.label)) == labels.end()) {
      if (IsOtherBlock(block.label)) continue;
      return Wrong(block.line, absl::StrCat("holds a block \"", block.label, "\", which does not belong here"));
    }
    Pointer object(read(Reader(block.text).get(), nullptr, &NoPassword, nullptr));
    if (object == nullptr) {
      return Wrong(block.line, absl::StrCat(name, " ", objects.size() + 1, " cannot be read: ", TakeOpensslError()));
    }
    objects.push_back(std::move(object));
  }
  if (objects.empty()) return absl::InvalidArgumentError(absl::StrCat("must hold a ", name, " in PEM form"));
  return objects;
}

}  // namespace

absl::StatusOr<std::vector<PemBlock>> ReadPemBlocks(std::string_view file) {
  std::vector<PemBlock> blocks;
  bool is_open = false;
  int number = 0;
  for (const absl::string_view raw : absl::StrSplit(ToAbsl(file), '\n')) {
    ++number;
    const std::string_view line = ToStd(absl::StripTrailingAsciiWhitespace(raw));
    if (!IsText(line)) return Wrong(number, "holds bytes that are no text");
    const std::optional<std::string_view> begun = LabelOf(line, kBegin);
    const std::optional<std::string_view> ended = LabelOf(line, kEnd);
    if (begun.has_value() && !is_open) {
      blocks.push_back({.label = std::string(*begun), .text = "", .line = number});
      is_open = true;
    } else if (begun.has_value()) {
      return Wrong(blocks.back().line, absl::StrCat("the block \"", blocks.back().label, "\" has no end"));
    } else if (ended.has_value() && (!is_open || *ended != blocks.back().label)) {
      return Wrong(number, "ends a block that has not begun");
    } else if (!ended.has_value() && line.starts_with(kHyphens)) {
      return Wrong(number, "must be \"-----BEGIN LABEL-----\" or \"-----END LABEL-----\"");
    }
    if (is_open) absl::StrAppend(&blocks.back().text, ToAbsl(line), "\n");
    if (ended.has_value()) is_open = false;
  }
  if (is_open) return Wrong(blocks.back().line, absl::StrCat("the block \"", blocks.back().label, "\" has no end"));
  return blocks;
}

absl::StatusOr<std::vector<X509Pointer>> ReadCertificates(std::string_view file) {
  return ReadObjects<X509Pointer>(file, {"CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"}, "certificate",
                                  &PEM_read_bio_X509_AUX);
}

absl::StatusOr<std::vector<CrlPointer>> ReadRevocationLists(std::string_view file) {
  return ReadObjects<CrlPointer>(file, {"X509 CRL"}, "revocation list", &PEM_read_bio_X509_CRL);
}

std::string ToPem(const std::vector<X509Pointer>& certificates) {
  const BioPointer memory(BIO_new(BIO_s_mem()));
  for (const X509Pointer& certificate : certificates) PEM_write_bio_X509(memory.get(), certificate.get());
  const char* data = nullptr;
  const auto size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string SubjectOf(const X509& certificate) {
  const BioPointer memory(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(memory.get(), X509_get_subject_name(&certificate), 0, XN_FLAG_RFC2253);
  const char* data = nullptr;
  const auto size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::chrono::system_clock::time_point TimeOf(const ASN1_TIME& time) {
  std::tm parts{};
  // What has been read has a time that can be read.
  ASN1_TIME_to_tm(&time, &parts);
  return std::chrono::system_clock::from_time_t(timegm(&parts));
}

std::string TakeOpensslError() {
  const auto error = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(error);
  return reason != nullptr ? reason : "it is malformed";
}

}  // namespace planwright::server
