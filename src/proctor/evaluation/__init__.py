"""One worker: the rollout loop, the process around it, and what an episode leaves behind.

    record, protocol   what is stored of an episode; what worker and coordinator say to each other
    rollout            one episode; with execution, success, history, checks, faults, latency, tally
    recording          an episode's video
    worker             the process; with duty, heartbeat, stopping, watchdog, lane, policy_link, recycling
    coordinator_client the worker's side of the coordinator's API
    platform           which machine and renderer it was

Import what you need from these modules; this one stays empty so that none costs another's imports.
"""
