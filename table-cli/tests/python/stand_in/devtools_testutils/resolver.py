"""Leads the host names of storage accounts in the cloud to the server under test."""

import os
import socket

SUFFIX = ".table.core.windows.net"


def install():
    port = os.environ.get("TABLES_TEST_PORT")
    if not port:
        return
    original = socket.getaddrinfo

    def getaddrinfo(host, *args, **kwargs):
        name = host.decode() if isinstance(host, bytes) else host
        if name and name.endswith(SUFFIX):
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", int(port)))]
        return original(host, *args, **kwargs)

    socket.getaddrinfo = getaddrinfo
