"""One file per format. A module has ``KIND`` (as in ``deployments[].kind``), ``claims(file: Text) -> bool``, cheap and by content as much
as by name, and ``servers(file: Text) -> Iterator[Server | Unreadable]``. Formats never import each other; what several need stands in
``kvplan/checker/*.py``."""
