"""The network's tests rely on their cable: a cut must leave no connection behind."""

from __future__ import annotations

import asyncio

from netlab import Cable, listener


def test_a_cut_also_ends_a_connection_that_is_being_made() -> None:
    async def story() -> None:
        target = listener()
        arrived: list[asyncio.StreamWriter] = []
        server = await asyncio.start_server(lambda _, writer: arrived.append(writer), sock=target)
        cable = Cable(target)
        await cable.start()
        host, port = cable.listener.getsockname()
        reader, writer = await asyncio.open_connection(host, port)
        while not cable.tasks:  # the cable has answered, and calls its target
            await asyncio.sleep(0)
        assert not cable.writers
        cable.cut()
        assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()
        await cable.close()
        server.close()

    asyncio.run(story())
