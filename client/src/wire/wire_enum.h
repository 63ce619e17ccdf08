// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

namespace cccl_cache {

/// The number in an enum field as protobuf-c left it there: whatever came, which an enum of C++
/// must not be asked for.
template <typename Field>
int WireNumber(const Field& field) {
  static_assert(sizeof(Field) == sizeof(int));
  int number = 0;
  std::memcpy(&number, &field, sizeof(number));
  return number;
}

/// The field as the C interface has it. Both number their values alike, up to the last one that
/// this library knows; what a newer daemon says beyond that is 0.
template <typename Known, typename Field>
Known FromWire(const Field& field, Known last) {
  const int number = WireNumber(field);
  return number >= 0 && number <= static_cast<int>(last) ? static_cast<Known>(number) : Known{};
}

}  // namespace cccl_cache
