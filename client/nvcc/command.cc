// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/nvcc/command.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/regular_file.h"
#include "client/nvcc/closure.h"
#include "client/nvcc/environment.h"

namespace cccl_cache::nvcc {

std::variant<Command, Refusal> ReadCommand(const standin::RealTool& tool, const std::string& path,
                                           const standin::Words& words) {
  // A compiler cache that was put behind this one, as in "cccl-cache-nvcc ccache nvcc".
  if (tool.name().find("nvcc") == std::string::npos) return Refusal{"it starts " + tool.name()};
  auto read = ReadStep(words, Variable("NVCC_PREPEND_FLAGS"), Variable("NVCC_APPEND_FLAGS"));
  if (auto* refusal = std::get_if<Refusal>(&read)) return std::move(*refusal);
  // The recorder takes address space in each program.
  rlimit space;
  if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur != RLIM_INFINITY) {
    return Refusal{"a limit of the address space"};
  }
  // Whether the linker would have made an executable file is not seen then.
  const mode_t mask = umask(0);
  umask(mask);
  if ((mask & S_IXUSR) != 0) return Refusal{"a umask without the right to execute"};
  if (const std::string name = UnkeptVariable(environ); !name.empty()) {
    return Refusal{"the variable " + name};
  }
  Command command;
  command.step = std::get<Step>(std::move(read));
  for (const Output& output : command.step.outputs) {
    // /dev/stdout may lead to a regular file, and a replay would replace that link.
    if (IsOfKernel(output.path) || !TakesFile(output.path)) return Refusal{"output " + output.path};
  }
  char* const directory = getcwd(nullptr, 0);
  if (directory == nullptr) return Refusal{"no working directory"};
  command.directory = directory;
  free(directory);
  const std::string variables = ReadVariables(environ, command.directory);
  command.fresh = FreshDirectoryOf(words, command.step, command.directory);
  const auto needs_name = [&command](std::string_view text) {
    return command.fresh && command.fresh->IsIn(text);
  };
  if (needs_name(variables) || needs_name(path)) command.fresh.reset();
  const auto hidden = [](const std::optional<standin::FreshDirectory>& fresh,
                         const std::string& text) {
    // FreshDirectoryOf() has seen that the words and the directory can be hidden.
    return fresh ? fresh->Hide(text).value_or(text) : text;
  };
  Hasher kind;
  kind.AppendValue("path", path);
  kind.AppendValue("directory", hidden(command.fresh, command.directory));
  for (const std::string& word : words) kind.AppendValue("word", hidden(command.fresh, word));
  command.memory_kind.kind = kind.Finish().View();
  std::vector<Digest> sources;
  for (const std::string& source : command.step.sources) {
    const auto text = ReadRegular(source);
    struct stat status;
    if (!text || stat(source.c_str(), &status) != 0) return Refusal{"source " + source};
    if (needs_name(*text)) command.fresh.reset();
    if (command.fresh) command.fresh->HashTime(status.st_mtim.tv_sec, command.directory);
    sources.push_back(Sha256(*text));
    command.sources.emplace(command.Absolute(source), sources.back());
  }
  const auto stamp = tool.Look();
  const auto identity = stamp ? tool.Identify(*stamp) : std::nullopt;
  if (!identity) return Refusal{"nvcc is no program"};
  const auto digest = [&](const std::optional<standin::FreshDirectory>& fresh) {
    Hasher hasher;
    for (const Digest& source : sources) hasher.AppendValue("source", source.View());
    hasher.AppendValue("path", path);
    hasher.AppendValue("tool", *identity);
    for (const std::string& word : words) hasher.AppendValue("word", hidden(fresh, word));
    hasher.AppendValue("fresh", fresh ? fresh->placeholder() : "");
    hasher.AppendValue("read words", command.step.read_words);
    hasher.AppendValue("variables", variables);
    hasher.AppendValue("directory", hidden(fresh, command.directory));
    return hasher.Finish();
  };
  command.digest = digest(command.fresh);
  command.own_digest = digest(std::nullopt);
  return command;
}

}  // namespace cccl_cache::nvcc
