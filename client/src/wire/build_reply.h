// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "cccl_cache/expected.h"
#include "client/src/transport/message_assembler.h"

namespace cccl_cache {

/// A decoded BuildReply message. The object owns the memory into which the message was received.
/// All views that it returns point into that memory. Immutable except for TakeContents().
class BuildReply {
 public:
  /// One artifact of the build. If `in_chunks`, its contents are not in this reply.
  struct Artifact {
    int kind = 0;
    uint64_t size = 0;
    std::string_view sha256;
    bool in_chunks = false;
  };
  struct LoweredName {
    std::string expression;
    std::string lowered;
  };
  /// The fields of the message, as in build.proto. Texts of the compiler are unchanged, also if
  /// they are not UTF-8. Enums are numbers, because a newer daemon may send values that this client
  /// does not know.
  struct Fields {
    int outcome = 0;
    int tier = 0;
    std::string key;
    std::string fingerprint;
    std::string toolchain_id;
    std::string toolchain_version;
    std::vector<LoweredName> lowered_names;
    std::string log;
    int32_t native_code = 0;
    std::string reason;
    bool remembered = false;
    bool precompiled_headers = false;
    uint64_t queue_us = 0;
    uint64_t compile_us = 0;
    uint64_t saved_us = 0;
    bool closed = false;
    uint64_t request_id = 0;
    std::vector<Artifact> artifacts;
  };

  /// Decodes a reply. Fails with CCCL_CACHE_PROTOCOL if the bytes are not a valid message, or if an
  /// artifact's size differs from the size that its `size` field states.
  static Expected<BuildReply> Decode(Message message);
  /// Decodes a reply whose artifacts were received separately, in chunks. `contents` has one
  /// element for each artifact, in the same order.
  static Expected<BuildReply> DecodeWithContents(Message message, std::vector<Message> contents);

  [[nodiscard]] const Fields& fields() const { return fields_; }
  [[nodiscard]] size_t artifact_count() const { return fields_.artifacts.size(); }
  [[nodiscard]] std::string_view contents(size_t artifact) const { return contents_[artifact]; }
  /// Returns whether the reply lacks the contents of an artifact that was too large for one
  /// message. The caller must request them with BuildInChunks.
  [[nodiscard]] bool needs_chunks() const;
  /// Returns the memory of the received messages in bytes. It is approximate, because decoded
  /// fields are not counted.
  [[nodiscard]] size_t MemoryBytes() const;
  /// Returns whether both replies have artifacts of the same kinds with the same SHA-256, in the
  /// same order.
  [[nodiscard]] bool SameArtifacts(const BuildReply& other) const;
  /// Takes over the artifacts' contents from `other`. Requires SameArtifacts(other).
  void TakeContents(BuildReply other);

 private:
  BuildReply() = default;

  static Expected<BuildReply> DecodeFields(Message message);

  std::vector<Message> memory_;  ///< owns the bytes that fields_ and contents_ point into
  Fields fields_;
  std::vector<std::string_view> contents_;
};

/// Returns the number in an enum field of a caller's struct. The field is copied as bytes, because
/// a number that is no value of the enum must not be read as an enum.
template <typename Field>
int WireNumber(const Field& field) {
  static_assert(sizeof(Field) == sizeof(int));
  int number = 0;
  std::memcpy(&number, &field, sizeof(number));
  return number;
}

/// Converts an enum field of a reply to the enum of the C interface, which has the same numbers.
/// `last` is the last value that this client knows. A number above it, from a newer daemon, becomes
/// 0.
template <typename Known, typename Field>
Known FromWire(const Field& field, Known last) {
  const int number = WireNumber(field);
  return number >= 0 && number <= static_cast<int>(last) ? static_cast<Known>(number) : Known{};
}

}  // namespace cccl_cache
