// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "client/standin/tool.h"

namespace cccl_cache::standin::tools_document_test {
namespace {

/// Adds a row with these options, which are between spaces. `end` follows each of them.
void AddRow(const std::string& tool, const std::string& kind, std::string_view options,
            const std::string& end, std::vector<std::string>* rows) {
  std::istringstream stream{std::string(options)};
  std::string cells;
  for (std::string option; stream >> option;) {
    cells.append(cells.empty() ? "`" : ", `").append(option).append(end).append("`");
  }
  if (!cells.empty()) rows->push_back("| `" + tool + "`: " + kind + " | " + cells + " |");
}

std::vector<std::string> RowsOf(const std::string& name, const Words& words) {
  const Tool& tool = *FindTool(name, words);
  std::vector<std::string> rows;
  AddRow(name, "flags", tool.flags, "", &rows);
  AddRow(name, "options that begin so", tool.prefixes, "V", &rows);
  AddRow(name, "but not so", tool.refused, "V", &rows);
  AddRow(name, "options with a value", tool.with_value, "=V", &rows);
  AddRow(name, "options whose value may be the next word", tool.with_next_word, " V", &rows);
  AddRow(name, "further files that it reads", tool.inputs, " V", &rows);
  AddRow(name, "files that it writes", tool.outputs, " V", &rows);
  AddRow(name, "a flag with which it writes the further files", tool.writing_inputs, "", &rows);
  AddRow(name, "flags with which paths are in the key", tool.showing_paths, "", &rows);
  std::string variables;
  for (const std::string_view variable : tool.variables) variables.append(variable).append(" ");
  AddRow(name, "variables in the key begin with", variables, "", &rows);
  return rows;
}

TEST_CASE("docs/options.md has the tables of the tools that are started, row for row") {
  std::vector<std::string> expected;
  const std::vector<Words> commands = {
      {"ptxas"}, {"tileiras"}, {"cudafe++"}, {"cicc"}, {"g++", "-c", "k.cudafe1.cpp"}};
  for (const Words& words : commands) {
    for (std::string& row : RowsOf(words[0], words)) expected.push_back(std::move(row));
  }
  std::ifstream document(CCCL_CACHED_OPTIONS_DOCUMENT);
  std::vector<std::string> rows;
  bool inside = false;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("## ")) inside = line == "## Tools that programs start";
    if (inside && line.starts_with("| `")) rows.push_back(line);
  }
  CHECK(rows == expected);
}

}  // namespace
}  // namespace cccl_cache::standin::tools_document_test
