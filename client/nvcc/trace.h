// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/files/file_descriptor.h"
#include "client/nvcc/record.h"
#include "client/standin/fresh_directory.h"

namespace cccl_cache::nvcc {

/// The calls of one run's programs about the files with one name, in their order.
struct Use {
  /// The results (errno values) of the look-ups before a program of the run made the file.
  std::set<int> looks;
  std::set<std::string> resolved;     ///< the answers of realpath() and readlink() before that
  std::set<FileIdentity> found;       ///< the files that the name led to, before that
  bool run = false;                   ///< as a program
  bool read_by_preprocessor = false;  ///< looked up by GCC's preprocessor, before that
  bool listed = false;                ///< as a directory, before that
  bool made = false;                  ///< created, or emptied
  bool changed = false;               ///< changed in another way, or removed, before it was made
  bool removed = false;               ///< removed, before it was made
};

/// A run of nvcc as libcccl_cache_record.so has recorded it.
struct Trace {
  std::map<std::string, Use> uses;  ///< by absolute name
  /// The contents of temporary files before they were removed, by name, if they were asked for.
  std::map<std::string, std::string> texts;
  /// Why the trace may lack something. Empty if it is complete.
  std::string gap;
};

/// Returns whether the output of a run of nvcc depends on the directory only by the text of its
/// path, and by the module id. `texts` are those of its trace.
[[nodiscard]] bool ShowsPathOnly(const standin::FreshDirectory& fresh,
                                 const std::map<std::string, std::string>& texts);

/// Decodes the recorder's file. `directory` is the working directory of the run.
[[nodiscard]] Trace ReadTrace(std::string_view records, const std::string& directory);

/// The shared memory for the records of one run. Move-only.
class Recording {
 public:
  /// Makes the memory. With `keeps_texts`, the trace will have them. None if the system does not
  /// allow that.
  [[nodiscard]] static std::optional<Recording> Make(bool keeps_texts = false);
  /// Sets the environment variables with which a program and its children record, and restores the
  /// former ones in the destructor. `library` is the path of the recorder.
  class Environment {
   public:
    Environment(const Recording& recording, const std::string& library);
    ~Environment();
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

   private:
    std::optional<std::string> preloaded_;
  };

  /// Returns the time stamp of a change that is made now, in nanoseconds. No later change of a file
  /// has an older one. Since Linux 6.13, earlier changes have older ones; before, those in the same
  /// tick of the clock have the same. None if that is not known.
  [[nodiscard]] std::optional<int64_t> Stamp() const;
  [[nodiscard]] Trace Read(const std::string& directory) const;

 private:
  Recording(FileDescriptor file, uint64_t token) : file_(std::move(file)), token_(token) {}

  FileDescriptor file_;
  uint64_t token_;
};

}  // namespace cccl_cache::nvcc
