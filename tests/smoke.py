"""What a freshly installed package must do, wherever it is: python tests/smoke.py"""

from __future__ import annotations

import asyncio
import importlib.resources

import congenial


async def play() -> None:
    async with congenial.join("a", {"a": "127.0.0.1:7101"}) as cluster:
        async with cluster.mutex("x", timeout=10) as held:
            assert held.fence > 0
        async with cluster.group("y", "g", timeout=10), cluster.semaphore("z", 2, timeout=10):
            pass


def main() -> None:
    assert congenial.check("suzuki-kasami", nodes=2, requests=1).ok
    assert congenial.simulate("maekawa", nodes=9).ok
    asyncio.run(play())
    files = importlib.resources.files("congenial")
    assert (files / "py.typed").is_file()
    assert (files / "studio/page/index.html").is_file()
    print(f"congenial {congenial.__version__} in {files} works")


if __name__ == "__main__":
    main()
