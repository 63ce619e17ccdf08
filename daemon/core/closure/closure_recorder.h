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

/// A root directory, and the name under which the compiler sees it.
struct VisibleRoot {
  std::string visible;  ///< absolute, no trailing slash
  uint32_t number = 0;
};

/// Answers the questions of one job about files, and records the answers. Looks names up in the
/// requester's files. Does not keep contents: if a name is asked for again, the file is read again
/// and must be unchanged. Thread-safe, so that Finish() can return the record while another call
/// hangs.
class ClosureRecorder final : public JobFiles {
 public:
  /// Properties of the files' texts that matter to the cache. A name such as __DATE__ also counts
  /// as found if the preprocessor can paste it (##) from parts in several texts, including the
  /// request's.
  struct Traits {
    std::string time_token;         ///< the first name that shows the time, and its file; or empty
    bool path_tokens = false;       ///< the output may depend on paths in another form than text
    bool base_name_tokens = false;  ///< a text has __BASE_FILE__
    bool function_tokens = false;   ///< a text has __PRETTY_FUNCTION__ outside a #define
    PathUses uses;                  ///< the path uses of all texts together
  };
  /// `first_question` is called before the first name is looked up. `path_token` is called once
  /// path_tokens is true, before the file that caused it is returned to the compiler. Its error
  /// ends the job. Both may be empty.
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
    bool asked = false;  ///< whether the compiler asked for a file outside the toolchain
  };
  /// To be called before a job that uses a precompiled preamble, with the answers that were
  /// recorded when the preamble was parsed. If these answers still hold, they become the first
  /// answers of this job. If not, returns false, and this object must not be used any more. An
  /// error ends the job: the error of the `path_token` event, or kFilesNeeded, which the job itself
  /// would get too. May wait for a file system. Does not call `first_question`: the caller must.
  [[nodiscard]] Result<bool> Adopt(const Record& parsed);
  /// Ends the recording: later questions get an error. Returns the record. `first_question` is not
  /// called after this; if it is running, Finish() waits for its end.
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
  /// Adds the traits of a file to the record.
  void Scan(const FileName& name, const Digest& digest, std::string_view text) REQUIRES(mutex_);
  void Note(const PathUses& uses) REQUIRES(mutex_);
  /// Adds the names to the record that can now be pasted from parts. `below` is the file that added
  /// parts.
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
  uint64_t bytes_ GUARDED_BY(mutex_) = 0;  // total bytes of the contents returned to the compiler
  uint64_t name_bytes_ GUARDED_BY(mutex_) = 0;
  size_t looks_in_toolchain_ GUARDED_BY(mutex_) = 0;
  Record record_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
