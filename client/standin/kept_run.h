// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/files/user_cache.h"
#include "cccl_cache/client.h"
#include "client/interpose/report.h"
#include "client/standin/command_line.h"
#include "proto/digest.h"

namespace cccl_cache::standin {

/// The output of a successful run.
///   contents = text(object) text(out) text(err)
/// In `out` and `err` a NUL replaces the input's name where the tool prints "TOOL NAME, line".
struct KeptRun {
  std::string_view object;  ///< contents of the output file; a view
  std::string out;
  std::string err;

  /// Returns none if the logs can't be replayed for another input's name: the name occurs
  /// elsewhere, or both logs have text and their order is unknown.
  [[nodiscard]] static std::optional<std::string> Encode(KeptRun run, const Assembly& assembly);
  [[nodiscard]] static std::optional<KeptRun> Decode(std::string_view contents,
                                                     const Assembly& assembly);
};

/// Returns the key of a run. The fields' values are views into the arguments.
[[nodiscard]] DepositKey KeyOf(const Tool& tool, const std::string& identity,
                               const Assembly& assembly, const Digest& input,
                               const std::string& environment, const std::string& place);

/// Returns the kept run, or the lease to make it, or why the daemon gives neither. Waits for
/// another process's run for up to RunWait(), or about two minutes. If the daemon hangs, one of
/// this user's runs waits 1 s in every half minute; the others do not wait.
[[nodiscard]] std::variant<Acquired, interpose::Reason> Ask(Client* client, const DepositKey& key,
                                                            const UserCache& facts);

}  // namespace cccl_cache::standin
