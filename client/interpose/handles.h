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

/// A table of the handles that a stand-in gives to its program, and of the objects behind them. A
/// handle is the address of a slot in the table, so it never equals a handle of the real library,
/// which the same program may also have. Handles that are not in the table are never dereferenced.
/// The slots are used in turn, so the handle of a removed object is reused only after all other
/// slots were used. Thread-safe without a lock, because a fork could leave a lock locked in the
/// child. Usable in exit handlers.
template <typename Handle, typename Object>
class Handles {
 public:
  constexpr Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  /// Stores the object and returns its handle. Returns null, and destroys the object, if all slots
  /// are in use.
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

  /// Returns whether the handle is an address in this table. Its object may have been removed.
  [[nodiscard]] bool Owns(Handle handle) const {
    const auto* const address = reinterpret_cast<const std::atomic<Object*>*>(handle);
    return !std::less<>()(address, objects_.data()) &&
           std::less<>()(address, objects_.data() + kMax);
  }

  /// Returns the object of the handle. Null if the object was removed or the handle is not from
  /// this table.
  [[nodiscard]] Object* Find(Handle handle) const {
    return IsSlot(handle) ? reinterpret_cast<const std::atomic<Object*>*>(handle)->load() : nullptr;
  }

  /// Removes the object from the table and returns it. Returns null in the same cases as Find().
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
