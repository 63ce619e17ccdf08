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
#include "proto/digest.h"
#include "proto/header_set.h"
#include "proto/request.h"

namespace cccl_cache {

/// A BuildRequest message that is encoded from the structs of the C interface. Texts are copied.
/// File contents are referenced and must outlive this object. If a text contains a NUL, the call
/// fails with CCCL_CACHE_INVALID_REQUEST and names the field. Not thread-safe.
class RequestMessage {
 public:
  /// The contents of one file, such as a source or a header. They may be uploaded before the
  /// request.
  struct Blob {
    std::string_view contents;
    std::string upload_sha256;  ///< SHA-256 of the upload; empty if the request carries the
                                ///< contents
    bool in_set = false;        ///< contents of a header that may go with the header set
  };

  RequestMessage() = default;
  RequestMessage(const RequestMessage&) = delete;
  RequestMessage& operator=(const RequestMessage&) = delete;

  Expected<Done> SetProgram(const cccl_cache_nvrtc& program);
  Expected<Done> SetProgram(const cccl_cache_link& program);
  Expected<Done> SetProgram(const cccl_cache_nvvm& program);
  /// Sets only the options that affect the answer. The program and these options are the request's
  /// name.
  Expected<Done> SetNamedOptions(const cccl_cache_build_options& options);
  /// Sets all options, and `priority` as the priority of the build.
  Expected<Done> SetOptions(const cccl_cache_build_options& options,
                            BuildPriority priority = BuildPriority::kNormal);

  /// Returns false if the caller's on_miss option forbids that the daemon compiles.
  [[nodiscard]] bool may_be_compiled() const { return on_miss_ != MissAction::kRefuse; }

  // The name of a request consists of all that affects the answer: requests with the same name have
  // the same answer.
  /// Returns a hash of the name.
  [[nodiscard]] size_t HashOfName() const;
  /// Returns the name: the encoded message with all contents, but without the options that do not
  /// affect the answer.
  [[nodiscard]] std::string Name() const;
  /// Returns whether Name() == name, without making the name.
  [[nodiscard]] bool HasName(std::string_view name) const;

  [[nodiscard]] size_t PackedSize() const;
  [[nodiscard]] const std::vector<Blob>& blobs() const { return blobs_; }
  /// Copies the contents into this object, so that the caller's memory may be freed.
  void CopyContents();
  /// Sends all contents inside the request, including those that were uploaded before.
  void InlineAll();
  /// Sends a reference to an upload in place of the contents of blobs()[blob]. `sha256` identifies
  /// the upload.
  void NameUpload(size_t blob, std::string sha256);

  static constexpr uint32_t kApiMinorOfHeaderSets = 5;
  /// Returns whether the request names its inline headers by the digest of their header set
  /// (proto/header_set.h) instead of containing them. True at first if they are large enough. The
  /// daemon must have kApiMinorOfHeaderSets.
  [[nodiscard]] bool names_header_set() const { return names_header_set_; }
  /// Returns the encoded header set that the request names. It refers to this object's contents.
  [[nodiscard]] EncodedHeaderSet HeaderSetMessage() const;
  [[nodiscard]] std::string_view header_set_sha256() const { return header_set_sha256_.View(); }
  /// Sends the headers inside the request.
  void InlineHeaders() { names_header_set_ = false; }

  // The functions below append the request in gRPC's encoding. Large contents are referenced, and
  // must outlive the chain.
  void AppendTo(ByteChain* body) const;
  /// The two functions below append the request inside another message: as the build of an
  /// ExplainRequest, or of the first BuildWithFilesRequest. That message has at most PackedSize() +
  /// kAround bytes.
  static constexpr size_t kAround = 32;
  void AppendQuestionTo(ByteChain* body) const;
  void AppendWithFilesTo(ByteChain* body) const;
  /// Appends the request inside a BuildManyRequest with this tag.
  void AppendTaggedTo(uint64_t tag, ByteChain* body) const;

 private:
  /// An item of one of the program's lists, such as a header, or contents of the program itself,
  /// such as the source. Positions are offsets in program_.
  struct Part {
    uint32_t item = 0;  ///< field number of the list; 0 for contents of the program itself
    size_t begin = 0;   ///< start of the item's encoded fields, which do not include its contents
    size_t end = 0;
    uint32_t contents = 0;  ///< field number of the contents; 0 if the item has none
    size_t place = 0;       ///< position in program_ at which the contents are inserted
    size_t blob = 0;        ///< index in blobs_
  };
  /// The use of the encoded bytes: the request's name in the process cache, or the message to send.
  enum class Use { kName, kWire };
  class Writer;

  template <typename Fields>
  Expected<Done> SetProgram(uint32_t number, const Fields& fields);
  void MakeHeaderSet(const cccl_cache_nvrtc& program);
  /// Returns whether this part is left out, because the header set stands for it.
  [[nodiscard]] bool IsLeftOut(const Part& part, Use use) const;
  [[nodiscard]] bool HasHeaderSet(Use use) const;
  /// Returns the encoded field with the digest of the header set; empty if the headers are inline.
  [[nodiscard]] std::string HeaderSetField(Use use) const;
  /// Returns the encoded field min_api_minor, if the header set needs it.
  [[nodiscard]] std::string ApiMinorField() const;
  template <typename Piece>
  void ForEachPiece(Use use, const Piece& piece) const;
  /// Returns the field number and the value to send in a Blob message: contents, or an upload's
  /// SHA-256.
  [[nodiscard]] std::pair<uint32_t, std::string_view> Sent(const Part& part, Use use) const;
  [[nodiscard]] size_t BlobSize(const Part& part, Use use) const;
  [[nodiscard]] size_t ItemSize(const Part& part, Use use) const;
  [[nodiscard]] size_t ProgramSize(Use use) const;
  /// Appends a message that consists of the encoded `fields` and this request.
  void AppendBehind(std::string_view fields, ByteChain* body) const;

  uint32_t number_ = 0;  ///< number of the field that holds the program; 0 if no program is set
  std::string program_;  ///< the program's encoded fields, without contents and heads of list items
  std::vector<Part> parts_;
  std::vector<Blob> blobs_;
  std::string named_options_;  ///< the encoded options that are part of the request's name
  std::string options_;        ///< all encoded options, as they are sent
  MissAction on_miss_ = MissAction::kWait;
  std::forward_list<std::string> copies_;
  std::vector<std::pair<std::string, size_t>> set_headers_;  ///< names and indexes in blobs_ of the
                                                             ///< headers; empty: they are no set
  Digest header_set_sha256_;
  bool names_header_set_ = false;
};

}  // namespace cccl_cache
