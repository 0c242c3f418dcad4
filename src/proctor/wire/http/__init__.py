"""HTTP/1.1 with deadlines and bounds: a client's connection, a server on threads. h11 does the parsing."""
