"""Runs a command with no network but loopback, where the machine allows it.

    python tests/loopback.py python -m pytest tests

So a test that reaches for another machine fails, and nobody reaches the servers that tests start.
Linux namespaces do it, without privileges; on other Unix systems the command runs as it is.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40


def leave_network() -> None:
    """This process, and those it starts, from now on."""
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    # The same user as before, who may start the loopback.
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, request)


def main() -> None:
    # A namespace once made is not left again, so a child tries first.
    child = os.fork()
    if child == 0:
        try:
            leave_network()
        except (OSError, AttributeError):
            os._exit(1)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        leave_network()
        print("no network but loopback", flush=True)
    else:
        print("with the network: this machine allows no namespaces", flush=True)
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
