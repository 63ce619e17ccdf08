// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/standin/tool.h"
#include "proto/digest.h"

namespace cccl_cache::standin {

/// The status and the output of a run of the real tool.
struct Ending {
  int status = 0;  ///< of waitpid
  std::string out;
  std::string err;
};

/// The program that a stand-in replaces. Immutable.
class RealTool {
 public:
  /// The state of a tool's files.
  struct Stamp {
    Digest digest;
    bool proves = false;  ///< while the digest stays the same, so do the files, also for later runs
  };

  /// Finds the tool for a stand-in that was started as `started`: that file itself if it is another
  /// program, else where the link "STARTED.real" leads, else the program of the same name behind
  /// the stand-in's own directory in `search` (PATH).
  [[nodiscard]] static std::optional<RealTool> Find(const std::string& started,
                                                    const std::string& search);

  /// The name under which the stand-in was started.
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Returns the tool together with the files that it uses. Nothing: which they are is not known.
  [[nodiscard]] std::optional<RealTool> With(const Tool& tool) const;

  /// Returns the state of the files, with their paths. Nothing: one is not an ELF file, so its
  /// contents do not determine its behaviour.
  [[nodiscard]] std::optional<Stamp> Look() const;
  /// Returns whether the files are still in this state.
  [[nodiscard]] bool IsStill(const Stamp& stamp) const;
  /// Returns the SHA-256 of each file. Those whose stamps prove anything are kept for later
  /// processes, where this user has a place for it: to hash a tool takes longer than its shortest
  /// runs. Nothing: a file can't be read, or changed since `stamp`.
  [[nodiscard]] std::optional<std::string> Identify(const Stamp& stamp) const;

  /// Replaces this process by the tool. Returns if it can't be started.
  void Replace(char** arguments) const;
  /// Runs the tool, forwards its output as it comes, and returns it. The tool is killed if this
  /// process ends. Nothing: it was not started.
  [[nodiscard]] std::optional<Ending> Run(char** arguments) const;

 private:
  RealTool(std::string name, std::string path);

  /// The tool finds its libraries by the directory of its first word, and writes the name in it
  /// into what it makes: the directory is the tool's, and the name is the caller's.
  [[nodiscard]] std::string FirstWord(const char* given) const;

  std::string name_;
  std::string path_;  ///< as it was found: by it another stand-in there knows where it stands
  std::string file_;  ///< where links in the path lead
  std::vector<std::string> files_;  ///< the tool and its files; a missing one is not used
};

}  // namespace cccl_cache::standin
