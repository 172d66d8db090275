"""A stand-in for Microsoft's unpublished package of this name, for tests against a running server.

Decorators call through, sanitizers and matchers do nothing, and PowerShellPreparer fills arguments from
environment variables. `resolver` leads the cloud's host names to the server.
"""

import base64
import functools
import inspect
import json
import os
import time
import zlib

import azure.identity
import azure.identity.aio
import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError

from . import resolver

resolver.install()


def is_live():
    return True


def _nothing(*_args, **_kwargs):
    return None


add_general_regex_sanitizer = add_body_key_sanitizer = add_oauth_response_sanitizer = _nothing
remove_batch_sanitizers = set_custom_default_matcher = set_bodiless_matcher = _nothing


@pytest.fixture(scope="session")
def test_proxy():
    yield None


def recorded_by_proxy(test):
    @functools.wraps(test)
    def call(*args, **kwargs):
        return test(*args, **taken_by(test, kwargs))

    return call


def taken_by(test, kwargs):
    """The arguments that a test takes. One with arguments of any name gets the recorded variables."""
    taken = inspect.getfullargspec(test)
    if taken.varkw:
        return {"variables": {}, **kwargs}
    return {name: value for name, value in kwargs.items() if name in taken.args}


class _Account(str):
    """The name of an account. With a path-style endpoint, it knows that, too."""

    def __new__(cls, name):
        account = super().__new__(cls, name)
        endpoint = os.environ.get("TABLES_TEST_ENDPOINT")
        if endpoint:
            account.primary_endpoints = type("Endpoints", (), {"table": endpoint})
        return account


class PowerShellPreparer:
    def __init__(self, _prefix, **names):
        self.values = {name: os.environ.get(name.upper(), fake) for name, fake in names.items()}

    def __call__(self, test):
        def arguments(kwargs):
            filled = {name: _Account(v) if "account_name" in name else v for name, v in self.values.items()}
            return {**filled, **kwargs}

        if inspect.iscoroutinefunction(test):

            async def call(instance):
                await test(instance, **arguments({}))

        else:

            def call(instance):
                test(instance, **arguments({}))

        call.__is_preparer = True
        return call


class AzureRecordedTestCase:
    is_live = True

    def get_resource_name(self, prefix):
        return self.create_random_name(prefix)

    def create_random_name(self, prefix):
        # Names differ from test to test, and are the same each time within one.
        name = os.environ.get("PYTEST_CURRENT_TEST", "").split(" ")[0]
        return f"{prefix}{zlib.crc32(name.encode()):08x}"

    def sleep(self, _seconds):
        """The server needs no time to settle."""

    def set_cache(self, *_args, **_kwargs):
        pass

    def generate_sas(self, make, *args, **kwargs):
        return make(*args, **kwargs)


class ResponseCallback:
    def __init__(self, status=None, new_status=None):
        self.status, self.new_status, self.first, self.count = status, new_status, True, 0

    def override_first_status(self, response):
        if self.first and response.http_response.status_code == self.status:
            response.http_response.status_code, self.first = self.new_status, False
        self.count += 1

    def override_status(self, response):
        if response.http_response.status_code == self.status:
            response.http_response.status_code = self.new_status
        self.count += 1


class RetryCounter:
    count = 0

    def simple_count(self, _retry_context):
        self.count += 1


def _token():
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    now = int(time.time())
    claims = {"aud": "https://storage.azure.com", "iss": "https://sts.windows.net/t/", "nbf": now - 60, "exp": now + 3600}
    return AccessToken(f"{part({'alg': 'none'})}.{part(claims)}.x", now + 3600)


class _Credential:
    """A token that the server accepts with `--oauth`, as no directory is at hand to ask for one."""

    def __init__(self, exclude_environment_credential=False, **_kwargs):
        self.has_none = exclude_environment_credential

    def get_token(self, *_scopes, **_kwargs):
        if self.has_none:
            raise ClientAuthenticationError("no credential is left to try")
        return _token()


class _AsyncCredential(_Credential):
    async def get_token(self, *scopes, **kwargs):
        return super().get_token(*scopes, **kwargs)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_args):
        pass

    async def close(self):
        pass


def get_credential(is_async=False, **_kwargs):
    return _AsyncCredential() if is_async else _Credential()


azure.identity.DefaultAzureCredential = _Credential
azure.identity.aio.DefaultAzureCredential = _AsyncCredential
# The tests wait for a service of many machines to see a change.
_sleep = time.sleep
time.sleep = lambda seconds: _sleep(min(seconds, 0.1))
