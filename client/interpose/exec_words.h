// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdarg>
#include <cstddef>

namespace cccl_cache::interpose {

/// Collects the arguments of a variadic call such as execl(), up to the null, and calls `start`
/// with them. Afterwards `list` is at the argument behind the null, which for execle() is the
/// environment. Uses only the stack.
template <typename Start>
int WithWords(const char* first, va_list* list, Start start) {
  size_t count = 1;
  va_list counted;
  va_copy(counted, *list);
  while (first != nullptr && va_arg(counted, char*) != nullptr) ++count;
  va_end(counted);
  auto** words = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));
  words[0] = const_cast<char*>(first);
  for (size_t i = 1; first != nullptr && i <= count; ++i) words[i] = va_arg(*list, char*);
  return start(words);
}

}  // namespace cccl_cache::interpose
