"""Exchanges JSON-RPC messages with the client that started this agent, over stdin and stdout."""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from bough.agents.acp_server.stdio import StdoutWriter, read_lines
from bough.agents.json_rpc import (
    Json,
    PendingRequests,
    RequestId,
    RpcError,
    RpcMessage,
    UnreadableMessage,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
    read_message,
)


class ClientConnection:
    """Both directions of the conversation with one client. Sending never waits."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self.output = StdoutWriter(write_fd)
        self._requests = PendingRequests()
        # What the client declared in `initialize`.
        self.client_capabilities: Json = {}

    async def messages(self) -> AsyncIterator[RpcMessage]:
        """Yields the client's messages until it closes its end. Answers unreadable lines with an error."""
        lines = read_lines(self._read_fd)
        while (line := await lines.get()) is not None:
            try:
                message = read_message(line)
            except UnreadableMessage as error:
                self.refuse(error.request_id, error)
            else:
                yield message

    def notify(self, method: str, params: Json) -> None:
        """Sends a notification."""
        self._send(encode_notification(method, params))

    def answer(self, request_id: RequestId, result: Json) -> None:
        """Answers a request of the client."""
        self._send(encode_result(request_id, result))

    def refuse(self, request_id: RequestId, error: RpcError) -> None:
        """Answers a request of the client with an error."""
        self._send(encode_error(request_id, error.code, str(error), error.data))

    async def request(self, method: str, params: Json) -> msgspec.Raw:
        """Sends a request and returns its result. Sends `$/cancel_request` if the caller is cancelled meanwhile."""
        request_id, future = self._requests.add()
        self._send(encode_request(request_id, method, params))
        try:
            return await future
        except asyncio.CancelledError:
            self.notify("$/cancel_request", {"requestId": request_id})
            raise
        finally:
            self._requests.remove(request_id)

    def settle(self, answer: RpcMessage) -> None:
        """Hands the client's answer to the request that waits for it."""
        self._requests.settle(answer)

    def _send(self, frame: bytes) -> None:
        self.output.write(frame + b"\n")
