# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon cccl-cached, which ``python -m cccl_cache serve`` starts."""

import os

PLACE = os.path.dirname(os.path.abspath(__file__))
