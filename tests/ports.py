"""Ports on which nothing listens yet, and TF_CONFIG of workers at such ports."""

import contextlib
import json
import socket


def free_ports(count: int) -> list[int]:
    """Return different ports."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("localhost", 0))
        return [int(each.getsockname()[1]) for each in sockets]


def free_port() -> int:
    """Return one port."""
    return free_ports(1)[0]


def answers(port: int) -> bool:
    """Return whether a server listens on the port."""
    with socket.socket() as client:
        return client.connect_ex(("localhost", port)) == 0


def tf_config(index: int, **cluster: list[str]) -> str:
    """Return TF_CONFIG of a worker in a cluster of addresses by role."""
    return json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})


def tf_configs(num_workers: int) -> list[str]:
    """Return TF_CONFIG of each of several workers on this machine."""
    addresses = [f"localhost:{port}" for port in free_ports(num_workers)]
    return [tf_config(index, worker=addresses) for index in range(num_workers)]
