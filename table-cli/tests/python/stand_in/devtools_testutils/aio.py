"""The asynchronous part of the stand-in."""

import functools

from . import taken_by


def recorded_by_proxy_async(test):
    @functools.wraps(test)
    async def call(*args, **kwargs):
        return await test(*args, **taken_by(test, kwargs))

    return call
