"""The chapters of the tour, in order. A new one is a module here with a `CHAPTER`, and a line
below."""

from fairlead.demo.chapters import fleet, outage, rebuilt, rotation
from fairlead.demo.story import Chapter

CHAPTERS: tuple[Chapter, ...] = (
    fleet.CHAPTER,
    outage.CHAPTER,
    rotation.CHAPTER,
    rebuilt.CHAPTER,
)
