// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/files/user_cache.h"
#include "cccl_cache/client.h"
#include "client/interpose/report.h"
#include "client/standin/command_line.h"

namespace cccl_cache::standin {

/// The stored output of a successful run of a tool. It is encoded as:
///   contents = text(file)... text(out) text(err) text(missing)
/// with one text for each output file, in the order of ToolRun::outputs. Placeholders replace the
/// name of nvcc's temporary files (TemporaryName) and that of a fresh directory. `missing` has the
/// names of files whose times would be in the output, each with a NUL behind it. In `out` and
/// `err`, a NUL is the placeholder for the input's name in the tool's messages of the form "TOOL
/// NAME, line".
struct KeptRun {
  std::vector<std::string> files;  ///< contents of the output files
  std::string out;
  std::string err;

  /// Encodes a run. Returns none if its output can't be reused for files with other names: a name
  /// that is not part of the key also occurs outside of the tool's messages, a placeholder is in
  /// the output, or both logs have text, whose common order is unknown.
  [[nodiscard]] static std::optional<std::string> Encode(KeptRun kept, const ToolRun& run);
  [[nodiscard]] static std::optional<KeptRun> Decode(std::string_view contents, const ToolRun& run);
};

/// Returns the cache key of a run. `inputs` has the SHA-256 of each input, with the placeholder for
/// temporary names. The values of the key's fields are views into the arguments, which must outlive
/// the key.
[[nodiscard]] DepositKey KeyOf(const std::string& identity, const ToolRun& run,
                               const std::string& inputs, const std::string& environment,
                               const std::string& place);

/// Publishes the stored form of a run. If this process has no lease, because another process failed
/// or the user has too many, asks for it once more. The result is lost if that fails. Returns an
/// error if the daemon refuses the result.
Expected<Done> Publish(Client* client, const DepositKey& key, Lease* lease,
                       std::string_view contents);

/// Asks the daemon for the stored run. Returns the run, or a lease to produce it, or the reason why
/// the daemon gives neither. If another process is producing it, waits for up to `most`, or two
/// minutes without it. If the daemon hangs, one run of this user waits for 1 s in each 30 s, and
/// the others do not wait. The lease is not held if the user has too many leases, or if the process
/// that had it failed.
[[nodiscard]] std::variant<Acquired, interpose::Reason> Ask(
    Client* client, const DepositKey& key, const UserCache& facts,
    std::optional<std::chrono::milliseconds> most);

}  // namespace cccl_cache::standin
