// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lookup/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>
#include <variant>

#include "base/text.h"
#include "daemon/core/model/account.h"
#include "daemon/core/plan/roots.h"

namespace cccl_cache::daemon {
namespace {

// Number of hexadecimal digits of a toolchain's id that are displayed.
constexpr size_t kShortId = 12;

uint64_t LinesOf(std::string_view text) {
  const auto ends = static_cast<uint64_t>(std::ranges::count(text, '\n'));
  return ends + (text.empty() || text.ends_with('\n') ? 0 : 1);
}

ContentMark MarkOfText(std::string_view name, std::string_view text) {
  return {std::string(name), Sha256(text), LinesOf(text), 0};
}

std::vector<std::string> OptionsOf(const BuildPlan& plan) {
  std::vector<std::string> options;
  for (const ParsedOption& option : plan.options) {
    const bool directory =
        option.rule != nullptr && (option.rule->names_directory || option.rule->names_scratch);
    if (!directory) options.push_back(option.canonical);
  }
  return options;
}

std::vector<std::string> PathOptionsOf(const BuildPlan& plan) {
  std::vector<std::string> options;
  for (const ParsedOption& option : plan.options) {
    if (option.rule != nullptr && option.rule->shows_paths) options.push_back(option.canonical);
  }
  return options;
}

std::string MeaningOf(const FingerprintRoot& root) {
  if (!root.toolchain_directory.empty()) return "toolchain " + root.toolchain_directory;
  return root.path.empty() ? "nowhere" : "outside";
}

void AddProgram(const NvrtcProgram& program, const BuildPlan& plan, PastBuild* build) {
  const std::string_view name = ProgramName(program);
  build->program = name.substr(name.rfind('/') + 1);
  build->source = MarkOfText(name, program.source);
  if (const auto& set = program.header_set) {
    build->headers.push_back({"(a header set)", set->digest, 0, 0});
  }
  for (const InlineHeader& header : program.headers) {
    build->headers.push_back(MarkOfText(header.name, header.contents));
  }
  build->name_expressions = program.name_expressions;
  build->client_prefixes = plan.client_prefixes;
  for (size_t i = 0; i < plan.fingerprint_roots.size(); ++i) {
    const FingerprintRoot& root = plan.fingerprint_roots[i];
    build->directories.push_back({plan.client_prefixes[i], MeaningOf(root), root.path});
  }
}

void AddProgram(const LinkProgram& program, const BuildPlan& /*plan*/, PastBuild* build) {
  for (const cccl_cache::LinkInput& input : program.inputs) {
    build->inputs.push_back(
        {input.name, Sha256(input.contents), 0, static_cast<uint32_t>(input.type)});
  }
}

void AddProgram(const NvvmProgram& program, const BuildPlan& /*plan*/, PastBuild* build) {
  for (const NvvmModule& module : program.modules) {
    build->inputs.push_back({module.name, Sha256(module.contents), 0, module.lazy ? 1U : 0U});
  }
  if (program.add_libdevice) build->options.emplace_back("the toolchain's libdevice");
}

size_t FootprintOf(const std::vector<ContentMark>& marks) {
  size_t bytes = 0;
  for (const ContentMark& mark : marks) bytes += sizeof(mark) + mark.name.size();
  return bytes;
}

size_t FootprintOf(const std::vector<std::string>& texts) {
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += sizeof(text) + text.size();
  return bytes;
}

// Number of the user's last builds that may share their closure with a new build. Usually the last
// one has the same closure.
constexpr size_t kCompared = 4;

}  // namespace

PastBuild MarkOf(const BuildPlan& plan) {
  PastBuild build;
  const BuildRequest& request = *plan.job.request;
  const Toolchain& toolchain = *plan.job.toolchain;
  build.kind = request.kind();
  build.shown_name = ShownName(request);
  build.options = OptionsOf(plan);
  std::visit([&](const auto& program) { AddProgram(program, plan, &build); }, request.program);
  build.compiler = toolchain.Library(build.kind)->id;
  build.toolchain =
      fmt::format("{} ({})", toolchain.version(), toolchain.id.Hex().substr(0, kShortId));
  build.path_dependent = plan.path_dependent;
  build.path_options = PathOptionsOf(plan);
  build.working_directory = request.working_directory;
  build.fingerprint = plan.fingerprint;
  build.key = plan.key;
  return build;
}

std::string ShownName(const BuildRequest& request) {
  constexpr size_t kMost = 64;
  struct NameOf {
    std::string_view operator()(const NvrtcProgram& program) { return ProgramName(program); }
    std::string_view operator()(const LinkProgram& program) {
      return program.inputs.empty() ? std::string_view() : program.inputs.front().name;
    }
    std::string_view operator()(const NvvmProgram& program) {
      return program.modules.empty() ? std::string_view() : program.modules.front().name;
    }
  };
  const std::string_view name = std::visit(NameOf(), request.program);
  return ToUtf8(CutAtCharacter(name.substr(name.rfind('/') + 1), kMost));
}

std::string ClientPath(const PastBuild& build, const FileName& name) {
  if (name.root == kToolchainRoot) {
    const size_t number = name.below.find('/');
    return number == std::string::npos
               ? std::string("the toolchain's headers")
               : fmt::format("the toolchain's {}", std::string_view(name.below).substr(number + 1));
  }
  if (name.root >= build.client_prefixes.size()) return name.below;
  return build.client_prefixes[name.root] + name.below;
}

size_t FootprintOf(const PastBuild& build) {
  size_t bytes = sizeof(build) + build.program.size() + build.shown_name.size() +
                 build.source.name.size() + build.toolchain.size() + build.reason.size() +
                 build.working_directory.size() + FootprintOf(build.headers) +
                 FootprintOf(build.name_expressions) + FootprintOf(build.inputs) +
                 FootprintOf(build.options) + FootprintOf(build.path_options) +
                 FootprintOf(build.client_prefixes);
  for (const SearchDirectory& directory : build.directories) {
    bytes += sizeof(directory) + directory.shown.size() + directory.meaning.size() +
             directory.path.size();
  }
  return bytes;
}

size_t FootprintOf(const Closure& closure) {
  size_t bytes = sizeof(closure);
  for (const ClosureEntry& entry : closure.entries)
    bytes += sizeof(entry) + entry.name.below.size();
  return bytes;
}

void BuildHistory::Add(uid_t uid, Account account, PastBuild build) {
  if (build.closure && FootprintOf(*build.closure) > share_ / 2) build.closure = nullptr;
  if (uid == kOverflowUid || FootprintOf(build) > share_ / 2) return;
  const MutexLock lock(mutex_);
  ShareClosure(uid, &build);
  while (const auto loser = usage_.MustGiveWay(account, Cost(uid, build))) DropOldest(*loser);
  const size_t cost = Cost(uid, build);
  User& user = users_[uid];
  if (build.closure) ++user.closures[build.closure.get()];
  user.bytes += cost;
  user.newest_first.push_front(std::make_shared<const PastBuild>(std::move(build)));
  usage_.Set(uid, account, user.bytes);
  if (user.newest_first.size() > kMaxBuilds) DropOldest(uid);
}

bool BuildHistory::Knows(uid_t uid, const Digest& key) const {
  const MutexLock lock(mutex_);
  const auto user = users_.find(uid);
  if (user == users_.end()) return false;
  return std::ranges::any_of(user->second.newest_first,
                             [&](const PastBuildPtr& build) { return build->key == key; });
}

std::vector<PastBuildPtr> BuildHistory::Of(uid_t uid) const {
  const MutexLock lock(mutex_);
  const auto user = users_.find(uid);
  if (user == users_.end()) return {};
  return {user->second.newest_first.begin(), user->second.newest_first.end()};
}

std::vector<UsersBuild> BuildHistory::Dearest(std::optional<uid_t> uid, size_t most) const {
  std::vector<UsersBuild> all;
  {
    const MutexLock lock(mutex_);
    for (const auto& [user, builds] : users_) {
      if (uid && *uid != user) continue;
      for (const PastBuildPtr& build : builds.newest_first) {
        if (build->outcome != Outcome::kJoined) all.push_back({user, build});
      }
    }
  }
  const auto end = all.begin() + static_cast<ptrdiff_t>(std::min(most, all.size()));
  std::ranges::partial_sort(all, end, std::greater{},
                            [](const UsersBuild& each) { return each.build->compile_time; });
  all.erase(end, all.end());
  return all;
}

size_t BuildHistory::bytes() const {
  const MutexLock lock(mutex_);
  return usage_.in_all();
}

void BuildHistory::ShareClosure(uid_t uid, PastBuild* build) const {
  const auto user = users_.find(uid);
  if (user == users_.end() || build->closure == nullptr) return;
  const auto& builds = user->second.newest_first;
  const size_t count = std::min(kCompared, builds.size());
  for (size_t i = 0; i < count; ++i) {
    const auto& known = builds[i]->closure;
    if (known == nullptr || *known != *build->closure) continue;
    build->closure = known;
    return;
  }
}

// Returns the number of bytes by which this build increases the user's total. A closure that
// another build of the user shares is not counted again.
size_t BuildHistory::Cost(uid_t uid, const PastBuild& build) const {
  const size_t bytes = FootprintOf(build);
  if (build.closure == nullptr) return bytes;
  const auto user = users_.find(uid);
  const bool shared = user != users_.end() && user->second.closures.contains(build.closure.get());
  return shared ? bytes : bytes + FootprintOf(*build.closure);
}

void BuildHistory::DropOldest(uid_t uid) {
  const auto user = users_.find(uid);
  User& loser = user->second;
  const PastBuildPtr build = std::move(loser.newest_first.back());
  loser.newest_first.pop_back();
  loser.bytes -= FootprintOf(*build);
  if (build->closure && --loser.closures[build->closure.get()] == 0) {
    loser.closures.erase(build->closure.get());
    loser.bytes -= FootprintOf(*build->closure);
  }
  usage_.Set(uid, usage_.AccountOf(uid), loser.bytes);
  if (loser.newest_first.empty()) users_.erase(user);
}

}  // namespace cccl_cache::daemon
