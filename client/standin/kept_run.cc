// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/kept_run.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <utility>

#include "base/boot_id.h"
#include "base/codec.h"
#include "client/interpose/wait.h"

namespace cccl_cache::standin {
namespace {

using Clock = std::chrono::steady_clock;

/// Limit of the first question. After half of it without an answer the connection is checked, which
/// finds a daemon that hangs. Later questions may take longer.
constexpr std::chrono::milliseconds kFirstWait{2000};
constexpr std::chrono::seconds kLongestWait{120};
/// After an error that took longer, later runs do not ask the daemon for kRest.
constexpr std::chrono::milliseconds kNoWait{100};
constexpr std::chrono::seconds kRest{30};
/// Limit of questions that the daemon answers at once.
constexpr std::chrono::milliseconds kLongestAnswer{1000};

/// Replaces the input's name in a kept log.
constexpr std::string_view kName("\0", 1);

/// Replaces `from` by `to` where a message of the tool names the input.
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

/// Returns whether the log has the name as a complete word.
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

std::optional<std::string> KeptRun::Encode(KeptRun run, const Assembly& assembly) {
  if (!run.out.empty() && !run.err.empty()) return std::nullopt;
  for (std::string* log : {&run.out, &run.err}) {
    if (log->find('\0') != std::string::npos) return std::nullopt;
    *log = Renamed(*log, assembly.name, assembly.input, kName);
    if (Shows(*log, assembly.input) || Shows(*log, assembly.output)) return std::nullopt;
  }
  return ByteWriter().Text(run.object).Text(run.out).Text(run.err).Joined();
}

std::optional<KeptRun> KeptRun::Decode(std::string_view contents, const Assembly& assembly) {
  ByteReader reader(contents);
  KeptRun run;
  run.object = reader.Text();
  run.out = Renamed(reader.Text(), assembly.name, kName, assembly.input);
  run.err = Renamed(reader.Text(), assembly.name, kName, assembly.input);
  if (!reader.complete()) return std::nullopt;
  return run;
}

DepositKey KeyOf(const Tool& tool, const std::string& identity, const Assembly& assembly,
                 const Digest& input, const std::string& environment, const std::string& place) {
  return {.name_space = std::string(tool.name_space),
          .fields = {{"format", "1"},
                     {"tool", identity},
                     {"name", assembly.name},
                     {"options", assembly.options},
                     {"input", input.View()},
                     {"environment", environment},
                     {"place", place}}};
}

std::variant<Acquired, interpose::Reason> Ask(Client* client, const DepositKey& key,
                                              const UserCache& facts) {
  using interpose::Reason;
  // The boot id and the socket, because nodes with a daemon each may share the directory of facts.
  const std::string hangs = "hangs-" + Sha256(BootId() + std::string(client->socket())).Hex();
  const auto known = facts.Age(hangs);
  if (known && *known < kRest) return Reason::kNoDaemon;
  if (known) facts.Put(hangs, "");  // Renewed, so that other runs do not ask while this one tries
  const Clock::time_point begin = Clock::now();
  // Even `--wait 0` leaves time for an answer.
  const auto bound = interpose::RunWait();
  const std::chrono::milliseconds longest = bound ? std::max(*bound, kNoWait) : kLongestWait;
  std::chrono::milliseconds wait = std::min(kFirstWait, longest);
  while (true) {
    Expected<Acquired> acquired = client->Acquire(key, wait);
    const auto waited = Clock::now() - begin;
    if (acquired.ok()) {
      if (known) facts.Remove(hangs);
      return *std::move(acquired);
    }
    // With a short wait, a daemon that hangs looks like one that waits for another run.
    const bool others_make_it =
        acquired.error().status == CCCL_CACHE_DEADLINE &&
        (wait >= kFirstWait || client->Query("info", {}, kLongestAnswer).ok());
    if (!others_make_it && waited > kNoWait) facts.Put(hangs, "");
    if (acquired.error().status == CCCL_CACHE_DENIED) {
      interpose::KeepRefusal(acquired.error().message);
      return Reason::kDenied;
    }
    if (!others_make_it) return Reason::kNoDaemon;
    if (waited >= longest) return bound ? Reason::kTooSlow : Reason::kSilent;
    wait = std::min(wait * 2, std::chrono::ceil<std::chrono::milliseconds>(longest - waited));
  }
}

}  // namespace cccl_cache::standin
