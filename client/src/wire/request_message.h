// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cccl_cache/v1/build.pb-c.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "cccl_cache/client_c.h"
#include "cccl_cache/expected.h"
#include "client/src/transport/byte_chain.h"
#include "proto/request.h"

namespace cccl_cache {

/// A BuildRequest of the protocol made from the structs of the C interface. Contents of files are
/// referred to, not copied: they must outlive it. CCCL_CACHE_INVALID_REQUEST names a text that
/// holds a NUL. Not thread-safe, does not move.
class RequestMessage {
 public:
  /// Something that may be sent ahead as an upload.
  struct BlobUse {
    CcclCache__V1__Blob* blob;
    std::string_view contents;
  };

  RequestMessage();
  RequestMessage(const RequestMessage&) = delete;
  RequestMessage& operator=(const RequestMessage&) = delete;

  Expected<Done> SetProgram(const cccl_cache_nvrtc& program);
  Expected<Done> SetProgram(const cccl_cache_link& program);
  Expected<Done> SetProgram(const cccl_cache_nvvm& program);
  /// Sets all of them but the priority.
  Expected<Done> SetOptions(const cccl_cache_build_options& options);
  void SetPriority(BuildPriority priority);

  /// Returns false if the build refuses to be compiled.
  [[nodiscard]] bool may_be_compiled() const {
    return request_.on_miss != CCCL_CACHE__V1__ON_MISS__ON_MISS_REFUSE;
  }

  [[nodiscard]] size_t PackedSize() const;
  [[nodiscard]] const CcclCache__V1__BuildRequest& message() const { return request_; }
  [[nodiscard]] const std::vector<BlobUse>& blobs() const { return blobs_; }
  /// Copies the contents, so that the message owns them.
  void CopyContents();
  /// Sends all contents inside the request, also those uploaded before.
  void InlineAll();
  /// Replaces the blob's contents by a reference to the upload with this SHA-256.
  void NameUpload(const BlobUse& use, std::string sha256);
  void AppendTo(ByteChain* body) const;
  /// These append the request as the build of an ExplainRequest, and as the first message of
  /// BuildWithFiles. The size is at most PackedSize() + kAround.
  static constexpr size_t kAround = 32;
  void AppendQuestionTo(ByteChain* body) const;
  void AppendWithFilesTo(ByteChain* body) const;
  /// Appends the request as a build of BuildMany with this tag.
  void AppendTaggedTo(uint64_t tag, ByteChain* body) const;

 private:
  char* Text(cccl_cache_bytes text, const char* field);
  std::vector<char*>* Texts(const cccl_cache_bytes* texts, size_t count, const char* field);
  CcclCache__V1__Blob* Blob(cccl_cache_bytes contents);
  void SetHeaders(const cccl_cache_nvrtc& program);
  void SetEnvironment(const cccl_cache_nvrtc& program);
  void SetFilesView();
  [[nodiscard]] Expected<Done> Outcome() const;

  CcclCache__V1__BuildRequest request_;
  CcclCache__V1__NvrtcProgram nvrtc_;
  CcclCache__V1__LinkProgram link_;
  CcclCache__V1__NvvmProgram nvvm_;
  CcclCache__V1__ToolchainSelector toolchain_;
  CcclCache__V1__FilesView files_view_;
  std::vector<CcclCache__V1__ArtifactKind> wanted_;
  // Deques, because pointers to their elements must stay valid.
  std::deque<std::string> texts_;
  std::deque<std::vector<char*>> text_lists_;
  std::deque<CcclCache__V1__Blob> blob_messages_;
  std::vector<CcclCache__V1__InlineHeader> headers_;
  std::vector<CcclCache__V1__InlineHeader*> header_pointers_;
  std::vector<CcclCache__V1__EnvironmentVariable> variables_;
  std::vector<CcclCache__V1__EnvironmentVariable*> variable_pointers_;
  std::vector<CcclCache__V1__LinkInput> inputs_;
  std::vector<CcclCache__V1__LinkInput*> input_pointers_;
  std::vector<CcclCache__V1__NvvmModule> modules_;
  std::vector<CcclCache__V1__NvvmModule*> module_pointers_;
  std::vector<BlobUse> blobs_;
  const char* invalid_field_ = nullptr;
};

/// All parts of a request that decide on its answer, in the structs of the C interface. Two
/// requests with the same pieces are the same request. Refers to the program's texts, which must
/// outlive it. Not thread-safe.
class RequestPieces {
 public:
  RequestPieces(const cccl_cache_nvrtc& program, const cccl_cache_build_options& options);
  RequestPieces(const cccl_cache_link& program, const cccl_cache_build_options& options);
  RequestPieces(const cccl_cache_nvvm& program, const cccl_cache_build_options& options);

  /// Equal for equal requests, and for few others.
  [[nodiscard]] size_t Hash() const;
  /// Returns all pieces as one string, unique to each request.
  [[nodiscard]] std::string Bytes() const;
  /// Bytes() == bytes, without making them.
  [[nodiscard]] bool Same(std::string_view bytes) const;

 private:
  void AddNumber(uint64_t number) { numbers_.push_back(number); }
  void AddText(cccl_cache_bytes text);
  void AddTexts(const cccl_cache_bytes* texts, size_t count);
  void AddOptions(const cccl_cache_build_options& options);

  // The numbers include every length that may vary. So numbers and texts, one after the other, are
  // unambiguous.
  std::vector<uint64_t> numbers_;
  std::vector<std::string_view> texts_;
};

}  // namespace cccl_cache
