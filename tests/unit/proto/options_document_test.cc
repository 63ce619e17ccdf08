// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "proto/options/options.h"

namespace cccl_cache::options_document_test {
namespace {

std::string Spellings(const OptionRule& rule) {
  const std::string_view value = rule.value == OptionValue::kRequired   ? "=V"
                                 : rule.value == OptionValue::kOptional ? "[=V]"
                                                                        : "";
  std::string text;
  std::string joined;
  for (const std::string_view spelling : rule.spellings) {
    text.append(text.empty() ? "`" : ", `").append(spelling).append(value).append("`");
    if (rule.joined && spelling.size() == 2) joined.append("; `").append(spelling).append("V`");
  }
  if (rule.separate) text += "; V may be the next argument";
  return text + joined;
}

std::string Effect(const OptionRule& rule) {
  if (rule.effect == OptionEffect::kRefused) return "**refused**: " + std::string(rule.reason);
  if (rule.effect == OptionEffect::kUncacheable) return "uncacheable: " + std::string(rule.reason);
  if (rule.effect == OptionEffect::kNone) return "none: " + std::string(rule.reason);
  std::string text = "key";
  if (rule.names_directory) text += ": a root";
  if (rule.names_scratch) text += ", without the value";
  if (rule.names_file) text += ", names a file";
  if (rule.shows_paths) text += ", shows paths";
  if (rule.receiver != OptionReceiver::kCompiler) text += ", looked into";
  return text;
}

std::vector<std::string> RowsOfTable(BuildKind kind) {
  std::vector<std::string> rows;
  for (const OptionRule& rule : OptionRules(kind)) {
    const std::string_view meaning = rule.meaning.substr(0, rule.meaning.rfind('.'));
    rows.push_back("| " + Spellings(rule) + " | " + std::string(meaning) + " | " + Effect(rule) +
                   " |");
  }
  return rows;
}

/// Returns the rows of the table under this heading of docs/options.md.
std::vector<std::string> RowsOfDocument(const std::string& heading) {
  std::ifstream document(CCCL_CACHED_OPTIONS_DOCUMENT);
  std::vector<std::string> rows;
  bool inside = false;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("## ")) inside = line == "## " + heading;
    if (inside && line.starts_with("| `")) rows.push_back(line);
  }
  return rows;
}

TEST_CASE("docs/options.md has the tables of the option rules, row for row") {
  CHECK(RowsOfDocument("NVRTC") == RowsOfTable(BuildKind::kNvrtc));
  CHECK(RowsOfDocument("nvJitLink") == RowsOfTable(BuildKind::kLink));
  CHECK(RowsOfDocument("libNVVM") == RowsOfTable(BuildKind::kNvvm));
}

}  // namespace
}  // namespace cccl_cache::options_document_test
