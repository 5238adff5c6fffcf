"""Holds what all routes share: authentication, request parameters, errors for bad requests and the OpenAPI document.

Used by `rest`, `ws`, `page` and `server`; imports none of them.
"""
