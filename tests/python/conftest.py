# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The installed package with real daemons."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "integration"))

from daemon_fixtures import directory, fake, lasting, make_daemon, real, toolkit  # noqa: E402,F401
