"""Lists fetched in chunks that together are one consistent snapshot. Knows nothing of watching."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.kube.call import Call, target
from fairlead.kube.caller import Caller
from fairlead.kube.errors import Gone
from fairlead.kube.objects import NotAnObject, ObjectList, Page, decode_page
from fairlead.kube.refusals import bad_answer, outline
from fairlead.kube.resource import Object, Resource

Transform = Callable[[Object], Object]
_WHOLE_LIST_SECONDS = 60.0


class Listing:
    """One list request: what to ask for, whatever number of chunks it takes."""

    def __init__(
        self,
        caller: Caller,
        resource: Resource,
        namespace: str | None,
        query: dict[str, str],
        accept: str,
        transform: Transform | None,
    ) -> None:
        self._caller = caller
        self._resource = resource
        self._namespace = namespace
        self._path = resource.path(namespace)
        self._query = query
        self._accept = accept
        self._transform = transform

    async def fetch(self, chunk: int) -> ObjectList:
        try:
            return await self._chunks(chunk)
        except _TokenExpired:
            # The snapshot behind the continue token was compacted away. As client-go does, begin
            # anew in one piece, where that cannot happen again.
            return await self._chunks(0)

    async def _chunks(self, chunk: int) -> ObjectList:
        result = ObjectList()
        token = ""
        while True:
            page, items = await self._page(chunk, token)
            result.items.extend(items)
            result.resource_version = page.metadata.resource_version or ""
            following = page.metadata.token or ""
            if not following:
                return result
            if following == token:
                raise bad_answer(self._caller.asked(self._call({})), "chunks that never end")
            token = following

    async def _page(self, chunk: int, token: str) -> tuple[Page, list[Object]]:
        paging = {"limit": str(chunk)} if chunk else {}
        if token:
            paging["continue"] = token
        call = self._call(paging)
        try:
            answer = await self._caller.perform(call, None if chunk else _WHOLE_LIST_SECONDS)
        except Gone as error:
            if token:
                raise _TokenExpired from error
            raise
        try:
            return decode_page(answer.body, self._resource, self._transform)
        except NotAnObject as error:
            seen = outline(answer.headers, answer.body)
            raise bad_answer(self._caller.asked(call), f"{error} ({seen})") from error

    def _call(self, paging: dict[str, str]) -> Call:
        where = target(self._path, self._query | paging)
        return Call("GET", where, self._resource, self._namespace, accept=self._accept)


class _TokenExpired(Exception):
    """A continue token outlived its snapshot."""
