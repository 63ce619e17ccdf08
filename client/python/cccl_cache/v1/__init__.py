# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing of this package's: the place of modules that are generated from cccl_cache/v1/*.proto, for programs that speak
the protocol themselves. They are found in every folder `cccl_cache/v1` below an entry of sys.path."""

import os
import sys

__path__ += [each for each in (os.path.join(entry, "cccl_cache", "v1") for entry in sys.path)
             if os.path.isdir(each) and each not in __path__]
