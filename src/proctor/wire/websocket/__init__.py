"""What the WebSocket dialects share: a client, its sessions, and a server. Each dialect adds what is said.

All of them have the server speak first, with one map in one frame; then one request is answered by one reply.
"""
