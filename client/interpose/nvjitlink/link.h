// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/interpose/daemon.h"
#include "client/interpose/nvjitlink/functions.h"

namespace cccl_cache::interpose {

/// The object behind an nvJitLinkHandle of the program. Not thread-safe, like nvJitLink itself.
class Link {
 public:
  /// Returns whether the daemon can link with these options: all releases accept the options, and
  /// the daemon has the target architecture. Links with other options go to the real library.
  [[nodiscard]] static bool Knows(const std::vector<std::string>& options);

  explicit Link(std::vector<std::string> options) : options_(std::move(options)) {}
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Adds an input, and keeps it for the link in the daemon if the daemon can serve it. The result
  /// code is that of the real library.
  LinkCode Add(int type, const void* data, size_t size, const char* name);
  LinkCode Complete();
  /// Returns the real library's handle of this link, which then answers all later calls. All calls
  /// so far were made or are repeated there. Null if the real library can't be loaded.
  LinkHandle Real();

  /// Returns the daemon's output of this kind. None if the real library must answer instead.
  [[nodiscard]] std::optional<std::string_view> Linked(cccl_cache_artifact_kind kind) const;
  /// Returns whether this object knows the logs, so that the real library need not be asked. Then
  /// no call for the link has failed, and the error log is empty.
  [[nodiscard]] bool quiet() const {
    return !forwarded_ && (completed_ || (real_ == nullptr && !has_ptx_));
  }
  [[nodiscard]] std::string_view info_log() const {
    return completed_ ? info_log_ : std::string_view();
  }

 private:
  struct Input {
    int type;
    std::string contents;
    std::optional<std::string> name;
  };
  /// How the stand-in learns whether the real library accepts an input.
  enum class Check {
    kContents,     ///< the input itself: LTO-IR with the right header
    kRealLibrary,  ///< the real library, which checks it in less than 0.1 ms
    kDaemon,       ///< a link in the daemon, because the real library would assemble the input
    kNone,         ///< the daemon does not link such an input
  };

  [[nodiscard]] Check CheckFor(const Input& input) const;
  /// Creates the link in the real library, with the inputs so far, if it is not there.
  void MakeReal();
  std::optional<Reason> LinkInDaemon();

  const std::vector<std::string> options_;
  std::vector<Input> inputs_;
  Result result_;                 ///< result of the daemon's link of all inputs so far, or null
  cccl_cache_artifact linked_{};  ///< the output in result_, which also holds info_log_
  std::string_view info_log_;
  LinkHandle real_ = nullptr;  ///< the link in the real library; null if it was not needed there
  bool has_ptx_ = false;       ///< an input was accepted by a link in the daemon
  bool counted_ = false;       ///< the report has the link of all inputs so far
  bool completed_ = false;     ///< the daemon's result answers
  bool forwarded_ = false;     ///< the real library answers
};

}  // namespace cccl_cache::interpose
