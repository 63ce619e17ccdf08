// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/host_compile.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace cccl_cache::standin {
namespace {

constexpr std::string_view kCompiler = "/cc1plus";
constexpr std::string_view kAssembler = "as";

/// Returns the words with `stage` in place of "-c", and without the output file.
Words Until(std::string_view stage, const Words& words) {
  Words others;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "-o") {
      ++i;
    } else {
      others.emplace_back(words[i] == "-c" ? stage : words[i]);
    }
  }
  return others;
}

}  // namespace

std::optional<DriverPlan> PlanOf(const RealTool& driver, const Words& words) {
  Words asking = Until("-c", words);
  // "-pipe" lets the driver use no temporary file, whose name would be random.
  asking.insert(asking.begin() + 1, {"-###", "-pipe"});
  auto ending = driver.Read(asking);
  if (!ending || ending->status != 0) return std::nullopt;
  DriverPlan plan{.commands = std::move(ending->err), .programs = {}};
  std::string_view rest = plan.commands;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.starts_with(' ')) continue;  // only commands are indented
    const std::string name(line.substr(1, line.find(' ', 1) - 1));
    const char* const path = getenv("PATH");
    const auto program = name.find('/') != std::string::npos
                             ? std::optional(name)
                             : FindProgram(path == nullptr ? "" : path, name);
    if (!program) return std::nullopt;
    plan.programs.push_back(*program);
  }
  // Clang's driver prints one quoted command, of a compiler that is mostly in shared libraries.
  const bool knows = plan.programs.size() == 2 && plan.programs[0].ends_with(kCompiler) &&
                     plan.programs[1].ends_with(kAssembler);
  if (!knows) return std::nullopt;
  return plan;
}

std::optional<std::string> Preprocess(const RealTool& driver, const Words& words) {
  auto ending = driver.Read(Until("-E", words));
  if (!ending || ending->status != 0) return std::nullopt;
  if (ending->out.find(".incbin") != std::string::npos) return std::nullopt;
  return std::move(ending->out);
}

}  // namespace cccl_cache::standin
