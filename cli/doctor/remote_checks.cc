// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>

#include "cli/doctor/check.h"
#include "cli/terminal/quantities.h"

namespace cccl_cache::cli {
namespace {

// In seconds. A node refuses an entry whose signature is more than 600 s in the future. The errors
// of two nodes' clocks can add up, so each clock may be wrong by half of that.
constexpr double kMaxClockDifference = 300;

Check CheckConnection(const Statistics& stats) {
  Check check{"redis", CheckVerdict::kPass, "connected to " + stats.remote.address};
  const double nodes = stats.Sum("remote_nodes");
  if (stats.remote.problem.empty()) {
    if (nodes > 1) check.seen += ", all " + Count(nodes) + " nodes";
    return check;
  }
  if (stats.Sum("remote_connected") != 0) {
    check.verdict = CheckVerdict::kWarning;
    check.seen = Count(stats.Sum("remote_nodes_connected")) + " of " + Count(nodes) +
                 " nodes connected to " + stats.remote.address + "; " + stats.remote.problem;
    check.way_out =
        "follow this advice, or take the server out of remote_url on all nodes; meanwhile this "
        "node "
        "compiles the entries there";
    return check;
  }
  check.verdict = CheckVerdict::kFailure;
  check.seen = "not connected to " + stats.remote.address + ": " + stats.remote.problem;
  check.way_out = "follow this advice; meanwhile this node compiles the entries that it lacks";
  return check;
}

Check CheckRedisClock(const Statistics& stats) {
  Check check{"redis clock", CheckVerdict::kSkipped};
  const bool connected = stats.Sum("remote_connected") != 0 || stats.remote.problem.empty();
  if (!connected || !stats.Has("remote_clock_ahead_seconds")) {
    check.seen = connected ? "not known yet: run doctor again; if it stays so, the user in Redis "
                             "lacks the right +time"
                           : "not connected";
    return check;
  }
  const double ahead = stats.Sum("remote_clock_ahead_seconds");
  const std::string difference = Number(std::round(std::abs(ahead))) + " s";
  check.seen = "this node's clock is " + difference + (ahead < 0 ? " behind" : " ahead of") +
               " that of Redis";
  check.verdict = CheckVerdict::kPass;
  if (std::abs(ahead) <= kMaxClockDifference) return check;
  check.verdict = CheckVerdict::kWarning;
  check.way_out =
      "set the clocks of all nodes by NTP: entries that are signed 600 s in the future count as "
      "missing";
  return check;
}

Check CheckRedisKeys(const Statistics& stats) {
  const bool signs = stats.Sum("remote_signs") != 0;
  const double trusted = stats.Sum("remote_trusted_keys");
  Check check{"redis keys", CheckVerdict::kPass,
              std::string(signs ? "signs" : "has no key, so it only reads") + "; takes what " +
                  Count(trusted) + (trusted == 1 ? " key" : " keys") + " signed"};
  if (trusted == 0) {
    check.verdict = CheckVerdict::kWarning;
    check.way_out =
        "name the public keys of the nodes in a file of remote_trust (cccl-cache-cli remote "
        "trust), and reload the daemon, whose log names the problem of such a file";
  } else if (signs && stats.Sum("remote_own_key_trusted") == 0) {
    check.verdict = CheckVerdict::kWarning;
    check.seen += ", its own not among them";
    check.way_out =
        "add this node's public key to the lists of all nodes, its own included: cccl-cache-cli "
        "remote trust; then reload the daemons";
  }
  return check;
}

Check CheckShelves(const Statistics& stats) {
  const double problems = stats.Sum("shelf_problems");
  Check check{"shelves", CheckVerdict::kPass,
              "snapshots: " + Count(stats.Sum("shelf_snapshots")) +
                  ", entries: " + Count(stats.Sum("shelf_entries"))};
  const bool empty = stats.Sum("shelf_snapshots") == 0;
  const double silent = stats.Sum("shelf_silent");
  if (problems == 0 && silent == 0 && !empty) return check;
  check.verdict = CheckVerdict::kWarning;
  if (problems > 0) {
    check.seen += ", unusable: " + Count(problems);
    check.way_out =
        "the daemon's log names each file and says why; mostly the key that signed it is not in a "
        "file of remote_trust, or it was changed after cccl-cache-cli snapshot sign";
  }
  if (silent > 0) {
    check.seen +=
        ", silent: " + Count(silent) + ", for " + Duration(stats.Sum("shelf_silent_seconds"));
    check.way_out =
        "see whether the directories of shelf_path are mounted and their servers answer: the "
        "daemon's log names those that do not; builds continue without them";
  }
  if (check.way_out.empty()) {
    check.way_out =
        "put snapshots with their signatures there (cccl-cache-cli snapshot sign), and see whether "
        "the directory is mounted";
  }
  return check;
}

}  // namespace

std::vector<Check> RemoteChecks(const Patient& patient) {
  if (!patient.daemon.ok()) return {};
  const Statistics& stats = patient.daemon->stats;
  std::vector<Check> checks;
  if (!stats.remote.address.empty()) {
    checks = {CheckConnection(stats), CheckRedisClock(stats), CheckRedisKeys(stats)};
  }
  if (stats.Has("shelves")) checks.push_back(CheckShelves(stats));
  return checks;
}

}  // namespace cccl_cache::cli
