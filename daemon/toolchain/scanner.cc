// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/toolchain/finder.h"

namespace cccl_cache::daemon {
namespace {

using IdentifiedPtr = ScanResult::IdentifiedPtr;

CompilerLibrary LibraryOf(const FoundFile& file, std::string version, const SurveyedPart& part,
                          const Digest& id) {
  return {.path = file.path,
          .preload = {},
          .version = std::move(version),
          .id = id,
          .stamp = part.component_stamp};
}

Toolchain Describe(const Installation& installation, const Survey& survey,
                   const Identity& identity) {
  Toolchain toolchain;
  toolchain.id = identity.whole;
  toolchain.major = installation.major;
  toolchain.minor = installation.minor;
  toolchain.root = installation.root;
  toolchain.headers = survey.header_directories;
  toolchain.contents = identity.headers;
  toolchain.libdevice = installation.libdevice.path;
  const std::string version = toolchain.version();
  if (installation.nvrtc.present()) {
    toolchain.nvrtc = LibraryOf(installation.nvrtc, version, survey.nvrtc, identity.nvrtc);
    toolchain.nvrtc->preload = {installation.builtins.path};
  }
  if (installation.nvjitlink.present()) {
    toolchain.nvjitlink =
        LibraryOf(installation.nvjitlink, version, survey.nvjitlink, identity.nvjitlink);
  }
  if (installation.nvvm.present()) {
    toolchain.nvvm = LibraryOf(installation.nvvm, version, survey.nvvm, identity.nvvm);
  }
  return toolchain;
}

std::string ShortId(const Toolchain& toolchain) { return toolchain.id.Hex().substr(0, 12); }

IdentifiedPtr SameId(const std::vector<IdentifiedPtr>& entries, const Toolchain& toolchain) {
  const auto same = std::ranges::find_if(
      entries, [&](const IdentifiedPtr& entry) { return entry->toolchain()->id == toolchain.id; });
  return same == entries.end() ? nullptr : *same;
}

bool Holds(const std::vector<IdentifiedPtr>& entries, const IdentifiedPtr& entry) {
  return std::ranges::find(entries, entry) != entries.end();
}

bool Holds(const std::vector<RejectedToolchain>& all, const RejectedToolchain& one) {
  return std::ranges::any_of(all, [&](const RejectedToolchain& other) {
    return other.root == one.root && other.reason == one.reason;
  });
}

}  // namespace

IdentifiedToolchain::Verdict IdentifiedToolchain::Known(BlockingPool& threads) {
  if (NotedChange()) return Verdict::kChanged;
  if (watched()) return Verdict::kSame;
  if (Due()) Look(threads, [] {});
  if (changed_.load(std::memory_order_acquire)) return Verdict::kChanged;
  if (hangs_.load(std::memory_order_acquire)) return Verdict::kHangs;
  return Age() < kCounts ? Verdict::kSame : Verdict::kExpired;
}

std::chrono::steady_clock::duration IdentifiedToolchain::Age() const {
  return std::chrono::steady_clock::now() - compared_at_.load(std::memory_order_acquire);
}

bool IdentifiedToolchain::Due() const {
  if (Age() < kDue) return false;
  const MutexLock lock(mutex_);
  return next_ == nullptr;
}

bool IdentifiedToolchain::StampsDiffer() {
  const bool differ = parts_.differ();
  if (differ) changed_.store(true, std::memory_order_release);
  compared_at_.store(std::chrono::steady_clock::now(), std::memory_order_release);
  hangs_.store(false, std::memory_order_release);
  return differ;
}

void IdentifiedToolchain::Forget(const Waiting& waiting) {
  const MutexLock lock(mutex_);
  if (next_ == waiting) next_ = nullptr;
}

void IdentifiedToolchain::Look(BlockingPool& threads, std::function<void()> done) {
  if (watched()) return done();
  const auto waiting = std::make_shared<std::vector<std::function<void()>>>();
  {
    const MutexLock lock(mutex_);
    if (next_ != nullptr) return next_->push_back(std::move(done));
    waiting->push_back(std::move(done));
    next_ = waiting;
  }
  const auto compare = [self = shared_from_this(), waiting] {
    self->Forget(waiting);
    self->StampsDiffer();
  };
  const auto end = [self = shared_from_this(), waiting] {
    self->Forget(waiting);  // in case the comparison never began
    for (const auto& call : std::exchange(*waiting, {})) call();
  };
  const auto late = [self = shared_from_this(), end] {
    self->hangs_.store(true, std::memory_order_release);
    end();
  };
  const Account account(static_cast<uid_t>(toolchain()->serial));
  if (!threads.Add(account, {.look = compare, .then = end, .late = late})) end();
}

ToolchainScanner::ToolchainScanner(Setup setup, MetaStore& meta, Compiler& compiler)
    : setup_(std::move(setup)), identifier_(meta), probe_(meta, compiler, setup_.probe_again) {}

ScanResult ToolchainScanner::Scan(const ScanResult& former, const std::stop_token& stop) {
  FoundInstallations found = FindInstallations(setup_.places);
  ScanResult now;
  now.rejected = std::move(found.incomplete);
  for (const Installation& installation : found.installations) {
    if (stop.stop_requested()) break;
    const auto [entry, unsettled] = EntryOf(installation, former, stop);
    now.unsettled = now.unsettled || unsettled;
    if (!entry.ok()) {
      now.rejected.push_back({installation.root, entry.error().message});
    } else if (SameId(now.present, *(*entry)->toolchain()) != nullptr) {
      now.duplicates.push_back(*entry);
    } else {
      now.present.push_back(*entry);
    }
  }
  std::ranges::stable_sort(now.present, std::greater<>(), [](const IdentifiedPtr& entry) {
    return std::pair(entry->toolchain()->major, entry->toolchain()->minor);
  });
  if (!stop.stop_requested()) ReportChanges(former, now);
  return now;
}

ToolchainScanner::Look ToolchainScanner::EntryOf(const Installation& installation,
                                                 const ScanResult& former,
                                                 const std::stop_token& stop) {
  for (const auto* entries : {&former.present, &former.duplicates}) {
    for (const IdentifiedPtr& entry : *entries) {
      if (entry->installation() != installation) continue;
      if (!entry->NotedChange() && !entry->StampsDiffer()) return {entry};
    }
  }
  return IdentifyAgain(installation, stop);
}

ToolchainScanner::Look ToolchainScanner::IdentifyAgain(const Installation& installation,
                                                       const std::stop_token& stop) {
  auto watch = std::make_unique<InstallationWatch>();
  Result<Survey> survey = SettledSurvey(installation, setup_.own_uid, watch.get());
  if (!survey.ok()) return {survey.error()};
  const Result<ToolchainPtr> toolchain = Identify(installation, *survey, stop);
  if (!toolchain.ok()) {
    const Result<Survey> now = TakeSurvey(installation, setup_.own_uid, nullptr);
    return {toolchain.error(), !now.ok() || now->stamps != survey->stamps};
  }
  const auto differ = [installation, stamps = survey->stamps, own_uid = setup_.own_uid] {
    const Result<Survey> now = TakeSurvey(installation, own_uid, nullptr);
    return !now.ok() || now->stamps != stamps;
  };
  return {std::make_shared<IdentifiedToolchain>(IdentifiedToolchain::Parts{
      *toolchain, installation, std::move(watch), survey->changes_are_reported, differ})};
}

Result<ToolchainPtr> ToolchainScanner::Identify(const Installation& installation,
                                                const Survey& survey, const std::stop_token& stop) {
  const Result<Identity> identity = identifier_.Identify(survey, stop);
  if (!identity.ok()) return identity.error();
  Toolchain toolchain = Describe(installation, survey, *identity);
  toolchain.serial = ++last_serial_;
  if (toolchain.nvrtc) {
    const Result<Capabilities> capabilities =
        probe_.Probe(std::make_shared<const Toolchain>(toolchain), stop);
    if (!capabilities.ok()) return capabilities.error();
    toolchain.capabilities = *capabilities;
  }
  return std::make_shared<const Toolchain>(std::move(toolchain));
}

void ToolchainScanner::ReportChanges(const ScanResult& former, const ScanResult& now) const {
  for (const IdentifiedPtr& entry : now.present) {
    if (!Holds(former.present, entry)) ReportArrival(*entry);
  }
  for (const IdentifiedPtr& entry : former.present) {
    const Toolchain& toolchain = *entry->toolchain();
    if (SameId(now.present, toolchain) != nullptr) continue;
    setup_.report({false, fmt::format("toolchain {} {} is no longer in {}", toolchain.version(),
                                      ShortId(toolchain), toolchain.root)});
  }
  for (const IdentifiedPtr& entry : now.duplicates) {
    if (Holds(former.duplicates, entry)) continue;
    const Toolchain& used = *SameId(now.present, *entry->toolchain())->toolchain();
    setup_.report(
        {false, fmt::format("{} has the same contents as toolchain {} in {}, which is used",
                            entry->toolchain()->root, ShortId(used), used.root)});
  }
  for (const RejectedToolchain& rejected : now.rejected) {
    if (Holds(former.rejected, rejected)) continue;
    setup_.report({true, fmt::format("{} is not used: {}", rejected.root, rejected.reason)});
  }
}

void ToolchainScanner::ReportArrival(const IdentifiedToolchain& entry) const {
  const Toolchain& toolchain = *entry.toolchain();
  setup_.report(
      {false,
       fmt::format("toolchain {} {} in {}{}{}{}", toolchain.version(), ShortId(toolchain),
                   toolchain.root, toolchain.nvrtc ? ", NVRTC" : "",
                   toolchain.nvjitlink ? ", nvJitLink" : "", toolchain.nvvm ? ", libNVVM" : "")});
  if (entry.watched()) return;
  setup_.report(
      {true,
       fmt::format("changes of {} are looked for by comparing all its files: it lies on a file "
                   "system that other hosts may write, or fs.inotify.max_user_watches or "
                   "fs.inotify.max_user_instances is used up; raise them",
                   toolchain.root)});
}

}  // namespace cccl_cache::daemon
