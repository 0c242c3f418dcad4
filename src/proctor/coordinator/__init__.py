"""The durable truth of a run: what is planned, who works on what, what was accepted.

    plan        what a run will do, and what must stay equal for a resume
    store       the interface, its rules, and the ways to open a run
    sqlite      the store on SQLite: writer, leases, journal behind one object
    api         the store over HTTP;  server: the process, started with a configuration
    client      for whoever started it
    export      a run read back from its file;  audit: a file checked against the promises

Import what you need from these modules; this one stays empty so that none costs another's imports.
"""
