# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Files of cached results: made, inserted, recorded while a program runs, carried by packages."""
