// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/toolchain/installation.h"
#include "daemon/toolchain/trusted_path.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// What tells one state of a file from another without reading it.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;

  static FileStamp Of(const struct stat& status);
  auto operator<=>(const FileStamp&) const = default;
};

struct SurveyedFile {
  std::string name;  ///< what it is within its part: "builtins", "0/cub/cub.cuh"; not where it lies
  std::string path;  ///< absolute, symlinks resolved but those inside a header directory
  FileStamp stamp;
};

/// The files that are hashed together.
struct SurveyedPart {
  /// What identifies the part besides its files: which header directory lies in which other.
  std::string shape;
  std::vector<SurveyedFile> files;  ///< sorted by name
  bool linked = false;              ///< of headers: some lie elsewhere than their names say
  cccl_cache::Digest stamps;        ///< over names and stamps
};

/// All files of one installation with their stamps, each found to be trusted.
struct Survey {
  SurveyedPart nvrtc;  ///< library and builtins
  SurveyedPart headers;
  SurveyedPart nvjitlink;
  SurveyedPart nvvm;                                ///< library and libdevice
  std::vector<HeaderDirectory> header_directories;  ///< with those aliases that can be trusted
  int64_t newest_change_ns = 0;
  /// Whether the local kernel sets the stamps of all files: only then do they prove anything later.
  bool stamps_are_local = true;
  cccl_cache::Digest stamps;  ///< over all parts and aliases
};

/// Looks at every file of an installation without reading any. The error says which file or
/// directory can't be trusted, or is gone. A header directory named __pycache__ is no header
/// directory: what lies in it depends on when Python ran, so the worker must not hand it to a
/// compiler either.
[[nodiscard]] Result<Survey> TakeSurvey(const Installation& installation, uid_t own_uid,
                                        LookupObserver* observer);

}  // namespace cccl_cache::daemon
