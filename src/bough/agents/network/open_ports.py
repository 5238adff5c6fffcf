"""Opens the ports of a box, hands them to the proxy outside, and becomes the agent.

Runs inside the box as `python -I -S open_ports.py FD ADDRESS/PORT,… COMMAND…`, in the box's own network, where nothing
but its own loopback exists. A socket stays in the network in which it was opened, whoever holds it: the proxy accepts
the connections, and no process of ours stays in the box, where the agent could end or imitate it."""

import json
import os
import signal
import socket
import sys

BACKLOG = 128
RESET = (signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that Python ignores. The agent would inherit that."""


def main(words: list[str]) -> None:
    channel = socket.socket(fileno=int(words[0]))
    channel.set_inheritable(False)
    opened: list[int] = []
    listeners: list[socket.socket] = []
    for number, place in enumerate(words[1].split(",")):
        address, _, port = place.rpartition("/")
        listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, int(port)))
            listener.listen(BACKLOG)
        except OSError as error:
            print(f"Port {place} of the sandbox cannot be opened: {error.strerror}.", file=sys.stderr)
            continue
        opened.append(number)
        listeners.append(listener)
    socket.send_fds(channel, [json.dumps(opened).encode()], [listener.fileno() for listener in listeners])
    if channel.recv(1) != b"+":
        sys.exit("The proxy of the sandbox does not run.")
    for number in RESET:
        signal.signal(number, signal.SIG_DFL)
    # All sockets are closed by this.
    os.execv(words[2], words[2:])


if __name__ == "__main__":
    main(sys.argv[1:])
