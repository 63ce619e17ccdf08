// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/kept_run.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <utility>

#include "base/codec.h"
#include "base/machine.h"
#include "client/interpose/wait.h"
#include "client/standin/line_table.h"
#include "proto/digest.h"

namespace cccl_cache::standin {
namespace {

using Clock = std::chrono::steady_clock;

/// Limit of the first request's wait. If no answer has come after half of it, the connection is
/// checked, which detects a daemon that hangs. Later requests may wait longer, up to the limit of
/// the call in total.
constexpr std::chrono::milliseconds kFirstWait{2000};
constexpr std::chrono::seconds kLongestWait{120};
/// If a failed request took longer than interpose::kLeastWait, later runs do not ask the daemon for
/// this time.
constexpr std::chrono::seconds kRest{30};
/// Limit for the publication of a result.
constexpr std::chrono::milliseconds kPublish{2000};
/// Limit for requests that the daemon answers immediately.
constexpr std::chrono::milliseconds kLongestAnswer{1000};

/// The placeholder for the input's name in a stored log.
constexpr std::string_view kName("\0", 1);

/// Replaces the file name `from` by `to` in the tool's messages of the form "TOOL FILE, line".
std::string Renamed(std::string_view log, const std::string& tool, std::string_view from,
                    std::string_view to) {
  const auto message = [&tool](std::string_view name) {
    return (tool + " ").append(name).append(", line ");
  };
  const std::string named = message(from);
  std::string renamed;
  while (true) {
    const size_t found = log.find(named);
    renamed.append(log.substr(0, found));
    if (found == std::string_view::npos) return renamed;
    renamed.append(message(to));
    log.remove_prefix(found + named.size());
  }
}

/// Asks the daemon for the stored run or a lease. A run does not wait for other leases of its user
/// to end: it starts without one.
Expected<Acquired> Acquire(Client* client, DepositKey key, std::chrono::milliseconds wait) {
  key.released_at_limit = true;
  return client->Acquire(key, wait);
}

/// Returns whether the log contains the name as a complete word, so that the log is not reusable.
bool Shows(std::string_view log, std::string_view name) {
  const auto in_word = [log](size_t at) {
    return at < log.size() && (std::isalnum(static_cast<unsigned char>(log[at])) || log[at] == '_');
  };
  for (size_t at = log.find(name); at != std::string_view::npos; at = log.find(name, at + 1)) {
    if (!in_word(at - 1) && !in_word(at + name.size())) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> KeptRun::Encode(KeptRun kept, const ToolRun& run) {
  if (!kept.out.empty() && !kept.err.empty()) return std::nullopt;
  const auto hidden = [&run](std::string text) { return run.Hide(std::move(text)); };
  const auto input = hidden(run.inputs.front());
  const auto output = hidden(run.outputs.front());
  if (!input || !output) return std::nullopt;
  ByteWriter contents;
  std::string missing;
  for (std::string& file : kept.files) {
    if (run.tool->shows_times) {
      std::string now = file;
      const auto names = SetTimes(&now);
      if (!names || now != file) return std::nullopt;
      for (const std::string& name : *names) missing.append(name).push_back('\0');
    }
    auto text = hidden(std::move(file));
    if (!text) return std::nullopt;
    contents.Text(file = *std::move(text));
  }
  for (std::string* log : {&kept.out, &kept.err}) {
    auto text = hidden(std::move(*log));
    if (!text || text->find('\0') != std::string::npos) return std::nullopt;
    *log = Renamed(*text, run.name, *input, kName);
    // The key has the paths that the output may show.
    if (!run.tool->shows_inputs && Shows(*log, *input)) return std::nullopt;
    if (!run.tool->shows_outputs && Shows(*log, *output)) return std::nullopt;
  }
  const auto names = hidden(std::move(missing));
  if (!names) return std::nullopt;
  return contents.Text(kept.out).Text(kept.err).Text(*names).Joined();
}

std::optional<KeptRun> KeptRun::Decode(std::string_view contents, const ToolRun& run) {
  ByteReader reader(contents);
  const auto shown = [&run](std::string_view text) { return run.Show(std::string(text)); };
  KeptRun kept;
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    auto file = shown(reader.Text());
    if (!file) return std::nullopt;
    kept.files.push_back(*std::move(file));
  }
  for (std::string* log : {&kept.out, &kept.err}) {
    const auto text = shown(reader.Text());
    if (!text) return std::nullopt;
    *log = Renamed(*text, run.name, kName, run.inputs.front());
  }
  const auto missing = shown(reader.Text());
  if (!missing || !reader.complete()) return std::nullopt;
  if (!run.tool->shows_times) return kept;
  std::string now_missing;
  for (std::string& file : kept.files) {
    const auto names = SetTimes(&file);
    if (!names) return std::nullopt;
    for (const std::string& name : *names) now_missing.append(name).push_back('\0');
  }
  if (now_missing != *missing) return std::nullopt;
  return kept;
}

DepositKey KeyOf(const std::string& identity, const ToolRun& run, const std::string& inputs,
                 const std::string& environment, const std::string& place) {
  return {.name_space = std::string(run.tool->name_space),
          .fields = {{"format", "2"},
                     {"tool", identity},
                     {"name", run.name},
                     {"options", run.options},
                     {"input", inputs},
                     {"environment", environment},
                     {"place", place}}};
}

Expected<Done> Publish(Client* client, const DepositKey& key, Lease* lease,
                       std::string_view contents) {
  if (lease->held()) return lease->Publish(contents, kPublish);
  auto acquired = Acquire(client, key, kPublish);
  Lease* const own = acquired.ok() ? std::get_if<Lease>(&*acquired) : nullptr;
  if (own == nullptr || !own->held()) return Done{};
  return own->Publish(contents, kPublish);
}

std::variant<Acquired, interpose::Reason> Ask(Client* client, const DepositKey& key,
                                              const UserCache& facts,
                                              std::optional<std::chrono::milliseconds> most) {
  using interpose::Reason;
  // The marker's name contains the boot id and the socket: several nodes, each with its own daemon,
  // may share this directory.
  const std::string hangs = "hangs-" + Sha256(BootId() + std::string(client->socket())).Hex();
  const auto known = facts.Age(hangs);
  if (known && *known < kRest) return Reason::kNoDaemon;
  if (known) facts.Put(hangs, "");  // renews the marker, so that only this run tries the daemon now
  const Clock::time_point begin = Clock::now();
  const std::chrono::milliseconds longest =
      most ? std::max(*most, interpose::kLeastWait) : kLongestWait;
  std::chrono::milliseconds wait = std::min(kFirstWait, longest);
  while (true) {
    Expected<Acquired> acquired = Acquire(client, key, wait);
    const auto waited = Clock::now() - begin;
    if (acquired.ok()) {
      if (known) facts.Remove(hangs);
      return *std::move(acquired);
    }
    if (acquired.error().status == CCCL_CACHE_INVALID_REQUEST) {  // such as an unknown group
      interpose::KeepRefusal(acquired.error().message);
      return Reason::kRefused;
    }
    // With a short wait, a daemon that waits for another run's result looks like one that hangs. So
    // the daemon gets a second request, which it answers immediately unless it hangs.
    const bool others_make_it =
        acquired.error().status == CCCL_CACHE_DEADLINE &&
        (wait >= kFirstWait || client->Query("info", {}, kLongestAnswer).ok());
    if (!others_make_it && waited > interpose::kLeastWait) facts.Put(hangs, "");
    if (acquired.error().status == CCCL_CACHE_DENIED) {
      interpose::KeepRefusal(acquired.error().message);
      return Reason::kDenied;
    }
    if (!others_make_it) return Reason::kNoDaemon;
    if (waited >= longest) return most ? Reason::kTooSlow : Reason::kSilent;
    wait = std::min(wait * 2, std::chrono::ceil<std::chrono::milliseconds>(longest - waited));
  }
}

}  // namespace cccl_cache::standin
