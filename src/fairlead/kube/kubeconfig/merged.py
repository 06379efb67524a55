"""Kubeconfigs: finding, loading and merging them as kubectl does, and choosing a context. Owns
precedence between files; knows nothing of the fields inside a stanza."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from fairlead.errors import InvalidInput
from fairlead.kube.access import Access
from fairlead.kube.credentials import read_file
from fairlead.kube.kubeconfig.access import access_of
from fairlead.kube.kubeconfig.schema import (
    ClusterStanza,
    ConfigFile,
    ContextStanza,
    UserStanza,
    parse_file,
)
from fairlead.kube.kubeconfig.writer import assemble

_T = TypeVar("_T")


class Kubeconfig:
    """One or more kubeconfig files seen as one: the first to set something wins.

    Only types are checked on loading; a context that is broken hurts nobody until it is asked
    for, because real kubeconfigs are full of leftovers.
    """

    def __init__(self, files: Sequence[ConfigFile], sources: Sequence[str]) -> None:
        self.sources = tuple(sources)
        self._files = tuple(files)
        self._clusters: dict[str, ClusterStanza] = _first_wins(f.clusters for f in files)
        self._users: dict[str, UserStanza] = _first_wins(f.users for f in files)
        self._contexts: dict[str, ContextStanza] = _first_wins(f.contexts for f in files)

    def __repr__(self) -> str:
        return f"Kubeconfig(sources={self.sources}, contexts={self.contexts})"

    @property
    def contexts(self) -> tuple[str, ...]:
        """The names of all contexts, in the order they were written."""
        return tuple(self._contexts)

    @property
    def current_context(self) -> str | None:
        return next((f.current_context for f in self._files if f.current_context), None)

    def access(self, context: str | None = None) -> Access:
        """Access by a context, or by the current one; everything about it is checked."""
        chosen = self._context(context)
        return access_of(chosen, self._cluster_of(chosen), self._user_of(chosen))

    def to_text(self, contexts: Sequence[str] | None = None) -> str:
        """A kubeconfig of these contexts (None: all), credentials included, paths absolute."""
        names = self.contexts if contexts is None else contexts
        chosen = [self._context(name) for name in names]
        current = self.current_context
        return assemble(
            clusters={
                c.cluster: self._clusters[c.cluster].portable()
                for c in chosen
                if c.cluster in self._clusters
            },
            users={c.user: self._users[c.user].portable() for c in chosen if c.user in self._users},
            contexts={c.name: c.fields.data for c in chosen},
            current=current if current in names else None,
        )

    def _context(self, name: str | None) -> ContextStanza:
        if name is None:
            return self._current()
        if name not in self._contexts:
            problem = f"there is no context {name!r}"
            raise InvalidInput(self._place(), problem, self._choices())
        return self._contexts[name]

    def _current(self) -> ContextStanza:
        for file in self._files:
            if not (name := file.current_context):
                continue
            if name in self._contexts:
                return self._contexts[name]
            problem = f"the current context {name!r} does not exist"
            raise file.fields.invalid(problem, "current-context", remedy=self._choices())
        if not self._files:
            problem = "there is no kubeconfig"
            raise InvalidInput(self._place(), problem, "name one with KUBECONFIG or --kubeconfig")
        raise InvalidInput(self._place(), "current-context is not set", self._choices())

    def _cluster_of(self, context: ContextStanza) -> ClusterStanza:
        if context.cluster in self._clusters:
            return self._clusters[context.cluster]
        problem = f"the context {context.name!r} names no cluster"
        if context.cluster:
            problem = f"the context {context.name!r} names a cluster that is not there"
        remedy = f"choose {_one_of(self._clusters)}" if self._clusters else "add it to `clusters`"
        raise context.fields.invalid(problem, "cluster", remedy=remedy)

    def _user_of(self, context: ContextStanza) -> UserStanza | None:
        if not context.user:
            return None
        if context.user in self._users:
            return self._users[context.user]
        problem = f"the context {context.name!r} names a user that is not there"
        remedy = f"choose {_one_of(self._users)}" if self._users else "add it to `users`"
        raise context.fields.invalid(problem, "user", remedy=remedy)

    def _place(self) -> str:
        return ", ".join(self.sources) or "KUBECONFIG"

    def _choices(self) -> str:
        if not self._contexts:
            return "it has no contexts at all; add one to `contexts`"
        return f"choose {_one_of(self._contexts)}"


def load_kubeconfig(paths: Sequence[Path] | None = None) -> Kubeconfig:
    """The merged kubeconfig of these files, or of the ones kubectl would use.

    A file named here must exist; one only listed in KUBECONFIG may be missing.
    """
    chosen = default_paths() if paths is None else tuple(paths)
    files = []
    for path in chosen:
        try:
            raw = read_file(path, "kubeconfig")
        except InvalidInput as error:
            if paths is None and isinstance(error.__cause__, FileNotFoundError):
                continue
            raise
        files.append(parse_file(raw, str(path), path.absolute().parent))
    return Kubeconfig(files, [str(path) for path in chosen])


def default_paths() -> tuple[Path, ...]:
    """Where kubectl looks: the list in KUBECONFIG, else `~/.kube/config`."""
    listed = os.environ.get("KUBECONFIG", "")
    if listed:
        return tuple(Path(entry) for entry in dict.fromkeys(listed.split(os.pathsep)) if entry)
    try:
        return (Path.home() / ".kube" / "config",)
    except RuntimeError:
        # No home directory is known, as in a container with a made-up user id.
        return ()


def parse_kubeconfig(
    text: str | bytes, source: str, *, allow_files: bool = False, allow_exec: bool = False
) -> Kubeconfig:
    """A kubeconfig that somebody else wrote, such as the one in a Secret.

    By default it may neither name files nor programs: whoever can write a Secret must not be able
    to read files of this machine or run programs on it. File names, where allowed, are relative
    to the working directory.
    """
    file = parse_file(text, source, Path.cwd() if allow_files else None)
    for user in file.users.values():
        if user.exec is not None and not allow_exec:
            problem = f"the user {user.name!r} runs a program, which is not allowed here"
            remedy = "use a token or a client certificate"
            raise user.fields.invalid(problem, "exec", remedy=remedy)
    return Kubeconfig([file], [source])


def _first_wins(mappings: Iterable[Mapping[str, _T]]) -> dict[str, _T]:
    merged: dict[str, _T] = {}
    for mapping in mappings:
        for name, value in mapping.items():
            merged.setdefault(name, value)
    return merged


def _one_of(names: Iterable[str], limit: int = 10) -> str:
    listed = [repr(name) for name in names]
    more = f" or one of {len(listed) - limit} more" if len(listed) > limit else ""
    return ("one of " if len(listed) > 1 else "") + ", ".join(listed[:limit]) + more
