# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The parts that the plug-ins share: each makes a foreign package use the daemon."""
