"""Waiting for what a page or frame says of itself."""

import time


def until(frame, expression, seconds=15):
    """Wait for an expression to be true; Playwright's own way evaluates text in the page, which its policy forbids."""
    end = time.monotonic() + seconds
    while not frame.evaluate(expression):
        assert time.monotonic() < end, f"not within {seconds} s: {expression}"
        frame.wait_for_timeout(50)
