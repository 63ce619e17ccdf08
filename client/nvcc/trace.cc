// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/nvcc/trace.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/files/file_size_limit.h"

namespace cccl_cache::nvcc {
namespace {

constexpr char kPreload[] = "LD_PRELOAD";

std::string ProgramName(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

/// Compares the programs that began with the recorder with those that were started.
class Programs {
 public:
  void Take(const Record& record, std::string_view path) {
    const Program program{record.process, ProgramName(path)};
    switch (record.kind) {
      case RecordKind::kBegin:
        // nvcc itself is started by a process without the recorder.
        if (std::exchange(any_, true)) begun_.insert(program);
        break;
      case RecordKind::kExec:
      case RecordKind::kStart:
        started_.insert(program);
        break;
      case RecordKind::kExecFailed:
        Erase(program);
        break;
      default:
        break;
    }
  }
  /// Returns whether each program that was started began in its process with the recorder, and no
  /// other program did. A script without a "#!" is another program, because a shell begins.
  [[nodiscard]] bool AllRecorded() {
    for (const Program& program : begun_) {
      // libcccl_cache_exec.so puts a stand-in in the place of a program.
      const bool stand_in = program.second.starts_with("cccl-cache-");
      // system() and popen() do not tell the process of their shell.
      if (!Erase(program) && !(stand_in && EraseAny(program.first)) &&
          !Erase({0, program.second})) {
        return false;
      }
    }
    return any_ && started_.empty();
  }

 private:
  using Program = std::pair<int32_t, std::string>;  ///< process, and name without a directory

  bool Erase(const Program& program) {
    const auto found = started_.find(program);
    if (found == started_.end()) return false;
    started_.erase(found);
    return true;
  }
  bool EraseAny(int32_t process) {
    const auto found = started_.lower_bound({process, ""});
    return found != started_.end() && found->first == process && Erase(*found);
  }

  bool any_ = false;
  std::multiset<Program> begun_;
  std::multiset<Program> started_;
};

/// Takes a record about a file with this name.
void Take(const Record& record, std::string_view answer, Use* use) {
  // Once a program of the run has made a file, its state is the run's own.
  if (use->made) return;
  if (record.identity != FileIdentity{}) use->found.insert(record.identity);
  switch (record.kind) {
    case RecordKind::kExec:
    case RecordKind::kLost:
    case RecordKind::kText:
      break;
    case RecordKind::kBegin:
    case RecordKind::kStart:
      use->run = true;
      use->looks.insert(0);
      break;
    case RecordKind::kExecFailed:
    case RecordKind::kLook:
      use->looks.insert(record.error);
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

bool ShowsPathOnly(const standin::FreshDirectory& fresh,
                   const std::map<std::string, std::string>& texts) {
  bool preprocessed = false;
  bool identified = false;
  for (const auto& [name, text] : texts) {
    if (name.ends_with(kPreprocessed)) {
      if (!fresh.IsInMarkersOnly(text)) return false;
      preprocessed = true;
    } else if (name.ends_with(kModuleId)) {
      if (!fresh.IsInModuleId(text)) return false;
      identified = true;
    }
  }
  return preprocessed && identified;
}

Trace ReadTrace(std::string_view records, const std::string& directory) {
  Trace trace;
  RecordHead head;
  if (records.size() < sizeof(head)) return {.uses = {}, .gap = "no records"};
  std::memcpy(static_cast<void*>(&head), records.data(), sizeof(head));
  records.remove_prefix(sizeof(head));
  if (head.lost != 0 || head.used > records.size()) trace.gap = "its records take too much space";
  records = records.substr(0, head.used);
  const auto miss = [&trace](std::string why) {
    if (trace.gap.empty()) trace.gap = std::move(why);
  };
  Programs programs;
  std::map<int32_t, std::string> running;  ///< names of programs, by process
  std::map<int32_t, Use*> becomes;         ///< the program that a process is about to become
  while (!records.empty()) {
    Record record;
    if (records.size() < sizeof(record)) break;
    std::memcpy(static_cast<void*>(&record), records.data(), sizeof(record));
    const uint64_t size = SizeOfRecord(record.size);
    // A program that was killed leaves its last record incomplete.
    if (record.written != 1 || record.kind > RecordKind::kText || size > records.size()) break;
    std::string_view text = records.substr(sizeof(record), record.size);
    records.remove_prefix(size);
    std::string_view answer;
    if (const size_t end = text.find('\0'); end != std::string_view::npos) {
      answer = text.substr(end + 1);
      text = text.substr(0, end);
    }
    programs.Take(record, text);
    if (record.kind == RecordKind::kBegin) running[record.process] = ProgramName(text);
    if (record.kind == RecordKind::kLost) {
      miss("a program called " + std::string(text) + "()");
      continue;
    }
    if (record.kind == RecordKind::kText) {
      trace.texts[std::string(text)] = answer;
      continue;
    }
    const bool about_program = record.kind <= RecordKind::kStart;
    // A program's name without a slash was searched for, and the search is recorded by itself.
    if (text.empty() || (about_program && text.find('/') == std::string_view::npos)) continue;
    std::string name(text);
    if (name[0] != '/') name = directory + "/" + name;
    Use& use = trace.uses[name];
    const std::string& program = running[record.process];
    if (!use.made && record.kind <= RecordKind::kList && (program == "cc1plus" || program == "cc1"))
      use.read_by_preprocessor = true;
    Take(record, answer, &use);
    // A file was there and was run only if the call did not return.
    if (record.kind == RecordKind::kExec) {
      becomes[record.process] = &use;
    } else if (record.kind == RecordKind::kExecFailed) {
      becomes.erase(record.process);
    } else if (const auto became = becomes.find(record.process);
               record.kind == RecordKind::kBegin && became != becomes.end()) {
      // A stand-in may have begun in its place, so that this record's identity is another one.
      became->second->run = true;
      became->second->looks.insert(0);
      becomes.erase(became);
    }
  }
  if (!records.empty()) miss("a record is incomplete");
  if (!programs.AllRecorded()) miss("a program was not recorded");
  return trace;
}

std::optional<Recording> Recording::Make(bool keeps_texts) {
  if (!MayMakeFile(kRecordBytes)) return std::nullopt;
  FileDescriptor file(memfd_create("cccl-cache-nvcc", MFD_CLOEXEC));
  RecordHead head{};
  head.keeps_texts = keeps_texts ? 1 : 0;
  if (getrandom(&head.token, sizeof(head.token), 0) != sizeof(head.token)) return std::nullopt;
  if (!file.valid() || ftruncate(file.get(), kRecordBytes) != 0 ||
      pwrite(file.get(), &head, sizeof(head), 0) != sizeof(head)) {
    return std::nullopt;
  }
  return Recording(std::move(file), head.token);
}

std::optional<int64_t> Recording::Stamp() const {
  constexpr int64_t kNanoseconds = 1'000'000'000;
  struct stat status;
  // The kernel stamps a change exactly only if it would otherwise repeat a stamp that a program has
  // seen. The first change may get that of another file's last change.
  for (int i = 0; i < 2; ++i) {
    if (fstat(file_.get(), &status) != 0 || pwrite(file_.get(), &token_, sizeof(token_),
                                                   offsetof(RecordHead, token)) != sizeof(token_)) {
      return std::nullopt;
    }
  }
  if (fstat(file_.get(), &status) != 0) return std::nullopt;
  return status.st_ctim.tv_sec * kNanoseconds + status.st_ctim.tv_nsec;
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
  const std::string file = std::to_string(recording.token_) + ":/proc/" + std::to_string(getpid()) +
                           "/fd/" + std::to_string(recording.file_.get());
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
