// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/build_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/quantities.h"

namespace cccl_cache::cli {
namespace {

// Number of a digest's hexadecimal digits that are printed.
constexpr size_t kShortDigest = 16;
constexpr size_t kDigest = 64;

std::string Local(uint64_t milliseconds) {
  return LocalTime(milliseconds / 1000, "%Y-%m-%d %H:%M:%S");
}

/// Returns the time in UTC in ISO 8601 format, for scripts. Returns "" for 0.
std::string Utc(uint64_t milliseconds) {
  if (milliseconds == 0) return "";
  const std::string fraction = std::to_string(1000 + milliseconds % 1000).substr(1);
  return UtcTime(milliseconds / 1000, "%Y-%m-%dT%H:%M:%S.") + fraction + "Z";
}

/// Returns what was found in each tier as text, for example "memory (no entry), remote (not
/// connected: it refused)".
std::string InWords(const std::vector<TierLook>& tiers) {
  std::string text;
  for (const TierLook& look : tiers) {
    std::string finding = look.finding;
    std::ranges::replace(finding, '-', ' ');
    text += (text.empty() ? "" : ", ") + look.tier + " (" + finding;
    if (!look.reason.empty()) text += ": " + look.reason;
    text += ")";
  }
  return text;
}

std::string Json(const Explanation& explanation) {
  JsonWriter json = BeginAnswer();
  const auto& [verdict, tier, reason, since_ms, nearest, differences, more, tiers] = explanation;
  json.Fields("verdict", verdict, "tier", tier, "reason", reason, "since", Utc(since_ms));
  json.Key("nearest").BeginObject();
  if (!nearest.key.empty()) {
    json.Fields("key", nearest.key, "outcome", nearest.outcome, "time", Utc(nearest.time_ms));
  }
  json.EndObject().Key("differences").BeginArray();
  for (const auto& [field, name, was, is, was_lines, is_lines] : differences) {
    json.BeginObject().Fields("field", field, "name", name, "was", was, "is", is);
    json.Fields("was_lines", was_lines, "is_lines", is_lines).EndObject();
  }
  json.EndArray().Fields("more_differences", more).Key("tiers").BeginArray();
  for (const auto& [name, finding, why] : tiers) {
    json.BeginObject().Fields("tier", name, "finding", finding, "reason", why).EndObject();
  }
  json.EndArray();
  return json.EndObject().Finish();
}

std::string Shown(std::string_view value, uint64_t lines) {
  if (value.empty()) return "none";
  const bool digest = value.size() == kDigest &&
                      value.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  std::string shown =
      digest ? "sha256 " + std::string(value.substr(0, kShortDigest)) + "..." : std::string(value);
  if (lines > 0) shown += " (" + std::to_string(lines) + (lines == 1 ? " line)" : " lines)");
  return shown;
}

std::string Line(const Difference& difference) {
  std::string line = "  " + difference.field;
  if (!difference.name.empty()) line += " " + difference.name;
  // The name of a directory is enough. Its digest would tell the user nothing.
  const bool directory = difference.field == "directory";
  if (directory && difference.was.empty()) return line + ": not there before";
  if (directory && difference.is.empty()) return line + ": not there any more";
  line += ": was " + Shown(difference.was, difference.was_lines);
  return line + ", is " + Shown(difference.is, difference.is_lines);
}

/// Returns whether the verdict means that an artifact was stored before and has been removed.
bool IsDropped(std::string_view verdict) {
  return verdict == "evicted" || verdict == "corrupt" || verdict == "shadow-check" ||
         verdict == "not-kept";
}

std::string Sentence(const Explanation& explanation) {
  const std::string since = Local(explanation.since_ms);
  const bool of_key = explanation.since_ms != 0;  // whether it explains an earlier compile
  const std::string& verdict = explanation.verdict;
  if (verdict == "hit") return "a hit: the artifact lies in the tier " + explanation.tier;
  if (verdict == "never-seen" && of_key) {
    return "a miss when it was compiled at " + since +
           ": the daemon remembered no earlier build of yours with this name, source or input";
  }
  if (verdict == "never-seen") {
    return "never seen: the daemon remembers no earlier build of yours with this name, source or "
           "input";
  }
  if (verdict == "differs" && of_key) {
    return "a miss when it was compiled at " + since +
           ": it differed from every build before; from the nearest one of yours in";
  }
  if (verdict == "differs") {
    return "a miss: it differs from every build before; from the nearest one of yours in";
  }
  if (verdict == "evicted") {
    return "evicted: its entry was dropped at " + since +
           ", to keep within the store's limit or by an administrator";
  }
  if (verdict == "corrupt") {
    return "corrupt: its entry did not verify at " + since + " and was dropped";
  }
  if (verdict == "shadow-check") {
    return "dropped by a shadow check at " + since +
           ": a second compile of the same inputs gave other bytes";
  }
  if (verdict == "uncacheable") return "uncacheable: " + explanation.reason;
  if (verdict == "failed") {
    return "it does not compile, and that is remembered for a short time only: " +
           explanation.reason;
  }
  if (verdict == "not-kept") return "built before, and not kept any more, for an unknown reason";
  if (verdict == "deposit") {
    return "a deposit, which a program made itself: deposits are not explained; " +
           explanation.reason;
  }
  if (verdict == "unknown-key") {
    return "no build of yours that the daemon remembers has this key; of those before its last "
           "start it remembers only the results that you received";
  }
  return "this daemon gives a reason that is not known here: update cccl-cache-cli";
}

constexpr std::string_view kWaysToAsk =
    "explain wants the key that build --json printed, or -- and the build, link or nvvm command "
    "that is asked about";

std::string WrongQuestion(const std::string& given) {
  const std::string wrong = WrongKey(given);
  const bool digits = given.find_first_not_of("0123456789abcdef") == std::string::npos;
  return wrong.empty() || digits ? wrong : wrong + ": " + std::string(kWaysToAsk);
}

/// Returns an explanation of the key, or of its first digits, if it is that of a deposit of this
/// user, or of several. None otherwise.
std::optional<Explanation> OfDeposit(Client& client, const std::string& key) {
  const Expected<DepositList> deposits = client.ListDeposits();
  if (!deposits.ok()) return std::nullopt;
  std::optional<Explanation> explanation;
  for (size_t i = 0; i < deposits->size(); ++i) {
    const cccl_cache_deposit_info deposit = (*deposits)[i];
    if (!View(deposit.key).starts_with(key)) continue;
    if (explanation) {
      explanation->reason = "several of yours have keys that begin with these digits";
      return explanation;
    }
    const std::string group =
        deposit.is_group == 0 ? "" : ", for group " + std::to_string(deposit.gid);
    explanation = Explanation{.verdict = "deposit",
                              .reason = "it is yours" + group + ", of the namespace " +
                                        std::string(View(deposit.name_space)) + ", made at " +
                                        LocalTime(deposit.made_at, "%F %T")};
  }
  return explanation;
}

int Run(const std::string& key, const CommonOptions& common) {
  if (key.empty()) {
    return FailUsage(
        std::string(kWaysToAsk) + ": cccl-cache-cli explain -- build kernel.cu --arch sm_90",
        common);
  }
  Expected<Client> client = Client::Open(common.socket);
  if (!client.ok()) return Fail(client.error(), common);
  const Expected<Explanation> explanation = ExplainKey(*client, key);
  if (!explanation.ok()) return Fail(explanation.error(), common);
  const auto deposit =
      explanation->verdict == "unknown-key" ? OfDeposit(*client, key) : std::nullopt;
  return Report(deposit ? *deposit : *explanation, common);
}

}  // namespace

std::string InWords(const Explanation& explanation) {
  const auto& [verdict, tier, reason, since_ms, nearest, differences, more, tiers] = explanation;
  const bool back = IsDropped(verdict) && !tier.empty();
  const std::string again =
      back ? "a hit now: the artifact lies in the tier " + tier + " again; before " : "";
  std::string text;
  const auto add = [&text](const std::string& line) { text += Printable(line) + "\n"; };
  add(again + Sentence(explanation));
  for (const Difference& difference : differences) add(Line(difference));
  if (more > 0) add("  and " + std::to_string(more) + " more");
  // The sentences for these verdicts already contain the reason.
  const bool told =
      verdict == "uncacheable" || verdict == "failed" || verdict == "deposit" || reason.empty();
  if (!told) add(reason);
  if (!nearest.key.empty()) {
    add("nearest: " + nearest.key + ", " + nearest.outcome + " at " + Local(nearest.time_ms));
  }
  if (!tier.empty() && verdict != "hit" && !back) add("now in the tier " + tier);
  const std::string asked = InWords(tiers);
  if (!asked.empty()) add("asked: " + asked);
  return text;
}

int Report(const Explanation& explanation, const CommonOptions& common) {
  return Print(common.json ? Json(explanation) : InWords(explanation));
}

void AddExplainCommand(CLI::App* app, const CommonOptions& common, int* exit_code) {
  CLI::App* command = app->add_subcommand("explain", "Show why a build was, or would be, a miss");
  command->group("Compile");
  command->footer(
      "explain KEY: about a build of yours, by the key that build --json printed.\n"
      "explain -- build ..., link ... or nvvm ...: about that command, without compiling or "
      "writing anything.\n"
      "The daemon compares with your last builds, which it forgets when it stops. For a command, "
      "it "
      "also asks the Redis that nodes share.\n"
      "Example: cccl-cache-cli explain -- build kernel.cu --arch sm_90 -I include");
  const auto key = std::make_shared<std::string>();
  command->add_option("KEY", *key, "Key of an earlier answer, or its first 8 or more digits")
      ->check(WrongQuestion);
  command->callback([key, &common, exit_code] { *exit_code = Run(*key, common); });
}

}  // namespace cccl_cache::cli
