"""TLS to a service: the issuers that are trusted."""

from __future__ import annotations

import ssl

import httpx

from bitacora_ledger.service_url import ServiceUrl


def tls_context(url: ServiceUrl) -> ssl.SSLContext:
    """Returns what verifies a service: by the issuers of its file, else by those that httpx trusts."""
    if url.ca_file is None:
        return httpx.create_ssl_context(trust_env=False)
    context = ssl.create_default_context(cafile=url.ca_file)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
