"""REST: one module per noun, each route a few lines over a service; together they are the OpenAPI document."""
