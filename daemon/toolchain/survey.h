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
  std::string name;  ///< name within its part, not its place: "builtins", "0/cub/cub.cuh"
  std::string path;  ///< absolute, symlinks resolved, except those inside a header directory
  ContentStamp stamp;
};

/// Files that are hashed together.
struct SurveyedPart {
  /// Part of the identity besides the files: the nesting of header directories.
  std::string shape;
  std::vector<SurveyedFile> files;  ///< sorted by name
  bool linked = false;              ///< for headers: a symlink leads to a file elsewhere
  /// The stamp of each file identifies its contents, also later and for other processes.
  bool stamps_prove = true;
  Digest stamps;  ///< digest of names and stamps; changes at each boot of the machine
  /// For a library's part: DigestOfStamps, the library first; none: the stamps are not trusted.
  std::optional<Digest> component_stamp;
};

/// All files of one installation with their stamps; each file was checked for trust.
struct Survey {
  SurveyedPart nvrtc;  ///< library and builtins
  SurveyedPart headers;
  SurveyedPart nvjitlink;
  SurveyedPart nvvm;                                ///< library and libdevice
  std::vector<HeaderDirectory> header_directories;  ///< with the aliases that can be trusted
  int64_t newest_change_ns = 0;
  /// The local kernel reports every change of a file, because no other host can write there.
  bool changes_are_reported = true;
  Digest stamps;  ///< digest over all parts and aliases
};

/// Reads the stamp of every file of an installation, not its contents. The error names the file or
/// directory that can't be trusted or is missing. Skips header directories named __pycache__, whose
/// contents depend on when Python ran; the worker does not read them either.
[[nodiscard]] Result<Survey> TakeSurvey(const Installation& installation, uid_t own_uid,
                                        LookupObserver* observer);

}  // namespace cccl_cache::daemon
