// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/core/closure/closure.h"
#include "daemon/core/closure/source_scan.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/toolchain_places.h"

namespace cccl_cache::daemon {

/// A directory that the compiler sees, and the number of the root that it is.
struct VisibleRoot {
  std::string visible;  ///< absolute, no trailing slash
  uint32_t number = 0;
};

/// The files of one job: looks names up in the requester's files, and records what it answered. A
/// file's contents are not kept: a name that is asked again is read again, and must be what it was.
/// Thread-safe: the closure may be taken while a call still hangs.
class ClosureRecorder final : public JobFiles {
 public:
  /// The files' texts, as they concern the cache besides their bytes. Names that can be pasted
  /// together of what stands in several texts, the request's among them, count as the others.
  struct Traits {
    std::string time_token;  ///< the first that was found, and in which name: empty if none
    bool path_tokens = false;
    bool base_name_tokens = false;  ///< __BASE_FILE__
    bool function_tokens = false;   ///< __PRETTY_FUNCTION__ outside a #define
    NameParts parts;
  };
  /// Called before the first name is looked up, and again when the first file with a path token is
  /// handed over. An error ends the job with it.
  struct Events {
    std::function<void()> first_question;
    std::function<Status()> path_token;
  };

  /// Translates the names that the compiler sees into names of the closure.
  struct Names {
    std::vector<VisibleRoot> roots;
    ToolchainPlaces toolchain = {};
  };

  /// `request_parts`: of the texts that the request itself holds.
  ClosureRecorder(std::unique_ptr<RequesterFiles> files, Names names, Events events,
                  const NameParts& request_parts = {})
      : files_(std::move(files)),
        names_(std::move(names)),
        events_(std::move(events)),
        request_parts_(request_parts) {
    record_.traits.parts = request_parts;
  }

  Result<FileAnswer> Ask(std::string_view name) override;
  Status LookInToolchain(std::string_view name) override;

  /// All that was answered so far.
  struct Record {
    Closure closure;
    Traits traits;
    bool asked = false;  ///< anything outside the toolchain, answered or not
  };
  /// Before the job, which begins with what was parsed from these answers to another: they become
  /// the first of its own, if all are true still. False: they are not, and this recorder is used
  /// up. An error ends the job: that of the path token's event, or kFilesNeeded, which the job
  /// would come to. Blocks as long as the disk does, and uses nothing but what it owns; the first
  /// question's event is left to the caller.
  [[nodiscard]] Result<bool> Adopt(const Record& parsed);
  /// Nothing is answered any more, and no first question is told: waits for the one that is.
  [[nodiscard]] Record Finish();

 private:
  void TellFirstQuestion();
  [[nodiscard]] FileName NameOf(std::string_view name) const;
  [[nodiscard]] Result<FileAnswer> Look(FileName name);
  /// Whether the record of a name still holds.
  [[nodiscard]] Result<FileAnswer> LookAgain(const FileName& name,
                                             const RequesterFiles::Contents& contents,
                                             uint32_t place);
  [[nodiscard]] Status CountBytes(const RequesterFiles::Contents& contents);
  [[nodiscard]] Status CountName(const FileName& name);
  void Scan(const FileName& name, std::string_view text);
  /// `below`: the name of the file that brought parts of names.
  void NotePastedNames(std::string_view below);

  const std::unique_ptr<RequesterFiles> files_;
  const Names names_;
  const Events events_;
  const NameParts request_parts_;

  std::mutex mutex_;
  std::condition_variable told_;
  bool telling_ = false;  // guarded by mutex_, as all below
  bool finished_ = false;
  std::map<FileName, uint32_t> places_;  // of all names in the closure
  InodePlaces first_of_;
  uint64_t bytes_ = 0;  // handed over; none of them is kept
  uint64_t name_bytes_ = 0;
  size_t looks_in_toolchain_ = 0;
  Record record_;
};

}  // namespace cccl_cache::daemon
