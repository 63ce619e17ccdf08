// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "cccl_cache/lease.h"
#include "client/nvcc/command_line.h"
#include "client/standin/fresh_directory.h"
#include "client/standin/real_tool.h"
#include "client/standin/run_memory.h"
#include "proto/digest.h"

namespace cccl_cache::nvcc {

/// A run that may be served.
struct Command {
  Step step;
  /// Digest of all that decides the run and is known before it: nvcc, the words, the environment,
  /// the working directory and the sources.
  Digest digest;
  Digest own_digest;      ///< the same with the name of `fresh` in it
  std::string directory;  ///< the working directory
  /// The directory of the source, whose name is hidden in `digest`.
  std::optional<standin::FreshDirectory> fresh;
  std::map<std::string, Digest> sources;  ///< by absolute name
  /// Runs of one command line need about the same memory, also after an edit of the source.
  MemoryKind memory_kind{.tool = "cccl-cache-nvcc", .kind = {}};

  /// Returns the key of one of the results of a group, or of this user if `group` is empty. The
  /// command and the number must outlive it.
  [[nodiscard]] DepositKey Key(const std::string& group, const uint8_t& number) const {
    return {.name_space = "cccl.nvcc",
            .fields = {{"format", "2"},
                       {"command", digest.View()},
                       {"number", {reinterpret_cast<const char*>(&number), sizeof(number)}}},
            .group = group};
  }
  /// Returns the name of the fact that an equal run succeeded and was not kept.
  [[nodiscard]] std::string UnkeptFact() const { return "unkept-" + digest.Hex(); }
  [[nodiscard]] std::string Absolute(const std::string& path) const {
    return path[0] == '/' ? path : directory + "/" + path;
  }
  [[nodiscard]] std::string Source() const { return Absolute(step.sources[0]); }
};

/// Reads what decides the run. Returns the refusal if the run is left to nvcc.
[[nodiscard]] std::variant<Command, Refusal> ReadCommand(const standin::RealTool& tool,
                                                         const std::string& path,
                                                         const standin::Words& words);

}  // namespace cccl_cache::nvcc
