// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files/file_stamp.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/system/trusted_path.h"
#include "daemon/toolchain/installation.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

struct SurveyedFile {
  std::string name;  ///< "builtins"; of a header "0/cub/cub.cuh": 0 is the header directory
  std::string path;  ///< absolute; all symlinks are resolved
  ContentStamp stamp;
};

/// Files whose contents together have one digest.
struct SurveyedPart {
  /// For headers: a text about which header directories lie inside which others. It is a part of
  /// the toolchain's id.
  std::string shape;
  std::vector<SurveyedFile> files;  ///< sorted by name
  bool linked = false;              ///< for headers: whether a file was reached by a symlink
  /// Whether an unchanged stamp proves unchanged contents, for each file. If so, a digest that is
  /// stored with the stamp stays valid, also in other processes.
  bool stamps_prove = true;
  Digest stamps;  ///< digest of all names, paths and stamps; differs after each boot
  /// DigestOfStamps of a library and the files it loads. None for headers, and if the stamps prove
  /// nothing (`stamps_prove`).
  std::optional<Digest> component_stamp;
};

/// The stamps of all files of one installation. Only root and the daemon's user can change these
/// files.
struct Survey {
  SurveyedPart nvrtc;  ///< libnvrtc and its builtins
  SurveyedPart headers;
  SurveyedPart nvjitlink;
  SurveyedPart nvvm;                                ///< libnvvm and libdevice
  std::vector<HeaderDirectory> header_directories;  ///< with those aliases that no other user can
                                                    ///< redirect
  int64_t newest_change_ns = 0;
  /// Whether the local kernel reports every change of a file. It does if no other host can write to
  /// the file systems.
  bool changes_are_reported = true;
  Digest stamps;  ///< digest over all parts, header directories and aliases
};

/// Reads the stamps of all files of an installation, but not their contents. Fails if a file or
/// directory is missing or another user can change it; the message has its path. `observer` is
/// called for each look-up; it may be null. Skips header directories named __pycache__, because
/// their contents change when Python runs. Workers do not read them either.
[[nodiscard]] Result<Survey> TakeSurvey(const Installation& installation, uid_t own_uid,
                                        LookupObserver* observer);

}  // namespace cccl_cache::daemon
