"""The page and its JSON API: ``fewratio serve``.

A job is a command line of ``fewratio``, run by a worker process in a private folder (`workers`). `verbs` makes it from
a request, `store` keeps files and jobs and removes old ones, `guard` decides which requests to accept, and `app` is the
API. The server itself never parses uploaded files.
"""
