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
    bool proves = false;  ///< unchanged as long as the files are, for later runs too
  };

  /// Finds the tool for a stand-in that was started as `started`: that file itself if it is another
  /// program, else the target of the link "STARTED.real", else the program of the same name in
  /// `search` (PATH) after the stand-in's own directory.
  [[nodiscard]] static std::optional<RealTool> Find(const std::string& started,
                                                    const std::string& search);

  /// The name under which the stand-in was started.
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Returns the tool together with the files that it uses, or none if these are not known.
  [[nodiscard]] std::optional<RealTool> With(const Tool& tool) const;

  /// Returns the state of the files, including their paths. None if one is not an ELF file, whose
  /// contents do not determine its behaviour.
  [[nodiscard]] std::optional<Stamp> Look() const;
  /// Returns whether the files are still in this state.
  [[nodiscard]] bool IsStill(const Stamp& stamp) const;
  /// Returns the SHA-256 of each file. If their stamps allow it, the digests are kept in the user's
  /// cache, because hashing a tool takes longer than its shortest runs. None if a file can't be
  /// read, or changed since `stamp`.
  [[nodiscard]] std::optional<std::string> Identify(const Stamp& stamp) const;

  /// Replaces this process by the tool. Returns only if it can't be started.
  void Replace(char** arguments) const;
  /// Runs the tool, forwards its output at once, and returns it. The tool is killed if this process
  /// ends. None if it could not be started.
  [[nodiscard]] std::optional<Ending> Run(char** arguments) const;

 private:
  RealTool(std::string name, std::string path);

  /// Returns the tool's first argument: the tool's directory, in which it finds its libraries, with
  /// the caller's name for it, which it writes into its output.
  [[nodiscard]] std::string FirstWord(const char* given) const;

  std::string name_;
  std::string path_;  ///< path as found; another stand-in there starts its search after it
  std::string file_;  ///< real path
  std::vector<std::string> files_;  ///< paths of the tool and the files that it uses; a missing one
                                    ///< is not used
};

}  // namespace cccl_cache::standin
