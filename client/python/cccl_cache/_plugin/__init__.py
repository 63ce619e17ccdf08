# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The parts that the plug-ins share. A plug-in makes a foreign package use the daemon."""
