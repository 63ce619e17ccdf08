// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/codec.h"
#include "base/files/user_cache.h"
#include "client/nvcc/trace.h"
#include "client/standin/fresh_directory.h"
#include "proto/digest.h"

namespace cccl_cache::nvcc {

/// Returns whether an absolute name is that of no file with lasting contents: the state of a
/// process or of the system, or a device such as the null device.
[[nodiscard]] bool IsOfKernel(std::string_view name);

/// The state of all files that a run of nvcc depends on. A later run with the same command line and
/// environment has the same result if the state is the same. It is encoded as:
///   closure = count { shared:u16 text(rest of the name) kind:u8 ... }
///     file: executable:u8 sha256    names: sha256    real, time: text
/// `shared` is the number of bytes that the name has in common with the one before it.
class Closure {
 public:
  enum class Kind : uint8_t {
    kAbsent,     ///< there is no such file
    kDenied,     ///< this user may not look there
    kDirectory,  ///< a directory, with any names in it
    kFile,       ///< a regular file with these contents
    kNames,      ///< a directory with exactly these names
    kReal,       ///< realpath() or readlink() returns this text
    kTime,       ///< the file's contents were changed last at this time, in seconds as text
  };
  struct Entry {
    std::string name;
    Kind kind = Kind::kAbsent;
    bool executable = false;  ///< of a file: whether a bit for that is set
    Digest digest;            ///< of a file's contents, or of a directory's names
    std::string real;         ///< the text of kReal and kTime

    bool operator==(const Entry&) const = default;
  };

  explicit Closure(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  /// Builds the closure of a run. `before` has the digests of files from before the run began at
  /// `begin_ns` (as Recording::Stamp()). `outputs` are the names of the files that the run was
  /// allowed to write. Returns the reason if the run's result can't be kept.
  [[nodiscard]] static std::variant<Closure, std::string> Of(
      const Trace& trace, const std::vector<std::string>& outputs,
      const std::map<std::string, Digest>& before, int64_t begin_ns);

  /// Returns whether all files are in the closure's state. Unless a file's stamp is new, its digest
  /// is not computed again: `facts` keeps the stamps with which the closure was true. The names in
  /// a hidden closure are those in `fresh`.
  [[nodiscard]] bool Holds(const UserCache& facts,
                           const standin::FreshDirectory* fresh = nullptr) const;

  /// Returns the closure with placeholders in place of the directory's name. None if a name does
  /// not allow that, or if a file has the directory's name in it.
  [[nodiscard]] std::optional<Closure> Hidden(const standin::FreshDirectory& fresh) const;

  void Encode(ByteWriter* writer) const;
  /// Decodes a closure. After an error, `reader` has it, and the closure is worthless.
  [[nodiscard]] static Closure Decode(ByteReader* reader);

  bool operator==(const Closure&) const = default;

 private:
  std::vector<Entry> entries_;  ///< sorted by name
};

}  // namespace cccl_cache::nvcc
