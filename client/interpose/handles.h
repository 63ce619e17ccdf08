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

/// The handles that a stand-in gives to its program, and the objects behind them. A program may
/// have handles of the real library as well; they are never dereferenced here. A handle is an
/// address within the table, so it differs from all others even after it was destroyed. Handles are
/// reused only after the whole table was used. Thread-safe, without a lock, which a fork could
/// leave held; usable in exit handlers.
template <typename Handle, typename Object>
class Handles {
 public:
  constexpr Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  /// Returns the object's handle; null if there are too many.
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

  /// Returns null if the handle was destroyed, or is another library's.
  [[nodiscard]] Object* Find(Handle handle) const {
    return IsSlot(handle) ? reinterpret_cast<const std::atomic<Object*>*>(handle)->load() : nullptr;
  }

  /// Returns the object, whose handle is destroyed; null as above.
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
