# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A namespace for modules that a program generates from cccl_cache/v1/*.proto, to use the protocol without this client.
Python finds the modules in each folder `cccl_cache/v1` below an entry of sys.path. This package has none."""

import os
import sys

__path__ += [each for each in (os.path.join(entry, "cccl_cache", "v1") for entry in sys.path)
             if os.path.isdir(each) and each not in __path__]
