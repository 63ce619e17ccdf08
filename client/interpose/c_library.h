// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gnu/libc-version.h>

extern "C" __attribute__((weak)) const char* gnu_get_libc_version() noexcept;  // null with musl

// This header uses no C++ runtime, because libraries without one include it.

namespace cccl_cache::interpose {

/// Returns the number at the beginning of the text.
inline unsigned NumberAt(const char* digit) {
  unsigned number = 0;
  for (; *digit >= '0' && *digit <= '9'; ++digit) number = number * 10 + unsigned(*digit - '0');
  return number;
}

/// Returns N of the version 2.N of this process's glibc, or 0 with another C library.
inline unsigned GlibcMinor() {
  return gnu_get_libc_version == nullptr ? 0 : NumberAt(gnu_get_libc_version() + sizeof("2.") - 1);
}

/// Returns whether an auditor (LD_AUDIT) causes no cost for function calls. Before glibc 2.35,
/// every call between libraries went through the loader if there was an auditor.
inline bool AuditsAreFree() { return GlibcMinor() >= 35; }

/// Returns whether the loader unmaps an auditor that wants to be ignored. Older versions print an
/// error, and by glibc's bug 24122 may crash. 2.31 is the oldest that was tried.
inline bool AuditorsMayLeave() { return GlibcMinor() >= 31; }

}  // namespace cccl_cache::interpose
