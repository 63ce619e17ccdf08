// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/nvcc/trace.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/files/file_size_limit.h"
#include "client/nvcc/record.h"

namespace cccl_cache::nvcc {
namespace {

constexpr char kPreload[] = "LD_PRELOAD";

/// Counts the programs that began with the recorder, and those that were started.
class Programs {
 public:
  void Take(RecordKind kind) {
    begun_ += kind == RecordKind::kBegin;
    started_ += kind == RecordKind::kExec || kind == RecordKind::kStart;
    started_ -= kind == RecordKind::kExecFailed;
  }
  /// Returns whether each program that was started had the recorder. nvcc itself is started by a
  /// process without it.
  [[nodiscard]] bool AllRecorded() const { return begun_ == started_ + 1; }

 private:
  int64_t begun_ = 0;
  int64_t started_ = 0;
};

/// Takes a record about a file with this name.
void Take(RecordKind kind, int error, std::string_view answer, Use* use) {
  // Once a program of the run has made a file, its state is the run's own.
  if (use->made) return;
  switch (kind) {
    case RecordKind::kBegin:
    case RecordKind::kExec:
    case RecordKind::kLost:
      break;
    case RecordKind::kStart:
    case RecordKind::kExecFailed:
    case RecordKind::kLook:
      use->looks.insert(error);
      break;
    case RecordKind::kResolve:
      use->looks.insert(0);
      use->resolved.emplace(answer);
      break;
    case RecordKind::kList:
      use->looks.insert(0);
      use->listed = true;
      break;
    case RecordKind::kMake:
      use->made = true;
      break;
    case RecordKind::kChange:
      use->changed = true;
      break;
    case RecordKind::kRemove:
      use->removed = true;
      break;
  }
}

}  // namespace

Trace ReadTrace(std::string_view records, const std::string& directory) {
  Trace trace;
  RecordHead head;
  if (records.size() < sizeof(head)) return {.uses = {}, .gap = "no records"};
  std::memcpy(static_cast<void*>(&head), records.data(), sizeof(head));
  records.remove_prefix(sizeof(head));
  if (head.lost != 0 || head.used > records.size()) trace.gap = "its records take too much space";
  records = records.substr(0, head.used);
  Programs programs;
  while (!records.empty()) {
    Record record;
    if (records.size() < sizeof(record)) break;
    std::memcpy(static_cast<void*>(&record), records.data(), sizeof(record));
    const uint64_t size = SizeOfRecord(record.size);
    // A program that was killed leaves its last record incomplete.
    if (record.written != 1 || record.kind > RecordKind::kLost || size > records.size()) break;
    std::string_view text = records.substr(sizeof(record), record.size);
    records.remove_prefix(size);
    std::string_view answer;
    if (const size_t end = text.find('\0'); end != std::string_view::npos) {
      answer = text.substr(end + 1);
      text = text.substr(0, end);
    }
    programs.Take(record.kind);
    if (record.kind == RecordKind::kLost) {
      trace.gap = "a program called " + std::string(text) + "()";
      continue;
    }
    const bool about_program = record.kind <= RecordKind::kStart;
    // A program's name without a slash was searched for, and the search is recorded by itself.
    if (text.empty() || (about_program && text.find('/') == std::string_view::npos)) continue;
    std::string name(text);
    if (name[0] != '/') name = directory + "/" + name;
    Take(record.kind, record.error, answer, &trace.uses[name]);
    if (record.kind == RecordKind::kExec) trace.uses[name].looks.insert(0);
  }
  if (!records.empty()) trace.gap = "a record is incomplete";
  if (!programs.AllRecorded()) trace.gap = "a program was not recorded";
  return trace;
}

std::optional<Recording> Recording::Make() {
  if (!MayMakeFile(kRecordBytes)) return std::nullopt;
  FileDescriptor file(memfd_create("cccl-cache-nvcc", MFD_CLOEXEC));
  if (!file.valid() || ftruncate(file.get(), kRecordBytes) != 0) return std::nullopt;
  return Recording(std::move(file));
}

Trace Recording::Read(const std::string& directory) const {
  RecordHead head;
  const auto read = [&](void* to, size_t size) {
    return pread(file_.get(), to, size, 0) == static_cast<ssize_t>(size);
  };
  if (!read(&head, sizeof(head))) return {.uses = {}, .gap = "no records"};
  std::string records(std::min<uint64_t>(sizeof(head) + head.used, kRecordBytes), '\0');
  if (!read(records.data(), records.size())) return {.uses = {}, .gap = "no records"};
  return ReadTrace(records, directory);
}

Recording::Environment::Environment(const Recording& recording, const std::string& library) {
  if (const char* preloaded = getenv(kPreload)) preloaded_ = preloaded;
  const std::string more = preloaded_.value_or("").empty() ? "" : ":" + *preloaded_;
  setenv(kPreload, (library + more).c_str(), 1);
  const std::string file =
      "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(recording.file_.get());
  setenv(kRecordVariable, file.c_str(), 1);
}

Recording::Environment::~Environment() {
  unsetenv(kRecordVariable);
  if (preloaded_) {
    setenv(kPreload, preloaded_->c_str(), 1);
  } else {
    unsetenv(kPreload);
  }
}

}  // namespace cccl_cache::nvcc
