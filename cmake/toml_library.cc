// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// toml++ as an archive.
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
