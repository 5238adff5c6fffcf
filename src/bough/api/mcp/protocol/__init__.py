"""The protocol side of Bough's tools: `door` authenticates HTTP requests, `server` speaks MCP with the official
package, `calling` runs a tool, `arguments` and `schemas` read and describe its input, and
`guide` serves the guide."""
