"""Say what the machine lacks, before the work or after it failed."""

from contextlib import suppress

# Bytes of address space that libraries and their threads reserve, mostly without using them.
_LEAST_ADDRESSES = 2**30


def check_limit() -> None:
    """Refuse a memory limit at which threads of pyarrow or OpenBLAS cannot start: the program would wait forever."""
    with suppress(ImportError):
        # Not on Windows.
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY and limit < _LEAST_ADDRESSES:
            raise MemoryError(f"the limit is {limit // 2**20} MB of addresses; 1 GB is needed")


def describe_error(error: Exception) -> str:
    """Say what the machine lacks, or what it cannot write."""
    if isinstance(error, UnicodeEncodeError):
        found = f"the output holds {error.object[error.start : error.end]!a}, which {error.encoding} cannot write"
        return f"{found}; expected UTF-8. Set PYTHONUTF8=1, or write to a file with --output."
    if isinstance(error, OSError):
        return str(error)
    found = f"the machine has too little memory, or a limit on it ({error or 'none is left'})"
    return f"{found}. Raise the limit (ulimit -v), or use fewer rows."
