// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "daemon/compile/zygote.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/file_descriptor.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// The file in memory into which a worker parses, before it is done. Used by one thread.
class PchDraft {
 public:
  static Result<PchDraft> Make();

  /// To be handed to the worker.
  [[nodiscard]] int fd() const { return memory_.get(); }
  /// Once that worker is dead: what it wrote, never to be changed again. Only processes forked from
  /// this zygote can use it. kUnavailable: it wrote nothing, or something still holds it.
  [[nodiscard]] Result<std::shared_ptr<const Precompiled>> Seal(
      const std::shared_ptr<Zygote>& zygote) &&;

 private:
  explicit PchDraft(FileDescriptor memory) : memory_(std::move(memory)) {}

  FileDescriptor memory_;
};

/// A sealed precompiled header. It holds addresses, so it is of use only to forks of the zygote
/// whose fork wrote it, for as long as that zygote takes jobs; it does not keep it. Immutable.
class PrecompiledHeader final : public Precompiled {
 public:
  PrecompiledHeader(FileDescriptor memory, uint64_t bytes, const std::shared_ptr<Zygote>& zygote)
      : memory_(std::move(memory)), bytes_(bytes), zygote_(zygote) {}

  [[nodiscard]] uint64_t bytes() const override { return bytes_; }
  [[nodiscard]] bool usable() const override { return zygote() != nullptr; }

  /// Null: it takes no jobs any more.
  [[nodiscard]] std::shared_ptr<Zygote> zygote() const;
  /// A descriptor for one worker: for reading, at the beginning. Invalid: the system has none left.
  [[nodiscard]] FileDescriptor OpenForWorker() const;

 private:
  const FileDescriptor memory_;
  const uint64_t bytes_;
  const std::weak_ptr<Zygote> zygote_;
};

}  // namespace cccl_cache::daemon
