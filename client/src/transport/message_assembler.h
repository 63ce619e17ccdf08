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

/// Gives memory back so that the next message can have it.
struct ReleaseMessageMemory {
  void operator()(char* memory) const;
};

using MessageMemory = std::unique_ptr<char[], ReleaseMessageMemory>;

/// Room for a received message, its bytes undefined. One block of up to 4 MiB that was given back
/// is kept for the next message of about its size: to the system's allocator a block of that size
/// is one to hand back to the kernel at once, and then every answer costs a page fault for each 4
/// KiB. Thread-safe, and safe to use in a forked child, whatever the parent's threads were at.
[[nodiscard]] MessageMemory AllocateMessageMemory(size_t size);

/// How large the block is that it lies in: at most twice what was asked for.
[[nodiscard]] size_t CapacityOf(const MessageMemory& memory);

/// The bytes of one received message, with room for a NUL behind them.
struct Message {
  MessageMemory bytes;
  size_t size = 0;

  /// All but the NUL is undefined.
  [[nodiscard]] static Message WithRoomFor(size_t size);
  [[nodiscard]] std::string_view View() const { return {bytes.get(), size}; }
};

/// Puts gRPC messages (flag, length in 4 bytes, bytes) together from the pieces in which they
/// arrive. A large message can be received straight into its place: see Room. Not thread-safe.
class MessageAssembler {
 public:
  enum class State {
    kIncomplete,
    kComplete,  ///< Take() it before appending more
    kInvalid,   ///< compressed, or longer than `limit`
  };

  explicit MessageAssembler(size_t limit) : limit_(limit) {}

  /// Where the rest of the current message belongs; empty while its length is not known yet. Bytes
  /// received there still have to be given to Append, which then moves them no further than needed.
  [[nodiscard]] std::span<char> Room();
  /// Takes from the front of `bytes`, at most up to the end of the current message.
  State Append(std::string_view* bytes);
  [[nodiscard]] Message Take();
  /// Nothing of a message was received since the last Take.
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
