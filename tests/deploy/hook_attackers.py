"""Connections that hold a hook up, and yield the processor to all others: hook_attackers.py HOST PORT CERTIFICATE IDLE DRIPPING.
Prints a line once all are open, and ends with another one at the end of its input."""
import asyncio
import os
import ssl
import sys

HOST, PORT, CERTIFICATE, IDLE, DRIPPING = sys.argv[1:6]
TLS = ssl.create_default_context(cafile=CERTIFICATE)
HEADER = b"POST /mutate HTTP/1.1\r\nContent-Length: 100\r\n"
# How long all take to be opened: the drips are not opened at once, since all of them would be cut and come back at once.
OPENING_SECONDS = 4


class Counts:
    opened = dripping = refused = 0


async def connect():
    return await asyncio.open_connection(HOST, int(PORT), ssl=TLS)


def is_over(reader):
    return reader.at_eof() or reader.exception() is not None


async def drip(counts, delay):
    """Sends a header byte by byte, and begins again when the hook has had enough."""
    await asyncio.sleep(delay)
    while True:
        try:
            reader, writer = await connect()
        except OSError:
            counts.refused += 1
            await asyncio.sleep(1)
            continue
        counts.opened += 1
        counts.dripping += 1
        for byte in HEADER:
            writer.write(bytes([byte]))
            await asyncio.sleep(1)
            if is_over(reader):
                break
        counts.dripping -= 1
        writer.transport.abort()


async def main():
    os.nice(19)
    counts = Counts()
    drips = [asyncio.create_task(drip(counts, OPENING_SECONDS * turn / int(DRIPPING))) for turn in range(int(DRIPPING))]
    idle = [await connect() for _ in range(int(IDLE))]
    while counts.dripping < int(DRIPPING):
        await asyncio.sleep(0.1)
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    alive = sum(not is_over(reader) for reader, _ in idle)
    print(f"{alive} idle ones still open, {counts.dripping} dripping, {counts.opened} drips begun, {counts.refused} refused")
    for task in drips:
        task.cancel()
    for _, writer in idle:
        writer.transport.abort()


asyncio.run(main())
