"""Three programs share a jukebox: those that want the same disc hear it together. Here all three run in one process."""

import asyncio

import congenial

PEERS = {"a": "127.0.0.1:7101", "b": "127.0.0.1:7102", "c": "127.0.0.1:7103"}


async def listener(name: str, disc: str) -> None:
    async with congenial.join(name, peers=PEERS) as cluster:
        async with cluster.group("jukebox", disc) as held:  # holders of one disc run together, other discs wait
            print(f"{name} hears {disc}, fence {held.fence}")
            await asyncio.sleep(0.1)
        async with cluster.mutex("guest-book"):  # one at a time
            print(f"{name} writes in the guest book")
        await asyncio.sleep(1)  # stay a while, so that the others find a majority


async def main() -> None:
    await asyncio.gather(listener("a", "disc-7"), listener("b", "disc-7"), listener("c", "disc-2"))


asyncio.run(main())
