// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/breakdown.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <set>
#include <string>

namespace cccl_cache::daemon::breakdown_test {
namespace {

using std::chrono::microseconds;
using namespace std::chrono_literals;

Peer User(uid_t uid) {
  Peer peer;
  peer.uid = uid;
  return peer;
}

Result<BuildAnswer> Answered(Outcome outcome, microseconds compiled, microseconds saved = 0us) {
  BuildAnswer answer;
  answer.outcome = outcome;
  answer.toolchain_version = "13.0";
  answer.toolchain_id = Sha256("toolchain");
  answer.compile_time = compiled;
  answer.saved_time = saved;
  return answer;
}

void Add(BuildBreakdown& breakdown, uid_t uid, const Result<BuildAnswer>& answer,
         microseconds total = 1ms) {
  breakdown.Add({User(uid), BuildKind::kNvrtc, total, answer});
}

void AddDeposit(BuildBreakdown& breakdown, uid_t uid, std::string_view name_space, DepositUse use) {
  breakdown.Add({.account = Account(uid),
                 .name_space = name_space,
                 .use = use,
                 .bytes = 10,
                 .saved = use == DepositUse::kMade ? 0s : 2s});
}

std::map<std::string, double> Taken(const BuildBreakdown& breakdown,
                                    std::optional<Account> only = std::nullopt) {
  std::map<std::string, double> taken;
  for (const LabelledStatistic& each : breakdown.Take(only)) {
    CHECK(taken.emplace(each.name + "{" + each.labels + "}", each.value).second);
  }
  return taken;
}

const std::string kToolchain =
    "kind=\"nvrtc\",toolchain=\"13.0 " + Sha256("toolchain").Hex().substr(0, 8) + "\"";

TEST_CASE("builds count for their user, and for their kind and toolchain") {
  BuildBreakdown breakdown;
  Add(breakdown, 7, Answered(Outcome::kBuilt, 2s));
  Add(breakdown, 7, Answered(Outcome::kHit, 0s, 2s));
  Add(breakdown, 8, Answered(Outcome::kJoined, 2s, 2s));
  const auto taken = Taken(breakdown);
  CHECK(taken.at("builds_by_user_total{user=\"7\",outcome=\"built\"}") == 1);
  CHECK(taken.at("builds_by_user_total{user=\"7\",outcome=\"hit\"}") == 1);
  CHECK(taken.at("builds_by_user_total{user=\"8\",outcome=\"joined\"}") == 1);
  CHECK(taken.at("compile_seconds_by_user_total{user=\"7\"}") == 2);
  CHECK(taken.at("compile_seconds_by_user_total{user=\"8\"}") == 0);
  CHECK(taken.at("saved_seconds_by_user_total{user=\"8\"}") == 2);
  CHECK(taken.at("builds_by_toolchain_total{" + kToolchain + ",outcome=\"hit\"}") == 1);
  CHECK(taken.at("saved_seconds_by_toolchain_total{" + kToolchain + "}") == 4);
  CHECK(taken.at("compile_duration_seconds_sum{" + kToolchain + "}") == 2);
}

TEST_CASE("a hit of unknown compile time saves nothing and is counted separately") {
  BuildBreakdown breakdown;
  Add(breakdown, 7, Answered(Outcome::kHit, 0s));
  Add(breakdown, 7, Answered(Outcome::kHit, 0s, 2s));
  Add(breakdown, 7, Answered(Outcome::kBuilt, 2s));
  const auto taken = Taken(breakdown);
  CHECK(taken.at("saved_unknown_by_user_total{user=\"7\"}") == 1);
  CHECK(taken.at("saved_unknown_by_toolchain_total{" + kToolchain + "}") == 1);
  CHECK(taken.at("saved_seconds_by_user_total{user=\"7\"}") == 2);
}

TEST_CASE("a deposit counts for its user even if the user has no builds") {
  BuildBreakdown breakdown;
  AddDeposit(breakdown, 7, "a", DepositUse::kFound);
  AddDeposit(breakdown, 7, "a", DepositUse::kFound);
  AddDeposit(breakdown, 7, "a", DepositUse::kMade);
  AddDeposit(breakdown, 8, "a", DepositUse::kJoined);
  const auto taken = Taken(breakdown, Account(7));
  CHECK(taken.at("deposits_by_user_total{user=\"7\",outcome=\"hit\"}") == 2);
  CHECK(taken.at("deposits_by_user_total{user=\"7\",outcome=\"built\"}") == 1);
  CHECK(taken.count("deposits_by_user_total{user=\"8\",outcome=\"joined\"}") == 0);
}

TEST_CASE("administrators see the namespaces of all users, others only their own") {
  BuildBreakdown breakdown;
  AddDeposit(breakdown, 7, "shared", DepositUse::kMade);
  AddDeposit(breakdown, 8, "shared", DepositUse::kFound);
  AddDeposit(breakdown, 8, "secret", DepositUse::kFound);
  const auto all = Taken(breakdown);
  CHECK(all.at("deposits_by_namespace_total{namespace=\"shared\",outcome=\"built\"}") == 1);
  CHECK(all.at("deposits_by_namespace_total{namespace=\"shared\",outcome=\"hit\"}") == 1);
  CHECK(all.at("deposit_bytes_by_namespace_total{namespace=\"secret\",direction=\"read\"}") == 10);
  CHECK(all.at("deposit_saved_seconds_by_namespace_total{namespace=\"secret\"}") == 2);
  const auto own = Taken(breakdown, Account(7));
  CHECK(own.at("deposits_by_namespace_total{namespace=\"shared\",outcome=\"hit\"}") == 0);
  for (const auto& [name, value] : own) CHECK(name.find("secret") == std::string::npos);
  CHECK(breakdown.Namespaces(Account(7)).rows().size() == 1);
  CHECK(breakdown.Namespaces(Account(9)).rows().empty());
  CHECK(breakdown.Namespaces(std::nullopt).rows().size() == 2);
  breakdown.Clear();
  CHECK(breakdown.Namespaces(std::nullopt).rows().empty());
}

TEST_CASE("a client that changes its namespace makes no more series than there are rows") {
  BuildBreakdown breakdown;
  AddDeposit(breakdown, 7, "first", DepositUse::kMade);
  std::set<std::string> series;
  for (int i = 0; i < 200; ++i) {
    AddDeposit(breakdown, 7, "n" + std::to_string(i), DepositUse::kMade);
    for (const auto& [name, value] : Taken(breakdown)) {
      if (name.starts_with("deposit_saved_seconds_by_namespace_total")) series.insert(name);
    }
  }
  CHECK(series.size() == NamespaceCounts::kMaxNamespaces + 1);
  CHECK(Taken(breakdown).at("deposits_by_namespace_total{namespace=\"first\",outcome=\"built\"}") ==
        1);
}

TEST_CASE("a user of a container sees no namespaces, not even its own") {
  BuildBreakdown breakdown;
  AddDeposit(breakdown, kFirstContainerUser, "a", DepositUse::kMade);
  CHECK(breakdown.Namespaces(Account(kFirstContainerUser)).rows().empty());
  CHECK(breakdown.Namespaces(std::nullopt).rows().size() == 1);
}

TEST_CASE("a user that is no administrator sees no other user's statistics") {
  BuildBreakdown breakdown;
  Add(breakdown, 7, Answered(Outcome::kBuilt, 2s));
  Add(breakdown, 8, Answered(Outcome::kBuilt, 2s));
  const auto taken = Taken(breakdown, Account(8));
  CHECK(taken.count("builds_by_user_total{user=\"8\",outcome=\"built\"}") == 1);
  CHECK(taken.count("builds_by_user_total{user=\"7\",outcome=\"built\"}") == 0);
}

TEST_CASE("a bucket counts all durations up to its bound") {
  BuildBreakdown breakdown;
  for (const auto duration : {90us, 100us, 101us}) {
    Add(breakdown, 7, Answered(Outcome::kHit, 0s), duration);
  }
  Add(breakdown, 7, Answered(Outcome::kHit, 0s), 2min);
  const auto taken = Taken(breakdown);
  CHECK(taken.at("hit_duration_seconds_bucket{le=\"0.0001\"}") == 2);
  CHECK(taken.at("hit_duration_seconds_bucket{le=\"0.00025\"}") == 3);
  CHECK(taken.at("hit_duration_seconds_bucket{le=\"60.0\"}") == 3);
  CHECK(taken.at("hit_duration_seconds_bucket{le=\"+Inf\"}") == 4);
  CHECK(taken.at("hit_duration_seconds_count{}") == 4);
}

TEST_CASE("a remembered failure counts as no compile, and a refused build as no failure") {
  BuildBreakdown breakdown;
  Result<BuildAnswer> remembered = Answered(Outcome::kFailed, 1s);
  remembered->remembered = true;
  Add(breakdown, 7, remembered);
  Add(breakdown, 7, Error{ErrorCode::kOverloaded, "full"});
  const auto taken = Taken(breakdown);
  CHECK(taken.at("compile_duration_seconds_count{" + kToolchain + "}") == 0);
  CHECK(taken.at("queue_duration_seconds_count{}") == 0);
  CHECK(taken.at("builds_by_user_total{user=\"7\",outcome=\"failed\"}") == 1);
  CHECK(taken.at("builds_by_user_total{user=\"7\",outcome=\"error\"}") == 1);
}

TEST_CASE("users beyond the limit share a row that only administrators see") {
  BuildBreakdown breakdown;
  for (uid_t uid = 1000; uid < 4000; ++uid) Add(breakdown, uid, Answered(Outcome::kHit, 0s));
  const auto taken = Taken(breakdown);
  CHECK(taken.at("builds_by_user_total{user=\"1000\",outcome=\"hit\"}") == 1);
  CHECK(taken.at("builds_by_user_total{user=\"others\",outcome=\"hit\"}") == 3000 - 1024);
  // A user learns nothing of other users' totals, even beyond the limit or without a name.
  for (const Account& user : {Account(3999), Account::OfNameless()}) {
    CHECK(Taken(breakdown, user).count("compile_seconds_by_user_total{user=\"others\"}") == 0);
  }
}

TEST_CASE("all containers share a row that no container sees") {
  BuildBreakdown breakdown;
  for (uid_t i = 0; i < 2000; ++i) {
    Add(breakdown, kFirstContainerUser + i, Answered(Outcome::kHit, 0s));
  }
  Add(breakdown, 7, Answered(Outcome::kHit, 0s));
  const auto taken = Taken(breakdown);
  CHECK(taken.at("builds_by_user_total{user=\"containers\",outcome=\"hit\"}") == 2000);
  CHECK(taken.at("builds_by_user_total{user=\"7\",outcome=\"hit\"}") == 1);
  for (const Account& container : {Account(kFirstContainerUser), Account::OfUntoldContainers()}) {
    CHECK(Taken(breakdown, container).count("compile_seconds_by_user_total{user=\"containers\"}") ==
          0);
  }
}

TEST_CASE("Clear removes all counts") {
  BuildBreakdown breakdown;
  Add(breakdown, 7, Answered(Outcome::kBuilt, 2s));
  breakdown.Clear();
  const auto taken = Taken(breakdown);
  CHECK(taken.count("builds_by_user_total{user=\"7\",outcome=\"built\"}") == 0);
  CHECK(taken.at("hit_duration_seconds_count{}") == 0);
}

TEST_CASE("only the first statistic of a name has a help text") {
  BuildBreakdown breakdown;
  Add(breakdown, 7, Answered(Outcome::kBuilt, 2s));
  Add(breakdown, 8, Answered(Outcome::kBuilt, 2s));
  int with_help = 0;
  for (const LabelledStatistic& each : breakdown.Take(std::nullopt)) {
    if (each.name == "compile_seconds_by_user_total" && !each.help.empty()) ++with_help;
  }
  CHECK(with_help == 1);
}

}  // namespace
}  // namespace cccl_cache::daemon::breakdown_test
