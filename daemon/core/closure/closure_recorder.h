// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/closure/closure.h"
#include "daemon/core/closure/file_traits.h"
#include "daemon/core/closure/path_uses.h"
#include "daemon/core/closure/source_scan.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/toolchain_places.h"

namespace cccl_cache::daemon {

/// A root as the compiler sees it, and its number.
struct VisibleRoot {
  std::string visible;  ///< absolute, no trailing slash
  uint32_t number = 0;
};

/// The files of one job. Looks names up in the requester's files, and records the answers. Contents
/// are not kept: a name that is asked for again is read again, and must be unchanged. Thread-safe:
/// Finish may take the record while a call hangs.
class ClosureRecorder final : public JobFiles {
 public:
  /// Properties of the files' texts that matter to the cache besides their bytes. A name that can
  /// be pasted together from parts in several texts, the request's included, counts as found.
  struct Traits {
    std::string time_token;         ///< the first one found, and its file; empty: none
    bool path_tokens = false;       ///< the output may show paths, and not only as text
    bool base_name_tokens = false;  ///< __BASE_FILE__
    bool function_tokens = false;   ///< __PRETTY_FUNCTION__ outside a #define
    PathUses uses;                  ///< in all texts
  };
  /// `first_question` is called before the first name is looked up. `path_token` is called before
  /// the first file with a path token is returned; its error ends the job.
  struct Events {
    std::function<void()> first_question;
    std::function<Status()> path_token;
  };

  /// Translates the compiler's names to names of the closure.
  struct Names {
    std::vector<VisibleRoot> roots;
    ToolchainPlaces toolchain = {};
  };

  /// `request`: the path uses in the request's own texts.
  ClosureRecorder(std::unique_ptr<RequesterFiles> files, Names names, Events events,
                  const PathUses& request = {}, UsersFileTraits traits = {})
      : files_(std::move(files)),
        names_(std::move(names)),
        events_(std::move(events)),
        request_(request),
        traits_(std::move(traits)) {
    Note(request_);
  }

  Result<FileAnswer> Ask(std::string_view name) override;
  Status LookInToolchain(std::string_view name) override;

  /// All answers so far.
  struct Record {
    Closure closure;
    Traits traits;
    bool asked = false;  ///< a file outside the toolchain was asked for, answered or not
  };
  /// Called before a job that begins with a preamble, with the answers of the preamble's parse. If
  /// all of them are still true, they become this job's first answers. If not, returns false, and
  /// this recorder must not be used. An error ends the job: that of the `path_token` event, or
  /// kFilesNeeded, which the job would meet too. Blocks as long as the disk does, and uses only
  /// objects that it owns. The caller calls `first_question` itself.
  [[nodiscard]] Result<bool> Adopt(const Record& parsed);
  /// Ends all answers and returns the record. No `first_question` starts after this call; it waits
  /// for a running one.
  [[nodiscard]] Record Finish();

 private:
  void TellFirstQuestion();
  [[nodiscard]] FileName NameOf(std::string_view name) const;
  [[nodiscard]] Result<FileAnswer> Look(FileName name);
  /// Returns the recorded answer with these contents, or an error if they differ from the record.
  [[nodiscard]] Result<FileAnswer> LookAgain(const FileName& name,
                                             const RequesterFiles::Contents& contents,
                                             uint32_t place) REQUIRES(mutex_);
  [[nodiscard]] Status CountBytes(const RequesterFiles::Contents& contents) REQUIRES(mutex_);
  [[nodiscard]] Status CountName(const FileName& name) REQUIRES(mutex_);
  /// Records the traits of the file with this digest and text.
  void Scan(const FileName& name, const Digest& digest, std::string_view text) REQUIRES(mutex_);
  void Note(const PathUses& uses) REQUIRES(mutex_);
  /// Records names that can now be pasted together. `below`: the name of the file that added parts.
  void NotePastedNames(std::string_view below) REQUIRES(mutex_);

  const std::unique_ptr<RequesterFiles> files_;
  const Names names_;
  const Events events_;
  const PathUses request_;
  const UsersFileTraits traits_;

  Mutex mutex_;
  CondVar told_;
  bool telling_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  // Index of each name in the closure.
  std::map<FileName, uint32_t> places_ GUARDED_BY(mutex_);
  InodePlaces first_of_ GUARDED_BY(mutex_);
  uint64_t bytes_ GUARDED_BY(mutex_) = 0;  // bytes returned to the compiler, which are not kept
  uint64_t name_bytes_ GUARDED_BY(mutex_) = 0;
  size_t looks_in_toolchain_ GUARDED_BY(mutex_) = 0;
  Record record_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
