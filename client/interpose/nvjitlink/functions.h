// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "client/interpose/real_library.h"

// The functions of libnvJitLink with the declarations that NVIDIA's releases have. The file
// nvJitLink.names lists the exports of each release.

using LinkCode = int;  ///< an nvJitLinkResult, whose numbers differ between releases
using LinkHandle = struct LinkOpaque*;

#pragma GCC visibility push(default)
extern "C" {
LinkCode nvJitLinkCreate(LinkHandle* link, uint32_t count, const char** options);
LinkCode nvJitLinkDestroy(LinkHandle* link);
LinkCode nvJitLinkAddData(LinkHandle link, int type, const void* data, size_t size,
                          const char* name);
LinkCode nvJitLinkAddFile(LinkHandle link, int type, const char* path);
LinkCode nvJitLinkComplete(LinkHandle link);
LinkCode nvJitLinkGetLinkedCubinSize(LinkHandle link, size_t* size);
LinkCode nvJitLinkGetLinkedCubin(LinkHandle link, void* out);
LinkCode nvJitLinkGetLinkedPtxSize(LinkHandle link, size_t* size);
LinkCode nvJitLinkGetLinkedPtx(LinkHandle link, char* out);
LinkCode nvJitLinkGetLinkedLTOIRSize(LinkHandle link, size_t* size);
LinkCode nvJitLinkGetLinkedLTOIR(LinkHandle link, void* out);
LinkCode nvJitLinkGetErrorLogSize(LinkHandle link, size_t* size);
LinkCode nvJitLinkGetErrorLog(LinkHandle link, char* out);
LinkCode nvJitLinkGetInfoLogSize(LinkHandle link, size_t* size);
LinkCode nvJitLinkGetInfoLog(LinkHandle link, char* out);
LinkCode nvJitLinkVersion(unsigned* major, unsigned* minor);
/// Undocumented. Returns a pointer to the internal function with this number, or null. Only the
/// number 0xc0fd is known: that function adds an input to the link in its first argument.
void* __nvJitLinkAPI(unsigned function);
}
#pragma GCC visibility pop

// Looks up a function of the real library. Releases before 12.3 export no plain names, only names
// with the release number.
#define REAL_LINK(name)                                                    \
  cccl_cache::interpose::RealFunction<&nvJitLink##name>("nvJitLink" #name, \
                                                        "__nvJitLink" #name "_12_0")
