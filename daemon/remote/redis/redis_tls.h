// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

struct FreeTls {
  void operator()(SSL* tls) const { SSL_free(tls); }
};
using Tls = std::unique_ptr<SSL, FreeTls>;

/// Makes the client's side of a TLS connection, version 1.2 or newer. The server's certificate must
/// be for `host`, which is a name or an IP address. The certificates in `ca_file` are trusted, or
/// those of the system if `ca_file` is empty.
[[nodiscard]] Result<Tls> MakeTls(const std::string& host, const std::string& ca_file);

/// Returns why the server's certificate was refused. Empty if it was not refused.
[[nodiscard]] std::string CertificateProblem(const SSL* tls);

}  // namespace cccl_cache::daemon
