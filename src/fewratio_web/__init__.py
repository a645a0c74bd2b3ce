"""The page and its JSON API: ``fewratio serve``.

A job is a command line of ``fewratio``, run by a worker process in a private folder (`workers`). `commands` makes it of
a request, `store` keeps files and jobs and forgets them, `guard` decides which requests are let in, and `app` is the
API. The server itself never parses what was uploaded.
"""
