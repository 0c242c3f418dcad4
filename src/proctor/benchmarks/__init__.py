"""Benchmark versions, simulator families, and the contract between them and the rest of proctor."""
