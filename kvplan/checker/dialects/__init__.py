"""One module per engine: how its server is recognized in a command or an image, and which of its flags mean what.

A module has ``ENGINE`` (the name in the answer), ``IMAGES`` (a pattern for names of images that start it, their tag off), ``TABLE``
(``kvplan.checker.table.Table``), ``begins(words) -> int`` (how many words at the start of a command are the program's name, 0 where it is
another), and ``version(image) -> str | None``.

One whose engine kvplan models also has ``line(server, words) -> tuple[str, ...]``: the command as ``kvplan estimate -- …`` takes it;
where there are forks ``OWN``, a pattern of the images that hold the project's own releases; and where versions matter
``check_version(version)``, which raises RequestError for one that is not modeled.
"""
