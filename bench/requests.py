"""Measures what a client costs on top of HTTP and JSON: the same small GETs, some in parallel, by
each client in turn against one canned server. Knows nothing of how the clients work."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack
from statistics import median

from bench.figures import Report, Tally, at_most
from bench.processes import Child
from bench.sizes import Sizes

NAME = "requests"
_LIMIT = 1.5
_SUBJECTS = {
    "bare": "aiohttp + msgspec, bare",
    "fairlead": "Fairlead",
    "fairlead-observed": "Fairlead, with metrics",
    "lightkube": "lightkube",
    "kubernetes_asyncio": "kubernetes_asyncio",
}
_SCHEMES = {"http": "HTTP", "https": "HTTPS"}


async def measure(sizes: Sizes) -> Report:
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
        async with AsyncExitStack() as stack:
            server = await stack.enter_async_context(Child("canned_server", folder))
            kubeconfigs = await server.ask(do="serve")
            clients = {
                contender: await stack.enter_async_context(Child("http_clients", contender))
                for contender in _SUBJECTS
            }
            for scheme, name in _SCHEMES.items():
                await _rounds(clients, kubeconfigs[scheme], name, sizes, tally)
    bars = [
        at_most(
            f"Fairlead's GETs over {name} take at most 1.5x the time of bare aiohttp + msgspec",
            median(tally.values(_SUBJECTS["fairlead"], f"{name}, x bare")),
            _LIMIT,
            "x",
        )
        for name in _SCHEMES.values()
    ]
    return Report(
        NAME,
        f"{sizes.requests:,} small GETs, {sizes.parallel} in parallel",
        "One warm connection pool each, uvloop everywhere, contenders in turn round by round; "
        "`x bare` is the median of the rounds' ratios.",
        {"requests": sizes.requests, "parallel": sizes.parallel, "rounds": sizes.request_rounds},
        tally.figures(),
        bars,
    )


async def _rounds(
    clients: dict[str, Child], kubeconfig: str, scheme: str, sizes: Sizes, tally: Tally
) -> None:
    order = {
        "kubeconfig": kubeconfig,
        "requests": sizes.requests,
        "parallel": sizes.parallel,
    }
    # Connections and caches are warm from here on.
    await asyncio.gather(*(client.ask(**order) for client in clients.values()))
    for _ in range(sizes.request_rounds):
        seconds: dict[str, float] = {}
        for contender, client in clients.items():
            answer = await client.ask(**order)
            seconds[contender] = answer["seconds"]
            subject = _SUBJECTS[contender]
            tally.add(subject, f"{scheme}, time", "ms", answer["seconds"] * 1e3)
            tally.add(subject, f"{scheme}, x bare", "x", seconds[contender] / seconds["bare"])
            tally.add(subject, f"{scheme}, processor", "ms", answer["processor"] * 1e3)
