// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/closure_recorder.h"

#include <fmt/format.h>

#include <utility>

namespace cccl_cache::daemon {
namespace {

// Limit of the bytes of files that one job may read. A whole CCCL tree has 25 MB.
constexpr uint64_t kMaxBytes = 512u << 20;

// Limit of the names in the toolchain that one job may look up. A toolkit has about 200 entries,
// and a program looks up a few hundred absent names there. There is a limit because each hit
// compares all of them.
constexpr size_t kMaxLooksInToolchain = 4096;

// First identity that no file of a closure can have: a file's identity is its index plus one.
constexpr uint64_t kFirstImplied = kMaxClosureNames + 1;

// Returns whether the daemon answers that this directory exists, without checking it. NVRTC always
// asks for the program's directory and the working directory. If the daemon checked them, users
// with an unreadable home directory could not build, and programs in different directories would
// have different keys. Whether the directories exist shows when the compiler asks for files in
// them.
bool IsImplied(const FileName& name) {
  return name.below.empty() && (name.root == 0 || name.root == kWorkingDirectoryRoot);
}

Error JobIsOver() { return {ErrorCode::kCancelled, "the job is over"}; }

Error TooMuch(std::string_view what) {
  return Error{ErrorCode::kDenied, fmt::format("the program asked for more than {}; is a header "
                                               "including itself under ever new names?",
                                               what)};
}

}  // namespace

Result<FileAnswer> ClosureRecorder::Ask(std::string_view visible) {
  FileName name = NameOf(visible);
  if (IsImplied(name)) return FileAnswer{FileKind::kDirectory, kFirstImplied + name.root, nullptr};
  bool first = false;
  {
    const MutexLock lock(mutex_);
    if (finished_) return JobIsOver();
    first = !std::exchange(record_.asked, true);
    telling_ = first;
  }
  if (first) TellFirstQuestion();
  return Look(std::move(name));
}

Status ClosureRecorder::LookInToolchain(std::string_view visible) {
  std::vector<FileName> names = names_.toolchain.NamesOf(visible);
  if (names.empty()) {
    return Error{ErrorCode::kWorkerCrashed,
                 fmt::format("the compiler takes {:.200} for the toolchain's", visible)};
  }
  const MutexLock lock(mutex_);
  if (finished_) return JobIsOver();
  for (FileName& name : names) {
    if (places_.contains(name)) continue;
    if (++looks_in_toolchain_ > kMaxLooksInToolchain) {
      return TooMuch(fmt::format("{} names in the toolchain", kMaxLooksInToolchain));
    }
    if (const Status fits = CountName(name); !fits) return fits.error();
    const SeenFile seen = SeenIn(names_.toolchain.headers(), name).value_or(SeenFile{});
    places_.emplace(name, static_cast<uint32_t>(record_.closure.entries.size()));
    record_.closure.entries.push_back({std::move(name), seen.kind, seen.digest, 0});
  }
  return Ok{};
}

void ClosureRecorder::TellFirstQuestion() {
  if (events_.first_question) events_.first_question();
  const MutexLock lock(mutex_);
  telling_ = false;
  told_.NotifyAll();
}

Result<FileAnswer> ClosureRecorder::Look(FileName name) {
  const bool shown_before = [&] {
    const MutexLock lock(mutex_);
    return record_.traits.path_tokens;
  }();
  Result<RequesterFiles::Contents> contents = files_->Read(name);  // may hang: mutex_ is unlocked
  if (!contents) return contents.error();
  const MutexLock lock(mutex_);
  if (finished_) return JobIsOver();
  if (const Status fits = CountBytes(*contents); !fits) return fits.error();
  if (const auto known = places_.find(name); known != places_.end()) {
    return LookAgain(name, *contents, known->second);
  }
  if (const Status fits = CountName(name); !fits) return fits.error();
  const auto place = static_cast<uint32_t>(record_.closure.entries.size());
  const SeenFile& seen = contents->seen;
  FileAnswer answer{seen.kind, 0, contents->bytes};
  ClosureEntry entry{name, seen.kind, seen.digest, 0};
  if (seen.kind != FileKind::kAbsent) {
    entry.same_as = first_of_.try_emplace(seen.inode, place).first->second;
    answer.identity = entry.same_as + 1;
  }
  if (seen.kind == FileKind::kFile) Scan(name, seen.digest, *contents->bytes);
  record_.closure.entries.push_back(std::move(entry));
  places_.emplace(std::move(name), place);
  if (record_.traits.path_tokens && !shown_before && events_.path_token) {
    if (const Status goes_on = events_.path_token(); !goes_on) return goes_on.error();
  }
  return answer;
}

Result<bool> ClosureRecorder::Adopt(const Record& parsed) {
  const Closure& closure = parsed.closure;
  if (closure.entries.empty()) return true;
  InodePlaces places;
  const size_t untrue = FirstUntrue(closure, *files_, ClosureOf::kRequester, &places);  // may hang
  if (untrue != closure.entries.size()) {
    const std::optional<Error> needed = FilesNeededFor(closure.entries[untrue], *files_);
    if (!needed) return false;
    const MutexLock lock(mutex_);
    record_.asked = true;
    return *needed;
  }
  const MutexLock lock(mutex_);
  record_ = parsed;
  Note(request_);
  NotePastedNames("precompiled headers");
  first_of_ = std::move(places);
  for (uint32_t i = 0; i < closure.entries.size(); ++i) {
    places_[closure.entries[i].name] = i;
    name_bytes_ += closure.entries[i].name.below.size();
  }
  if (record_.traits.path_tokens && events_.path_token) {
    if (const Status goes_on = events_.path_token(); !goes_on) return goes_on.error();
  }
  return true;
}

Result<FileAnswer> ClosureRecorder::LookAgain(const FileName& name,
                                              const RequesterFiles::Contents& contents,
                                              uint32_t place) {
  const ClosureEntry& entry = record_.closure.entries[place];
  const SeenFile& seen = contents.seen;
  bool same = seen.kind == entry.kind && seen.digest == entry.digest;
  if (same && seen.kind != FileKind::kAbsent) {
    const auto first = first_of_.find(seen.inode);
    same = first != first_of_.end() && first->second == entry.same_as;
  }
  if (!same) {
    return Error{ErrorCode::kUnavailable, fmt::format("{} changed meanwhile", name.below)};
  }
  const uint64_t identity = seen.kind == FileKind::kAbsent ? 0 : entry.same_as + 1;
  return FileAnswer{seen.kind, identity, contents.bytes};
}

Status ClosureRecorder::CountBytes(const RequesterFiles::Contents& contents) {
  if (contents.bytes != nullptr) bytes_ += contents.bytes->size();
  if (bytes_ > kMaxBytes) return TooMuch(fmt::format("{} bytes", kMaxBytes));
  return Ok{};
}

Status ClosureRecorder::CountName(const FileName& name) {
  if (record_.closure.entries.size() >= kMaxClosureNames) {
    return TooMuch(fmt::format("{} names", kMaxClosureNames));
  }
  name_bytes_ += name.below.size();
  if (name_bytes_ > kMaxClosureNameBytes) {
    return TooMuch(fmt::format("{} bytes of names", kMaxClosureNameBytes));
  }
  return Ok{};
}

void ClosureRecorder::Scan(const FileName& name, const Digest& digest, std::string_view text) {
  const FileTraits found = traits_.Of(name.below, digest, text);
  Traits& traits = record_.traits;
  if (traits.time_token.empty() && !found.time_token.empty()) {
    traits.time_token = fmt::format("{} is in {}", found.time_token, name.below);
  }
  traits.base_name_tokens = traits.base_name_tokens || found.base_name_token;
  traits.function_tokens = traits.function_tokens || found.function_token_in_code;
  const NameParts before = traits.uses.parts;
  Note(found.uses);
  if (traits.uses.parts != before) NotePastedNames(name.below);
}

void ClosureRecorder::Note(const PathUses& uses) {
  Traits& traits = record_.traits;
  traits.uses |= uses;
  traits.path_tokens = traits.path_tokens || traits.uses.ShowMoreThanText();
}

void ClosureRecorder::NotePastedNames(std::string_view below) {
  Traits& traits = record_.traits;
  const TextTraits pasted = PastedNames(traits.uses.parts);
  if (traits.time_token.empty() && !pasted.time_token.empty()) {
    traits.time_token = fmt::format("{} can be pasted (##) together from {} and other texts",
                                    pasted.time_token, below);
  }
  traits.path_tokens = traits.path_tokens || pasted.path_token;
  traits.base_name_tokens = traits.base_name_tokens || pasted.base_name_token;
  traits.function_tokens = traits.function_tokens || pasted.function_token;
}

ClosureRecorder::Record ClosureRecorder::Finish() {
  const MutexLock lock(mutex_);
  finished_ = true;
  told_.Wait(mutex_, [this]() REQUIRES(mutex_) { return !telling_; });
  return record_;
}

FileName ClosureRecorder::NameOf(std::string_view name) const {
  const VisibleRoot* longest = nullptr;
  for (const VisibleRoot& root : names_.roots) {
    const bool inside = name.starts_with(root.visible) &&
                        (name.size() == root.visible.size() || name[root.visible.size()] == '/');
    if (inside && (longest == nullptr || root.visible.size() > longest->visible.size())) {
      longest = &root;
    }
  }
  if (longest == nullptr) return {kAbsoluteRoot, std::string(name)};
  std::string_view below = name.substr(longest->visible.size());
  while (below.starts_with('/')) below.remove_prefix(1);
  return {longest->number, std::string(below)};
}

}  // namespace cccl_cache::daemon
