// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace cccl_cache::interpose {

/// A table of objects of a stand-in that accompany handles of the real library. The program has the
/// real handles, so it can pass them to any function of the library. Thread-safe without a lock,
/// because a fork could leave a lock locked in the child. Usable in exit handlers. Objects that are
/// never removed are never destroyed.
template <typename Handle, typename Object>
class RealHandles {
 public:
  constexpr RealHandles() = default;
  RealHandles(const RealHandles&) = delete;
  RealHandles& operator=(const RealHandles&) = delete;

  /// Stores the object of a handle. Destroys the object if the table has no room for it.
  void Add(Handle handle, std::unique_ptr<Object> object) {
    for (size_t i = 0; i < kTried; ++i) {
      Slot& slot = SlotOf(handle, i);
      Handle none = nullptr;
      if (!slot.handle.compare_exchange_strong(none, handle)) continue;
      slot.object = object.release();
      return;
    }
  }

  /// Returns the object of the handle, or null if there is none.
  [[nodiscard]] Object* Find(Handle handle) {
    Slot* const slot = Holding(handle);
    return slot == nullptr ? nullptr : slot->object.load();
  }

  /// Removes the object of a handle. To be called before the real library destroys the handle,
  /// which may get the same address for the next one.
  void Remove(Handle handle) {
    Slot* const slot = Holding(handle);
    if (slot == nullptr) return;
    const std::unique_ptr<Object> removed(slot->object.exchange(nullptr));
    slot->handle = nullptr;
  }

 private:
  static constexpr size_t kMax = size_t{1} << 14;
  static constexpr size_t kTried = 64;  ///< slots in which an object may be
  struct Slot {
    std::atomic<Handle> handle{nullptr};
    std::atomic<Object*> object{nullptr};
  };

  /// Returns one of the slots of a handle. `i` is less than kTried.
  Slot& SlotOf(Handle handle, size_t i) {
    constexpr uintptr_t kAlignment = 16;  // of malloc()
    return slots_[(reinterpret_cast<uintptr_t>(handle) / kAlignment + i) % kMax];
  }
  Slot* Holding(Handle handle) {
    for (size_t i = 0; handle != nullptr && i < kTried; ++i) {
      if (Slot& slot = SlotOf(handle, i); slot.handle == handle) return &slot;
    }
    return nullptr;
  }

  std::array<Slot, kMax> slots_{};
};

}  // namespace cccl_cache::interpose
