// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cccl_cache/client_c.h"

namespace cccl_cache {

/// All of a request that decides on its answer, as it lies in the structs of the C interface: two
/// requests with the same pieces are the same request. Refers to the program's texts, which must
/// outlive it. Not thread-safe.
class RequestPieces {
 public:
  RequestPieces(const cccl_cache_nvrtc& program, const cccl_cache_build_options& options);
  RequestPieces(const cccl_cache_link& program, const cccl_cache_build_options& options);
  RequestPieces(const cccl_cache_nvvm& program, const cccl_cache_build_options& options);

  /// Equal for equal requests, and for few others.
  [[nodiscard]] size_t Hash() const;
  /// All of it in one piece, which tells each request from every other.
  [[nodiscard]] std::string Bytes() const;
  /// Bytes() == bytes, without making them.
  [[nodiscard]] bool Same(std::string_view bytes) const;

 private:
  void AddNumber(uint64_t number) { numbers_.push_back(number); }
  void AddText(cccl_cache_bytes text);
  void AddTexts(const cccl_cache_bytes* texts, size_t count);
  void AddOptions(const cccl_cache_build_options& options);

  // Whatever has a length that may vary says so among the numbers: so these and the texts, one
  // after the other, are unambiguous.
  std::vector<uint64_t> numbers_;
  std::vector<std::string_view> texts_;
};

}  // namespace cccl_cache
