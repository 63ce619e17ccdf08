// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace cccl_cache::interpose {

/// The handles that a stand-in gives to its program, and the objects behind them. A handle is an
/// address within the table, so it never equals a handle of the real library, which the program may
/// have too. Foreign handles are never dereferenced. A handle is reused only after the whole table
/// was used. Thread-safe without a lock, which a fork could leave held; usable in exit handlers.
template <typename Handle, typename Object>
class Handles {
 public:
  constexpr Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  /// Returns the object's handle; null if the table is full.
  [[nodiscard]] Handle Add(std::unique_ptr<Object> object) {
    for (size_t tried = 0; tried < kMax; ++tried) {
      std::atomic<Object*>& slot = objects_[next_++ % kMax];
      Object* none = nullptr;
      if (!slot.compare_exchange_strong(none, object.get())) continue;
      object.release();
      return reinterpret_cast<Handle>(&slot);
    }
    return nullptr;
  }

  /// Returns whether the handle is or was one of this table.
  [[nodiscard]] bool Owns(Handle handle) const {
    const auto* const address = reinterpret_cast<const std::atomic<Object*>*>(handle);
    return !std::less<>()(address, objects_.data()) &&
           std::less<>()(address, objects_.data() + kMax);
  }

  /// Returns null if the handle was destroyed, or is not one of this table.
  [[nodiscard]] Object* Find(Handle handle) const {
    return IsSlot(handle) ? reinterpret_cast<const std::atomic<Object*>*>(handle)->load() : nullptr;
  }

  /// Returns the object and destroys its handle; null as in Find.
  [[nodiscard]] std::unique_ptr<Object> Remove(Handle handle) {
    if (!IsSlot(handle)) return nullptr;
    return std::unique_ptr<Object>(
        reinterpret_cast<std::atomic<Object*>*>(handle)->exchange(nullptr));
  }

 private:
  static constexpr size_t kMax = size_t{1} << 16;

  [[nodiscard]] bool IsSlot(Handle handle) const {
    return Owns(handle) && reinterpret_cast<uintptr_t>(handle) % sizeof(std::atomic<Object*>) == 0;
  }

  std::array<std::atomic<Object*>, kMax> objects_{};
  std::atomic<size_t> next_{0};
};

}  // namespace cccl_cache::interpose
