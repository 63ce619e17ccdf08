// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace cccl_cache {

/// Frees the memory of a message, or keeps it for the next message: see AllocateMessageMemory.
struct ReleaseMessageMemory {
  void operator()(char* memory) const;
};

using MessageMemory = std::unique_ptr<char[], ReleaseMessageMemory>;

/// Returns memory for a received message. The bytes are uninitialized. The last released block of
/// 64 KiB to 4 MiB is kept for the next message of at least half its size: the system's allocator
/// would return such a block to the kernel, and each reply would cost one page fault per 4 KiB.
/// Thread-safe. Also safe in a forked child, whatever the parent's other threads did during the
/// fork.
[[nodiscard]] MessageMemory AllocateMessageMemory(size_t size);

/// Returns the size of the allocated block in bytes, at most twice the requested size. 0 if
/// `memory` is null.
[[nodiscard]] size_t CapacityOf(const MessageMemory& memory);

/// The bytes of one received message, followed by a NUL that `size` does not count.
struct Message {
  MessageMemory bytes;
  size_t size = 0;

  /// Returns a message of `size` uninitialized bytes. The NUL after them is set.
  [[nodiscard]] static Message WithRoomFor(size_t size);
  [[nodiscard]] std::string_view View() const { return {bytes.get(), size}; }
};

/// Assembles gRPC messages from the pieces in which they are received. A gRPC message is one flag
/// byte, the length in 4 bytes, and the bytes. A large message can be received directly into its
/// final memory: see Room(). Not thread-safe.
class MessageAssembler {
 public:
  enum class State {
    kIncomplete,
    kComplete,  ///< the caller must call Take() before it appends more bytes
    kInvalid,   ///< the message is compressed, or longer than the constructor's `limit`
  };

  explicit MessageAssembler(size_t limit) : limit_(limit) {}

  /// Returns the memory for the rest of the current message, or an empty span if the message's
  /// length is not known yet. After receiving bytes into this memory, the caller must pass them to
  /// Append(), which then does not copy them.
  [[nodiscard]] std::span<char> Room();
  /// Removes bytes from the front of `bytes` and adds them to the current message. Stops at the
  /// message's end, so the bytes of a following message stay in `bytes`.
  State Append(std::string_view* bytes);
  [[nodiscard]] Message Take();
  /// Returns whether no byte of a message was received since the last Take.
  [[nodiscard]] bool empty() const { return prefix_size_ == 0; }

 private:
  State Allocate();

  static constexpr size_t kPrefix = 5;

  const size_t limit_;
  std::array<unsigned char, kPrefix> prefix_{};
  size_t prefix_size_ = 0;
  Message message_;
  size_t received_ = 0;
};

}  // namespace cccl_cache
