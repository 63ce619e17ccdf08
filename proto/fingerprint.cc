// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/fingerprint.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "proto/header_set.h"

namespace cccl_cache {
namespace {

// The hashed bytes. A value is written as the length of its tag (1 byte), the tag, the length of
// the value (8 bytes, little endian) and the value. A number is a value of 8 bytes, little endian.
// Below, "tag" stands for a value with that tag, and n*x[tag] for the number n with that tag and
// then n times x.
//
// clang-format off
//   fingerprint = "layout" "kind" "toolchain" program
//   program     = nvrtc | link | nvvm
//
//   nvrtc       = text n*root[roots] "working-directory-known" "path-dependent" [paths]
//   text        = "source" base-name n*option[options] n*expression[expressions]
//                 ["header-set"] n*header[headers]
//                                      the set: the SHA-256 of the message HeaderSet that the
//                                      request names, or of all headers if they are one by size
//   base-name   = "name"               what follows the last '/'; "default_program" for none
//   option      = "option"             the canonical argument, in the request's order; of an
//                                      option that names a scratch directory, the name alone
//               | "option-directory"   the canonical name alone: the place of a root
//   expression  = "expression"         sorted, without duplicates
//   header      = "header-name" "header-contents"
//                                      sorted by name; of one name, in the request's order
//   root        = "toolchain-root"     the place in the toolchain
//               | "outside-root"       empty
//               | "nowhere-root"       empty: a relative name without a working directory
//   paths       = "program-path" *"root-as-named" n*"root-path"[root-paths] "working-directory"
//                                      only if path-dependent = 1
//
//   link        = n*input[inputs] n*option[options]
//   input       = "type" "input-name" "contents"
//
//   nvvm        = n*module[modules] "libdevice" n*option[options]
//   module      = "lazy" "module-name" "contents"
//
//   with-twins  = "fingerprint" *"root"
//                                      for each root the place of the first one that is the same
//                                      directory; the fingerprint itself if all differ
//   key         = "layout" "fingerprint" n*record[closure]
//   record      = "root" "name" "kind" ["digest" "same-as"]
//                                      the last two unless absent (kind 0)
//   seed        = "layout" text        without -frandom-seed among the options
// clang-format on

std::string_view BaseName(std::string_view name) {
  if (name.empty()) return "default_program";
  const size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

void HashOptions(Hasher& hasher, const std::vector<const ParsedOption*>& options) {
  hasher.AppendValue("options", options.size());
  for (const ParsedOption* option : options) {
    if (option->rule != nullptr && option->rule->names_directory) {
      hasher.AppendValue("option-directory", option->rule->name);
    } else if (option->rule != nullptr && option->rule->names_scratch) {
      hasher.AppendValue("option", option->rule->name);
    } else {
      hasher.AppendValue("option", option->canonical);
    }
  }
}

std::vector<const ParsedOption*> AllOf(const std::vector<ParsedOption>& options) {
  std::vector<const ParsedOption*> all;
  all.reserve(options.size());
  for (const ParsedOption& option : options) all.push_back(&option);
  return all;
}

void HashExpressions(Hasher& hasher, const NvrtcProgram& program) {
  std::vector<std::string_view> expressions(program.name_expressions.begin(),
                                            program.name_expressions.end());
  std::sort(expressions.begin(), expressions.end());
  expressions.erase(std::unique(expressions.begin(), expressions.end()), expressions.end());
  hasher.AppendValue("expressions", expressions.size());
  for (std::string_view expression : expressions) hasher.AppendValue("expression", expression);
}

/// Returns the digest of the program's header set. Headers sent inline have the same digest as the
/// set that a client makes of them.
std::optional<Digest> HeaderSetOf(const NvrtcProgram& program) {
  if (program.header_set != nullptr) return program.header_set->digest;
  std::vector<HeaderText> headers;
  size_t bytes = 0;
  for (const InlineHeader& header : program.headers) {
    headers.push_back({header.name, header.contents});
    bytes += header.contents.size();
  }
  if (bytes < kHeaderSetBytes) return std::nullopt;
  return EncodedHeaderSet(std::move(headers)).Sha256();
}

void HashHeaders(Hasher& hasher, const NvrtcProgram& program) {
  std::vector<const InlineHeader*> headers;
  const std::optional<Digest> set = HeaderSetOf(program);
  if (set) hasher.AppendValue("header-set", set->View());
  if (!set || program.header_set != nullptr) {
    for (const InlineHeader& header : program.headers) headers.push_back(&header);
  }
  std::stable_sort(headers.begin(), headers.end(),
                   [](const InlineHeader* a, const InlineHeader* b) { return a->name < b->name; });
  hasher.AppendValue("headers", headers.size());
  for (const InlineHeader* header : headers) {
    hasher.AppendValue("header-name", header->name);
    hasher.AppendValue("header-contents", header->contents);
  }
}

/// Hashes the parts of a program that enter both its fingerprint and its random seed.
void HashProgram(Hasher& hasher, const NvrtcProgram& program,
                 const std::vector<const ParsedOption*>& options) {
  hasher.AppendValue("source", program.source);
  hasher.AppendValue("name", BaseName(program.name));
  HashOptions(hasher, options);
  HashExpressions(hasher, program);
  HashHeaders(hasher, program);
}

void HashRoots(Hasher& hasher, const std::vector<FingerprintRoot>& roots) {
  hasher.AppendValue("roots", roots.size());
  for (const FingerprintRoot& root : roots) {
    if (!root.toolchain_directory.empty()) {
      hasher.AppendValue("toolchain-root", root.toolchain_directory);
    } else {
      hasher.AppendValue(root.path.empty() ? "nowhere-root" : "outside-root", "");
    }
  }
}

void HashNvrtc(Hasher& hasher, const FingerprintInput& input, const NvrtcProgram& program) {
  HashProgram(hasher, program, AllOf(input.options));
  HashRoots(hasher, input.roots);
  // Without a working directory, relative names of files can't be found.
  hasher.AppendValue("working-directory-known", input.request.working_directory.empty() ? 0 : 1);
  hasher.AppendValue("path-dependent", input.path_dependent ? 1 : 0);
  if (!input.path_dependent) return;
  hasher.AppendValue("program-path", program.name);
  for (const ParsedOption& option : input.options) {
    const bool root = option.rule != nullptr && option.rule->names_directory;
    if (root) hasher.AppendValue("root-as-named", option.value);
  }
  hasher.AppendValue("root-paths", input.roots.size());
  for (const FingerprintRoot& root : input.roots) hasher.AppendValue("root-path", root.path);
  hasher.AppendValue("working-directory", input.request.working_directory);
}

void HashLink(Hasher& hasher, const FingerprintInput& input, const LinkProgram& program) {
  hasher.AppendValue("inputs", program.inputs.size());
  for (const LinkInput& link_input : program.inputs) {
    hasher.AppendValue("type", static_cast<uint64_t>(link_input.type));
    hasher.AppendValue("input-name", link_input.name);
    hasher.AppendValue("contents", link_input.contents);
  }
  HashOptions(hasher, AllOf(input.options));
}

void HashNvvm(Hasher& hasher, const FingerprintInput& input, const NvvmProgram& program) {
  hasher.AppendValue("modules", program.modules.size());
  for (const NvvmModule& module : program.modules) {
    hasher.AppendValue("lazy", module.lazy ? 1 : 0);
    hasher.AppendValue("module-name", module.name);
    hasher.AppendValue("contents", module.contents);
  }
  hasher.AppendValue("libdevice", program.add_libdevice ? 1 : 0);
  HashOptions(hasher, AllOf(input.options));
}

}  // namespace

Digest Fingerprint(const FingerprintInput& input) {
  Hasher hasher;
  hasher.AppendValue("layout", kFingerprintLayout);
  hasher.AppendValue("kind", static_cast<uint64_t>(input.request.kind()));
  hasher.AppendValue("toolchain", input.toolchain.View());
  if (const auto* nvrtc = std::get_if<NvrtcProgram>(&input.request.program)) {
    HashNvrtc(hasher, input, *nvrtc);
  } else if (const auto* link = std::get_if<LinkProgram>(&input.request.program)) {
    HashLink(hasher, input, *link);
  } else {
    HashNvvm(hasher, input, std::get<NvvmProgram>(input.request.program));
  }
  return hasher.Finish();
}

Digest FingerprintWithTwins(const Digest& fingerprint, const std::vector<size_t>& first_same) {
  Hasher hasher;
  hasher.AppendValue("fingerprint", fingerprint.View());
  for (const size_t place : first_same) hasher.AppendValue("root", place);
  return hasher.Finish();
}

Digest KeyWithoutClosure(const Digest& fingerprint) {
  Hasher hasher;
  hasher.AppendValue("layout", kFingerprintLayout);
  hasher.AppendValue("fingerprint", fingerprint.View());
  hasher.AppendValue("closure", uint64_t{0});
  return hasher.Finish();
}

Digest KeyWithClosure(const Digest& fingerprint, const std::vector<ClosureRecord>& records) {
  Hasher hasher;
  hasher.AppendValue("layout", kFingerprintLayout);
  hasher.AppendValue("fingerprint", fingerprint.View());
  hasher.AppendValue("closure", records.size());
  for (const ClosureRecord& record : records) {
    hasher.AppendValue("root", record.root);
    hasher.AppendValue("name", record.name);
    hasher.AppendValue("kind", record.kind);
    if (record.kind == 0) continue;
    hasher.AppendValue("digest", record.digest.View());
    hasher.AppendValue("same-as", record.same_as);
  }
  return hasher.Finish();
}

std::string RandomSeed(const NvrtcProgram& program, const std::vector<ParsedOption>& options) {
  std::vector<const ParsedOption*> seeded;
  for (const ParsedOption& option : options) {
    const bool is_seed = option.rule != nullptr && option.rule->name == "-frandom-seed";
    if (!is_seed) seeded.push_back(&option);
  }
  Hasher hasher;
  hasher.AppendValue("layout", kFingerprintLayout);
  HashProgram(hasher, program, seeded);
  return hasher.Finish().Hex().substr(0, 16);
}

}  // namespace cccl_cache
