"""HTTP/1.1 with deadlines and bounds: a client's connection, and a server on threads. h11 does the parsing."""
