"""Holds what all routes share: authentication, request parameters, errors for invalid requests, and the OpenAPI document.

Used by `rest`, `ws`, `page` and `server`; imports none of them.
"""
