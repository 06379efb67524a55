"""What Fairlead costs, measured: `python -m bench` runs every measurement or those named, writes
`bench/results/*.json` and the tables of `docs/performance.md`, and fails if a bar is missed. Every
contender and every server is a process of its own, so that none pays for another's memory or
interpreter."""
