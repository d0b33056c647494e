"""The order of effects, one module a use case. Edges are passed in."""
