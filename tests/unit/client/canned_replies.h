// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cccl_cache/v1/build.pb.h>

#include <string>

namespace v1 = cccl_cache::v1;

/// A reply that is a hit with one cubin.
v1::BuildReply HitWithCubin(std::string contents);
/// Returns bytes that vary with their position, so that a misplaced piece is noticed.
std::string SomeBytes(size_t size);
