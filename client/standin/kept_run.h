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

/// The stored output of a successful run of a tool. It is encoded as:
///   contents = text(object) text(out) text(err)
/// In `out` and `err`, a NUL is the placeholder for the input's name in the tool's messages of the
/// form "TOOL NAME, line".
struct KeptRun {
  std::string_view object;  ///< contents of the output file; a view into the caller's memory
  std::string out;
  std::string err;

  /// Encodes a run. Returns none if its logs can't be reused for an input with another name: the
  /// name also occurs outside of the tool's messages, or both logs have text, whose common order is
  /// unknown.
  [[nodiscard]] static std::optional<std::string> Encode(KeptRun run, const Assembly& assembly);
  [[nodiscard]] static std::optional<KeptRun> Decode(std::string_view contents,
                                                     const Assembly& assembly);
};

/// Returns the cache key of a run. The values of its fields are views into the arguments, which
/// must outlive the key.
[[nodiscard]] DepositKey KeyOf(const Tool& tool, const std::string& identity,
                               const Assembly& assembly, const Digest& input,
                               const std::string& environment, const std::string& place);

/// Asks the daemon for the stored run. Returns the run, or a lease to produce it, or the reason why
/// the daemon gives neither. If another process is producing it, waits for up to RunWait(), or two
/// minutes if that is not set. If the daemon hangs, one run of this user waits for 1 s in each 30
/// s, and the others do not wait.
[[nodiscard]] std::variant<Acquired, interpose::Reason> Ask(Client* client, const DepositKey& key,
                                                            const UserCache& facts);

}  // namespace cccl_cache::standin
