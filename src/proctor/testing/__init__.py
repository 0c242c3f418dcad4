"""Conformance kits for policies, benchmarks, dialects and stores, and the toy benchmark they are tried on."""
