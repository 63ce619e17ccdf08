// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/breakdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cccl_cache::daemon {
namespace {

// Maximum number of accounts with their own row of statistics. Builds of further accounts count in
// one common row. A row takes less than 16 KiB of memory, most of it for namespaces.
constexpr size_t kMaxAccounts = 1024;
constexpr size_t kMaxCodegens = 64;
constexpr std::string_view kOthers = "others";

constexpr std::string_view kError = "error";  // the outcome of a build that ends with an error

// Outcomes of requests for deposits.
constexpr std::string_view kDepositHit = "hit";
constexpr std::string_view kDepositJoined = "joined";
constexpr std::string_view kDepositBuilt = "built";

/// Appends the statistics of one family, which share a name. Only the first one has the help text.
class Family {
 public:
  Family(std::string_view name, std::string_view help, std::vector<LabelledStatistic>& to)
      : name_(name), help_(help), to_(to) {}

  void Add(std::string_view suffix, std::string labels, double value) {
    to_.push_back({name_ + std::string(suffix), std::move(labels), value, help_});
    help_ = {};
  }
  void Add(const std::string& labels, const DurationHistogram& histogram) {
    const std::string before = labels.empty() ? "" : labels + ",";
    for (size_t i = 0; i < DurationHistogram::kBounds.size(); ++i) {
      Add("_bucket", fmt::format("{}le=\"{:#}\"", before, DurationHistogram::kBounds[i]),
          static_cast<double>(histogram.CountUpTo(i)));
    }
    const auto count = static_cast<double>(histogram.count());
    Add("_bucket", before + "le=\"+Inf\"", count);
    Add("_count", labels, count);
    Add("_sum", labels, histogram.sum_seconds());
  }

 private:
  const std::string name_;
  std::string_view help_;
  std::vector<LabelledStatistic>& to_;
};

/// Returns the account in whose row the builds of `account` are counted.
Account RowAccountOf(Account account) {
  return account.IsContainers() ? Account::OfUntoldContainers() : account;
}

std::string OfUser(std::string_view user) { return fmt::format("user=\"{}\"", user); }

std::string OfCodegen(std::string_view kind, std::string_view toolchain) {
  return fmt::format("kind=\"{}\",toolchain=\"{}\"", kind, toolchain);
}

double Seconds(std::chrono::microseconds time) { return static_cast<double>(time.count()) * 1e-6; }

void AddOutcomes(Family& family, const std::string& labels,
                 const std::map<std::string_view, uint64_t>& outcomes) {
  for (const auto& [outcome, count] : outcomes) {
    family.Add("", fmt::format("{},outcome=\"{}\"", labels, outcome), static_cast<double>(count));
  }
}

void AddNamespaces(const NamespaceCounts& counts, std::vector<LabelledStatistic>& all) {
  const auto labels = [](const std::string& name) { return fmt::format("namespace=\"{}\"", name); };
  Family deposits("deposits_by_namespace_total",
                  "Deposits that were asked for, by the clients' namespaces and by outcome: hit, "
                  "joined (another made it meanwhile) or built (the caller made it).",
                  all);
  for (const auto& [name, row] : counts.rows()) {
    AddOutcomes(
        deposits, labels(name),
        {{kDepositHit, row.found}, {kDepositJoined, row.joined}, {kDepositBuilt, row.made}});
  }
  Family bytes("deposit_bytes_by_namespace_total",
               "Size of the deposits that callers got from others (read) or made, in bytes.", all);
  for (const auto& [name, row] : counts.rows()) {
    bytes.Add("", labels(name) + ",direction=\"read\"", static_cast<double>(row.read_bytes));
    bytes.Add("", labels(name) + ",direction=\"made\"", static_cast<double>(row.made_bytes));
  }
  Family saved("deposit_saved_seconds_by_namespace_total",
               "Time for which others made the deposits that were hits or joined, in seconds.",
               all);
  for (const auto& [name, row] : counts.rows()) saved.Add("", labels(name), Seconds(row.saved));
}

/// Returns the row of `key`. If `key` has no row and there are already `most` rows, returns
/// `others`.
template <typename Key, typename Row>
Row& RowOf(std::map<Key, Row>& rows, const Key& key, size_t most, Row& others) {
  const auto found = rows.find(key);
  if (found != rows.end()) return found->second;
  return rows.size() < most ? rows[key] : others;
}

std::string LabelOf(const Result<BuildAnswer>& result) {
  if (!result || result->toolchain_version.empty()) return "";
  return ToolchainLabel(result->toolchain_version, result->toolchain_id);
}

}  // namespace

std::string ToolchainLabel(const std::string& version, const Digest& id) {
  constexpr size_t kShownDigits = 8;
  return version + " " + id.Hex().substr(0, kShownDigits);
}

void DurationHistogram::Add(std::chrono::microseconds duration) {
  const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), Seconds(duration));
  ++counts_[static_cast<size_t>(bucket - kBounds.begin())];
  sum_ += duration;
}

uint64_t DurationHistogram::count() const { return CountUpTo(kBounds.size()); }

uint64_t DurationHistogram::CountUpTo(size_t bound) const {
  uint64_t count = 0;
  for (size_t i = 0; i <= bound; ++i) count += counts_[i];
  return count;
}

void BuildBreakdown::Add(const BuildRecord& record) {
  const Result<BuildAnswer>& result = record.result;
  const bool not_cached = !result && result.error().code == ErrorCode::kNotCached;
  const std::string_view outcome = result       ? NameOf(result->outcome)
                                   : not_cached ? Name(ErrorCode::kNotCached)
                                                : kError;
  const Codegen codegen{NameOf(record.kind), LabelOf(result)};
  const MutexLock lock(mutex_);
  Row& account = RowOfAccount(record.peer.account());
  Row& toolchain = RowOf(rows_.codegens, codegen, kMaxCodegens, rows_.other_codegens);
  for (Row* row : {&account, &toolchain}) {
    ++row->outcomes[outcome];
    if (!result) continue;
    row->saved += result->saved_time;
    const bool saved = result->outcome == Outcome::kHit || result->outcome == Outcome::kJoined;
    if (saved && result->saved_time.count() == 0) ++row->saved_unknown;
    const bool compiled = result->outcome != Outcome::kHit && result->outcome != Outcome::kJoined &&
                          !result->remembered;
    if (compiled) row->compiles.Add(result->compile_time);
  }
  if (!result) return;
  if (result->outcome == Outcome::kHit) {
    rows_.hits.Add(record.total_time);
  } else if (!result->remembered) {
    rows_.queue.Add(result->queue_time);
  }
}

void BuildBreakdown::Add(const DepositEvent& event) {
  const MutexLock lock(mutex_);
  Row& row = RowOfAccount(event.account);
  ++row.deposits[event.use == DepositUse::kFound    ? kDepositHit
                 : event.use == DepositUse::kJoined ? kDepositJoined
                                                    : kDepositBuilt];
  row.namespaces.Add(event);
  rows_.namespaces.Add(event);
  rows_.exported.Add(event);
}

BuildBreakdown::Row& BuildBreakdown::RowOfAccount(Account account) {
  return RowOf(rows_.accounts, RowAccountOf(account), kMaxAccounts, rows_.other_accounts);
}

void BuildBreakdown::Clear() {
  const MutexLock lock(mutex_);
  rows_ = {};
}

std::map<BuildBreakdown::Codegen, std::chrono::microseconds> BuildBreakdown::MeanCompiles() const {
  std::map<Codegen, std::chrono::microseconds> means;
  const MutexLock lock(mutex_);
  for (const auto& [codegen, row] : rows_.codegens) {
    if (row.compiles.count() > 0) means[codegen] = row.compiles.mean();
  }
  return means;
}

NamespaceCounts BuildBreakdown::Namespaces(std::optional<Account> only) const {
  const MutexLock lock(mutex_);
  return NamespacesOf(only);
}

NamespaceCounts BuildBreakdown::NamespacesOf(std::optional<Account> only) const {
  if (!only) return rows_.namespaces;
  const auto own = rows_.accounts.find(*only);
  return own == rows_.accounts.end() || only->IsContainers() ? NamespaceCounts()
                                                             : own->second.namespaces;
}

std::vector<LabelledStatistic> BuildBreakdown::Take(std::optional<Account> only) const {
  std::vector<std::pair<std::string, Row>> users;  // the labels of each user, with the user's row
  std::vector<std::pair<std::string, Row>> codegens;
  NamespaceCounts namespaces;
  DurationHistogram hits;
  DurationHistogram queue;
  {
    const MutexLock lock(mutex_);
    for (const auto& [account, row] : rows_.accounts) {
      if (!only || (*only == account && !account.IsContainers())) {
        users.emplace_back(OfUser(account.Label()), row);
      }
    }
    const bool others =
        !rows_.other_accounts.outcomes.empty() || !rows_.other_accounts.deposits.empty();
    if (!only && others) {
      users.emplace_back(OfUser(kOthers), rows_.other_accounts);
    }
    for (const auto& [codegen, row] : rows_.codegens) {
      codegens.emplace_back(OfCodegen(codegen.first, codegen.second), row);
    }
    if (!rows_.other_codegens.outcomes.empty()) {
      codegens.emplace_back(OfCodegen(kOthers, kOthers), rows_.other_codegens);
    }
    namespaces = only ? NamespacesOf(only) : rows_.exported;
    hits = rows_.hits;
    queue = rows_.queue;
  }
  std::vector<LabelledStatistic> all;

  Family builds_by_user("builds_by_user_total", "Answered builds of each user, by outcome.", all);
  for (const auto& [user, row] : users) AddOutcomes(builds_by_user, user, row.outcomes);
  Family compile_by_user("compile_seconds_by_user_total",
                         "Time spent compiling for each user. A compile that others joined counts "
                         "for the user who asked first.",
                         all);
  for (const auto& [user, row] : users) {
    compile_by_user.Add("", user, row.compiles.sum_seconds());
  }
  Family saved_by_user("saved_seconds_by_user_total",
                       "Compile time that hits and joins saved each user.", all);
  for (const auto& [user, row] : users) saved_by_user.Add("", user, Seconds(row.saved));
  Family unknown_by_user("saved_unknown_by_user_total",
                         "Hits and joins of each user that saved_seconds_by_user_total leaves out.",
                         all);
  for (const auto& [user, row] : users) {
    unknown_by_user.Add("", user, static_cast<double>(row.saved_unknown));
  }
  Family deposits_by_user(
      "deposits_by_user_total",
      "Deposits that each user asked for, by outcome: hit, joined (another made "
      "it meanwhile) or built (the caller made it).",
      all);
  for (const auto& [user, row] : users) AddOutcomes(deposits_by_user, user, row.deposits);
  AddNamespaces(namespaces, all);

  Family builds_by_toolchain("builds_by_toolchain_total",
                             "Answered builds of each kind and toolchain, by outcome.", all);
  for (const auto& [codegen, row] : codegens) {
    AddOutcomes(builds_by_toolchain, codegen, row.outcomes);
  }
  Family saved_by_toolchain("saved_seconds_by_toolchain_total",
                            "Compile time that hits and joins saved, of each kind and toolchain.",
                            all);
  for (const auto& [codegen, row] : codegens)
    saved_by_toolchain.Add("", codegen, Seconds(row.saved));
  Family unknown_by_toolchain("saved_unknown_by_toolchain_total",
                              "Hits and joins, of each kind and toolchain, that "
                              "saved_seconds_by_toolchain_total leaves out.",
                              all);
  for (const auto& [codegen, row] : codegens) {
    unknown_by_toolchain.Add("", codegen, static_cast<double>(row.saved_unknown));
  }
  Family compiles("compile_duration_seconds", "Durations of compiles, of each kind and toolchain.",
                  all);
  for (const auto& [codegen, row] : codegens) compiles.Add(codegen, row.compiles);

  Family("hit_duration_seconds", "Durations of hits in the daemon, from the request to the answer.",
         all)
      .Add("", hits);
  Family("queue_duration_seconds", "Time that builds waited before their compile started.", all)
      .Add("", queue);
  return all;
}

}  // namespace cccl_cache::daemon
