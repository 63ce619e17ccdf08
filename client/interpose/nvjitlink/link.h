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

/// The object behind a program's nvJitLinkHandle. Not thread-safe, like nvJitLink itself.
class Link {
 public:
  /// Returns whether every release accepts these options and the daemon knows their effects. Links
  /// with other options go to the real library.
  [[nodiscard]] static bool Knows(const std::vector<std::string>& options);

  explicit Link(std::vector<std::string> options) : options_(std::move(options)) {}
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Keeps an input for the daemon. Returns false if it must go to the real library.
  bool Add(int type, const void* data, size_t size, const char* name);
  LinkCode Complete();
  /// Returns the link in the real library, in which all calls so far have been repeated; null if
  /// the library can't be loaded.
  LinkHandle Real();

  /// Returns the output of the daemon's link, or none if the real library must answer.
  [[nodiscard]] std::optional<std::string_view> Linked(cccl_cache_artifact_kind kind) const;
  /// Returns whether the real library has no such link. Then no call has failed, and the log of
  /// errors is empty.
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
  Result result_;                 ///< null: the daemon has not linked
  cccl_cache_artifact linked_{};  ///< valid as long as result_, like info_log_
  std::string_view info_log_;
  LinkHandle real_ = nullptr;
};

}  // namespace cccl_cache::interpose
