"""A server for `cargo xtask bench line`. Requests wait in a queue, and are admitted one by one at a given rate.

Arguments: requests per second, and `regular` or `random` (exponentially distributed intervals). Prints its port.
"""

import asyncio
import random
import sys

RATE = float(sys.argv[1])
RANDOM = sys.argv[2] == "random"
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"
free = 0.0  # Earliest time at which the next request is admitted.


class Connection(asyncio.Protocol):
    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.left = b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        global free
        data = self.left + data
        while b"\r\n\r\n" in data:
            _, data = data.split(b"\r\n\r\n", 1)
            now = self.loop.time()
            admitted = max(free, now)
            free = admitted + (random.expovariate(RATE) if RANDOM else 1.0 / RATE)
            if admitted <= now:
                self.respond()
            else:
                self.loop.call_at(admitted, self.respond)
        self.left = data

    def respond(self):
        # If the client has closed the connection, its request keeps its place in the queue.
        if not self.transport.is_closing():
            self.transport.write(RESPONSE)


async def main():
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
