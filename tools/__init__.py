"""Generators of the reference pages in docs/ and of the OpenAPI document; not part of the installed package."""
