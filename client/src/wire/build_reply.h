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

/// A BuildReply. It owns the memory into which the reply was received, and all views that it
/// returns point into that memory. Immutable.
class BuildReply {
 public:
  /// The contents are empty if they came in chunks.
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
  /// The fields of build.proto, with the compiler's own texts. Enums are numbers, because a newer
  /// daemon may have more values.
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

  /// CCCL_CACHE_PROTOCOL: the bytes are no message, or an artifact's size differs from the
  /// announced size.
  static Expected<BuildReply> Decode(Message message);
  /// Decodes a reply whose artifacts came in chunks. `contents` has one element per artifact.
  static Expected<BuildReply> DecodeWithContents(Message message, std::vector<Message> contents);

  [[nodiscard]] const Fields& fields() const { return fields_; }
  [[nodiscard]] size_t artifact_count() const { return fields_.artifacts.size(); }
  [[nodiscard]] std::string_view contents(size_t artifact) const { return contents_[artifact]; }
  /// Returns whether an artifact was too large for the message.
  [[nodiscard]] bool needs_chunks() const;
  /// Returns the approximate memory use in bytes.
  [[nodiscard]] size_t MemoryBytes() const;
  /// Returns whether the other reply holds the same artifacts.
  [[nodiscard]] bool SameArtifacts(const BuildReply& other) const;
  /// Replaces the contents by those of the other reply, which has the same artifacts.
  void TakeContents(BuildReply other);

 private:
  BuildReply() = default;

  static Expected<BuildReply> DecodeFields(Message message);

  std::vector<Message> memory_;  ///< the memory to which fields_ and contents_ refer
  Fields fields_;
  std::vector<std::string_view> contents_;
};

/// Returns the number in an enum field of a caller's struct. The number may be none of the enum's
/// values, so it must not be read as an enum.
template <typename Field>
int WireNumber(const Field& field) {
  static_assert(sizeof(Field) == sizeof(int));
  int number = 0;
  std::memcpy(&number, &field, sizeof(number));
  return number;
}

/// Returns the field as the C interface has it, whose values have the same numbers. A value after
/// the last known one, from a newer daemon, becomes 0.
template <typename Known, typename Field>
Known FromWire(const Field& field, Known last) {
  const int number = WireNumber(field);
  return number >= 0 && number <= static_cast<int>(last) ? static_cast<Known>(number) : Known{};
}

}  // namespace cccl_cache
