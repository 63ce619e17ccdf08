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

  /// Keeps an input for the link in the daemon. Returns false if the real library must add the
  /// input.
  bool Add(int type, const void* data, size_t size, const char* name);
  LinkCode Complete();
  /// Returns the real library's handle of this link. The first call creates it there and repeats
  /// all calls so far. Null if the real library can't be loaded.
  LinkHandle Real();

  /// Returns the daemon's output of this kind. None if the real library must answer instead.
  [[nodiscard]] std::optional<std::string_view> Linked(cccl_cache_artifact_kind kind) const;
  /// Returns whether the real library does not have this link. Then no call for the link has
  /// failed, so the error log is empty.
  [[nodiscard]] bool quiet() const { return real_ == nullptr; }
  [[nodiscard]] std::string_view info_log() const { return info_log_; }

 private:
  struct Input {
    int type;
    std::string contents;
    std::optional<std::string> name;
  };

  std::optional<Reason> LinkInDaemon();

  const std::vector<std::string> options_;
  std::vector<Input> inputs_;
  Result result_;                 ///< result of the daemon's link; null before it
  cccl_cache_artifact linked_{};  ///< the output in result_, which also holds info_log_
  std::string_view info_log_;
  LinkHandle real_ = nullptr;
};

}  // namespace cccl_cache::interpose
