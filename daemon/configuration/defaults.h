// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "daemon/configuration/configuration.h"
#include "daemon/configuration/surroundings.h"

namespace cccl_cache::daemon {

/// What holds where nothing is set. Root and the system service get the node's places, a user gets
/// private ones; the directories that systemd made for the service come first. What has no safe
/// place is left empty: never /tmp.
[[nodiscard]] Configuration DefaultConfiguration(const Surroundings& surroundings);

/// The file that is read if it is there and no other one is named; may be empty.
[[nodiscard]] std::string DefaultConfigFile(const Surroundings& surroundings);

}  // namespace cccl_cache::daemon
