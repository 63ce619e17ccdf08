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

/// Releases memory so that the next message can use it.
struct ReleaseMessageMemory {
  void operator()(char* memory) const;
};

using MessageMemory = std::unique_ptr<char[], ReleaseMessageMemory>;

/// Returns memory for a received message, with undefined bytes. One released block of up to 4 MiB
/// is kept for the next message of about its size. Otherwise the system's allocator would return
/// such a block to the kernel, and every reply would cost a page fault per 4 KiB. Thread-safe, and
/// safe to use in a forked child, whatever the parent's threads were doing at the fork.
[[nodiscard]] MessageMemory AllocateMessageMemory(size_t size);

/// Returns the size of its block: at most twice the requested size.
[[nodiscard]] size_t CapacityOf(const MessageMemory& memory);

/// The bytes of one received message, with room for a NUL after them.
struct Message {
  MessageMemory bytes;
  size_t size = 0;

  /// Returns a message whose bytes are undefined, except the NUL.
  [[nodiscard]] static Message WithRoomFor(size_t size);
  [[nodiscard]] std::string_view View() const { return {bytes.get(), size}; }
};

/// Assembles gRPC messages (flag, length in 4 bytes, bytes) from the pieces in which they arrive. A
/// large message can be received directly into its memory: see Room. Not thread-safe.
class MessageAssembler {
 public:
  enum class State {
    kIncomplete,
    kComplete,  ///< Take() must be called before more bytes are appended
    kInvalid,   ///< compressed, or longer than `limit`
  };

  explicit MessageAssembler(size_t limit) : limit_(limit) {}

  /// Returns the memory for the rest of the current message; empty while its length is unknown.
  /// Bytes that are received there must still be passed to Append, which then does not copy them.
  [[nodiscard]] std::span<char> Room();
  /// Consumes bytes from the front of `bytes`, at most up to the end of the current message.
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
