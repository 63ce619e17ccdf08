// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cccl_cache/client_c.h"
#include "cccl_cache/expected.h"
#include "client/src/transport/byte_chain.h"
#include "proto/request.h"

namespace cccl_cache {

/// A BuildRequest of the protocol, made from the structs of the C interface. Texts are copied.
/// Contents are referenced and must outlive it. CCCL_CACHE_INVALID_REQUEST names a field whose text
/// holds a NUL. Not thread-safe.
class RequestMessage {
 public:
  /// Contents that may be uploaded before the request.
  struct Blob {
    std::string_view contents;
    std::string upload_sha256;  ///< empty if the contents are sent in the request
  };

  RequestMessage() = default;
  RequestMessage(const RequestMessage&) = delete;
  RequestMessage& operator=(const RequestMessage&) = delete;

  Expected<Done> SetProgram(const cccl_cache_nvrtc& program);
  Expected<Done> SetProgram(const cccl_cache_link& program);
  Expected<Done> SetProgram(const cccl_cache_nvvm& program);
  /// Sets the options that affect the answer. With the program, they are the request's name.
  Expected<Done> SetNamedOptions(const cccl_cache_build_options& options);
  /// Sets all options, but with this priority.
  Expected<Done> SetOptions(const cccl_cache_build_options& options,
                            BuildPriority priority = BuildPriority::kNormal);

  /// Returns false if the caller refuses a compile.
  [[nodiscard]] bool may_be_compiled() const { return on_miss_ != MissAction::kRefuse; }

  // The name of a request: requests with equal names have equal answers.
  /// Returns a hash of the name.
  [[nodiscard]] size_t HashOfName() const;
  /// Returns the message with its contents and without the options that do not affect the answer.
  [[nodiscard]] std::string Name() const;
  /// Returns whether Name() == name, without making the name.
  [[nodiscard]] bool HasName(std::string_view name) const;

  [[nodiscard]] size_t PackedSize() const;
  [[nodiscard]] const std::vector<Blob>& blobs() const { return blobs_; }
  /// Copies the contents, so that the message owns them.
  void CopyContents();
  /// Sends all contents inside the request, also those uploaded before.
  void InlineAll();
  /// Replaces the contents of a blob by a reference to the upload with this SHA-256.
  void NameUpload(size_t blob, std::string sha256);

  // Append a message in gRPC's encoding. Large contents are referenced.
  void AppendTo(ByteChain* body) const;
  /// Append the request as the build of an ExplainRequest, and as the first message of
  /// BuildWithFiles. The size is at most PackedSize() + kAround.
  static constexpr size_t kAround = 32;
  void AppendQuestionTo(ByteChain* body) const;
  void AppendWithFilesTo(ByteChain* body) const;
  /// Appends the request as a build of BuildMany with this tag.
  void AppendTaggedTo(uint64_t tag, ByteChain* body) const;

 private:
  /// An item of a list of the program, or contents of the program itself. Positions are in
  /// program_.
  struct Part {
    uint32_t item = 0;  ///< field of the item; 0 for the program itself
    size_t begin = 0;   ///< start of the item's fields without its contents
    size_t end = 0;
    uint32_t contents = 0;  ///< field of the contents; 0: the item has none
    size_t place = 0;       ///< position of the contents among the other fields
    size_t blob = 0;        ///< index in blobs_
  };
  /// The purpose of the bytes: a name in the process cache, or a request on the wire.
  enum class Use { kName, kWire };
  class Writer;

  template <typename Fields>
  Expected<Done> SetProgram(uint32_t number, const Fields& fields);
  template <typename Piece>
  void ForEachPiece(Use use, const Piece& piece) const;
  /// Returns the field of a Blob to send, and its bytes.
  [[nodiscard]] std::pair<uint32_t, std::string_view> Sent(const Part& part, Use use) const;
  [[nodiscard]] size_t BlobSize(const Part& part, Use use) const;
  [[nodiscard]] size_t ItemSize(const Part& part, Use use) const;
  [[nodiscard]] size_t ProgramSize(Use use) const;
  /// Appends the message after fields of the enclosing message.
  void AppendBehind(std::string_view fields, ByteChain* body) const;

  uint32_t number_ = 0;  ///< number of the program's field
  std::string program_;  ///< its fields, without contents and without the heads of items
  std::vector<Part> parts_;
  std::vector<Blob> blobs_;
  std::string named_options_;  ///< the other fields in the request's name
  std::string options_;        ///< the other fields on the wire
  MissAction on_miss_ = MissAction::kWait;
  std::forward_list<std::string> copies_;
};

}  // namespace cccl_cache
