"""Every limit as a named constant, with its unit and its reason. SECURITY.md shows this table.

A limit that guards against bytes from outside is marked "outside".
"""

from __future__ import annotations

from typing import Final

# --- wire, outside ---------------------------------------------------------------------------------
MAX_HEADER_BYTES: Final = 1 << 20
"""Bytes of one control frame of the local dialect. Headers are under 1 KiB; inline text can be longer."""

MAX_CONTEXT_BYTES: Final = 128 << 10
"""Bytes of such a frame where it brings a context or capabilities, which are under 16 KiB."""

MAX_ARRAY_BYTES: Final = 64 << 20
"""Bytes of one array on any wire: sixteen 4-megapixel RGB frames would be 200 MB, no benchmark sends one."""

MAX_ARRAY_RANK: Final = 8
"""Dimensions of one array on any wire. Video history needs five."""

MAX_SHARED_BYTES: Final = 256 << 20
"""Bytes of one connection's shared memory. A worker's largest observation fits many times over."""

MAX_FEATURES: Final = 64
"""Features in one observation. The largest benchmark known has 15."""

MAX_CONNECTIONS: Final = 256
"""Connections one policy server keeps. More workers than cores of the largest machine in use."""

MAX_CHUNK_STEPS: Final = 4096
"""Actions in one chunk. The longest horizon in use is 1,200."""

MAX_BODY_FRAME_BYTES: Final = 64 << 20
"""Bytes of raw array data after one control frame, where arrays travel inline: as MAX_ARRAY_BYTES."""

MAX_BATCH_ITEMS: Final = 256
"""Observations in one explicit batch request: one from each connection a server keeps."""

MAX_LAYOUTS: Final = 64
"""Observation layouts one connection announces. A benchmark has one, or one per task."""

HANDSHAKE_TIMEOUT_S: Final = 5.0
"""Seconds a new connection has to introduce itself: local peers answer within one."""

DRAIN_TIMEOUT_S: Final = 5.0
"""Seconds a client may leave an answer unread before its connection is closed."""

FIRST_FRAME_TIMEOUT_S: Final = 10.0
"""Seconds a server that speaks first has for it; one that is silent for so long speaks second."""

MAX_FIRST_FRAME_BYTES: Final = 1 << 20
"""Bytes of the frame with which a server introduces itself. The largest known is under 10 KiB."""

MAX_TOKEN_BYTES: Final = 4096
"""Bytes of a token file: what any HTTP server takes as one header."""

MIN_TOKEN_CHARACTERS: Final = 16
"""Characters of a token: 96 bits where they are drawn at random from 64."""

MAX_ERROR_TEXT: Final = 4096
"""Characters of an error message sent to the other side. The whole text stays in the local log."""

MAX_EVOSTUDIO_BYTES: Final = 64 << 20
"""Bytes of one message of the EvoStudio socket protocol, as the protocol says."""

MAX_EVOSTUDIO_CONTEXT_BYTES: Final = 256 << 10
"""Bytes of such a message where it brings no observation. A benchmark's whole description is under 16 KiB."""

EVOSTUDIO_FRAME_TIMEOUT_S: Final = 10.0
"""Seconds such a message may take to arrive once it has begun: 64 MiB take 0.1 s within one machine."""

HTTP_HEADER_TIMEOUT_S: Final = 10.0
"""Seconds a request's header may take to arrive over HTTP, from the connection or its first byte on."""

HTTP_BODY_TIMEOUT_S: Final = 30.0
"""Seconds a request's body may take to arrive: three camera frames over a slow line."""

MAX_HTTP_HEADER_BYTES: Final = 16 << 10
"""Bytes of one request's or reply's header over HTTP. Tokens and proxies add up to a few KiB."""

MAX_HTTP_REPLY_BYTES: Final = 1 << 20
"""Bytes of one reply of a policy server over HTTP. One action is under 1 KiB."""

MAX_EPISODE_TEXT_BYTES: Final = 64 << 10
"""Bytes of a message of the episode protocol beside images and states; an instruction is a sentence."""

MAX_SERVED_EPISODES: Final = 1024
"""Open episodes of one server of the episode protocol. Four times its connections: one each, some lost."""

MAX_MESSAGE_VALUES: Final = 16_384
"""Values in one message of a WebSocket wire beside its arrays. The largest greeting known has under 100."""

MAX_MESSAGE_DEPTH: Final = 16
"""Maps and lists within each other in such a message. StarVLA's requests need five."""

MESSAGE_SPARE_BYTES: Final = 1 << 20
"""Bytes such a message may have beside the arrays that its wire declares: names, text, timing, statistics."""

MESSAGE_TIMEOUT_S: Final = 20.0
"""Seconds such a message may stand still once it has begun to arrive."""

CLOSE_TIMEOUT_S: Final = 1.0
"""Seconds the other side of a WebSocket has to answer that it closes too. Who does not is left."""

MAX_REFUSALS: Final = 64
"""Connections over MAX_CONNECTIONS that a WebSocket server hears out, to say so. More are just closed."""

# --- policy ----------------------------------------------------------------------------------------
LOAD_TIMEOUT_S: Final = 900.0
"""Seconds for load(): tens of gigabytes of weights from a network disk."""

RESET_TIMEOUT_S: Final = 30.0
"""Seconds for reset(): clears caches, computes nothing large."""

ACT_TIMEOUT_S: Final = 60.0
"""Seconds for one act(), queueing behind other workers and first-call compilation included."""

END_TIMEOUT_S: Final = 5.0
"""Seconds for end_episode(): must never hold up the next episode."""

HEALTH_TIMEOUT_S: Final = 2.0
"""Seconds for health(), which never waits for the policy."""

UNLOAD_TIMEOUT_S: Final = 30.0
"""Seconds a policy has to unload after SIGTERM before it is killed."""

EPISODE_TTL_S: Final = 3600.0
"""Seconds without a request after which a policy server ends an episode whose owner vanished silently."""

BATCH_WAIT_S: Final = 0.005
"""Longest time the first request of a batch waits for others, in seconds. Under a control period."""

MAX_COMMAND_ITEMS: Final = 32
"""Items of the command in a policy process file. Outside: the file may come with an image."""

MAX_COMMAND_CHARACTERS: Final = 1024
"""Characters of one such item, or of its working directory. Outside."""

EPISODE_STEP_TIMEOUT_S: Final = 30.0
"""Seconds for one try of a step of the episode protocol, as its evaluators wait."""

EPISODE_STEP_RETRIES: Final = 3
"""Times a step of the episode protocol is tried again after a silence, a lost connection or a 5xx."""

EPISODE_STEP_PAUSE_S: Final = 1.0
"""Seconds before the first of these tries; doubles every time."""

ADVISED_ANSWER_S: Final = 0.5
"""Seconds by action within which 99 of 100 answers should come: an episode of 300 steps then takes 150 s."""

EPISODE_SERVER_PATIENCE_S: Final = 60.0
"""Seconds that a server of the episode protocol may take to come up: scaled to zero, or started alongside."""

# --- leases ----------------------------------------------------------------------------------------
LEASE_S: Final = 15.0
"""Seconds a claimed Work Item stays owned without a heartbeat."""

HEARTBEATS: Final = 15
"""Heartbeats within one lease: one a second, so that the live display and a cancel follow the worker."""

OPENING_LEASES: Final = 8
"""Leases in one that a worker has while it opens a lane: 120 s. A first frame drawn in software let no other
thread run, and so no heart beat, for 48 s on a busy machine."""

MAX_ATTEMPTS: Final = 3
"""Attempts of one Work Item before it is quarantined."""

EXPIRY_CHECKS: Final = 15
"""Looks at the leases within one lease: a lost worker's item waits this fraction of its lease beyond it."""

COORDINATOR_PATIENCE_S: Final = 30.0
"""Seconds a worker keeps trying to reach a silent coordinator before it stops."""

# --- coordinator ----------------------------------------------------------------------------------
GROUP_COMMIT_REQUESTS: Final = 256
"""Requests that share one transaction. Four times the workers of a large machine; bounds a commit's time."""

STORAGE_RETRY_S: Final = 2.0
"""Seconds a worker is told to wait when the disk is full: work resumes within 5 s of space."""

MAX_API_CONNECTIONS: Final = 512
"""Connections the coordinator serves at once; more are answered 503."""

BODY_TIMEOUT_S: Final = 10.0
"""Seconds a request body may take to arrive. A worker sends 64 KiB over loopback."""

CONTROL_TIMEOUT_S: Final = 10.0
"""Seconds the launcher waits for one answer of the coordinator before it calls it gone."""

# --- launch ----------------------------------------------------------------------------------------
MAX_RUN_NAME: Final = 100
"""Characters of a run's name, which is a directory's name too."""

COORDINATOR_READY_S: Final = 60.0
"""Seconds until the coordinator listens, planning 10,000 episodes on a slow disk included."""

CONNECT_TIMEOUT_S: Final = 10.0
"""Seconds for a connection to a policy server of somebody else's: across a continent it takes one."""

LOST_SERVER_S: Final = 300.0
"""Seconds a run waits for a running server that answers no more: time for its owner to start it again."""

SERVER_READY_S: Final = 600.0
"""Seconds until a policy's process listens: a large model stack imported from a network disk, no weights."""

HOPELESS_EPISODES: Final = 20
"""First episodes of a run that end it when all are policy errors; a policy that works errs in few of them."""

MAX_FRUITLESS_RESTARTS: Final = 3
"""Restarts of a worker in a row in which the run did not move; once more would not help either."""

COORDINATOR_HUNG_S: Final = 15.0
"""Seconds without an answer after which a coordinator counts as hung and is replaced; workers wait longer."""

MAX_COORDINATOR_RESTARTS: Final = 10
"""Restarts of the coordinator in one run. It holds no state, so dying this often has a cause."""

MAX_REPLICA_REBUILDS: Final = 10
"""Times in one run that a policy server which died or hung is built again."""

HUNG_ACT_TIMEOUTS: Final = 2.0
"""Action deadlines that a policy call may run before its process is taken for hung and killed."""

LOOK_S: Final = 0.5
"""Seconds between looks at the run's progress: what a person notices."""

HEALTH_EVERY_S: Final = 5.0
"""Seconds between looks at a policy server's health; a hung call is noticed within as much."""

MAX_SILENCE_S: Final = 10.0
"""Least seconds without any answer before a policy process is taken for hung; the machine may be busy."""

# --- worker ----------------------------------------------------------------------------------------
STEP_TIMEOUT_S: Final = 60.0
"""Seconds one native simulator call may take before the watchdog ends the process."""

BOOT_TIMEOUT_S: Final = 300.0
"""Seconds a worker may take to import its simulator and build its first scene."""

STOP_GRACE_S: Final = 15.0
"""Seconds between SIGTERM and SIGKILL for a supervised child."""

FINISH_GRACE_S: Final = 6.0
"""Seconds the running episode may go on after SIGTERM; then it is cancelled at its next step."""

RELEASE_GRACE_S: Final = 10.0
"""Seconds after SIGTERM at which a worker stuck in a call gives its lease back and leaves all the same."""

WORKER_GROWTH_BYTES: Final = 2 << 30
"""Growth of a worker's memory after which it starts itself anew: simulators leak up to 50 MB an episode."""

MAX_EVENT_KINDS: Final = 64
"""Different event texts kept with one episode; the rest are counted together. Keeps a record under 64 KiB."""

MAX_EVENT_TEXT: Final = 200
"""Characters of one event text."""

RETRY_FIRST_S: Final = 0.1
"""Seconds before the first repetition of something that failed; doubles every time."""

RETRY_LONGEST_S: Final = 2.0
"""Longest pause between two repetitions, in seconds: a restarted server is back in use within as much."""

# --- video -----------------------------------------------------------------------------------------
MAX_VIDEO_HZ: Final = 12.5
"""Frames per second of a recording: shows what went wrong; each costs a 0.1 s render without a GPU."""

MAX_VIDEO_WIDTH: Final = 1280
"""Pixels; cameras stand side by side, three of 640 would be 1,920."""

MAX_VIDEO_HEIGHT: Final = 480
"""Pixels."""

# --- files, outside --------------------------------------------------------------------------------
MAX_IMAGE_PIXELS: Final = 16_000_000
"""Pixels of one image, read from its header before anything is decoded."""

MAX_IMAGE_SCANS: Final = 64
"""Scans of one JPEG. Progressive encoders make ten; each costs the time of all pixels for few bytes."""

MAX_IMAGE_PARTS: Final = 64
"""Chunks of one PNG, segments of a JPEG before its pixels. Cameras write ten; each costs a decoder's time."""

IMAGE_BYTES_PER_PART: Final = 2048
"""Bytes of a PNG for which one more chunk is allowed. Encoders cut pixels into chunks of 8 KiB or more."""

MAX_DEFINITION_BYTES: Final = 4 << 20
"""Bytes of one benchmark.toml or policy process file."""

INTERPRETER_TIMEOUT_S: Final = 60.0
"""Seconds in which an interpreter that the user names has to say what it can import. It takes 0.1."""

MAX_OWN_EPISODES: Final = 10_000
"""Episodes per task that a short benchmark file may ask for: they are listed each time it is read."""

MAX_BODY_BYTES: Final = 8 << 20
"""Bytes of one HTTP request to the coordinator. An episode record is under 64 KiB."""

# --- data sets, outside ----------------------------------------------------------------------------
MAX_MANIFEST_BYTES: Final = 64 << 20
"""Bytes of one manifest of a data set: its most files with paths of 150 characters."""

MAX_MANIFEST_FILES: Final = 200_000
"""Files of one data set. One million frames are packed before they are published; hubs refuse more."""

MAX_DATA_FILE_BYTES: Final = 1 << 43
"""Bytes of one such file, 8 TiB: more than any hub stores as one."""

MAX_DATA_PATH_BYTES: Final = 1024
"""Bytes of a path in a manifest; leaves room for the directory within what file systems take."""

MAX_DATA_NAME_BYTES: Final = 255
"""Bytes of one part of such a path: what every common file system takes."""

MAX_SOURCES: Final = 16
"""Locations a manifest names. Two or three mirrors are usual."""

MAX_REDIRECTS: Final = 5
"""Redirects followed for one file. The Hugging Face Hub needs one or two."""

DATA_CONNECTIONS: Final = 8
"""Files fetched at the same time: small ones then cost no round trip each, and no server minds."""

DATA_ANSWER_TIMEOUT_S: Final = 60.0
"""Seconds until a location has begun to answer: a hub may look the file up in cold storage."""

DATA_PACE_S: Final = 30.0
"""Seconds in which DATA_PACE_BYTES must arrive, again and again, or the connection is given up."""

DATA_PACE_BYTES: Final = 64 << 10
"""Bytes in DATA_PACE_S: 2 KiB/s. Slower would take a year for the largest known data set."""

DATA_RETRIES: Final = 5
"""Times in a row one file is tried again while nothing of size arrives: half a minute of pauses."""

DATA_PAUSE_S: Final = 1.0
"""Seconds before the first of these tries; doubles every time."""

DATA_LONGEST_PAUSE_S: Final = 60.0
"""Longest pause that a server may ask for, in seconds."""

DATA_PROGRESS_BYTES: Final = 1 << 20
"""Bytes that must arrive for a broken transfer to get all its tries anew."""

DATA_SPARE_BYTES: Final = 256 << 20
"""Bytes that fetching leaves free on the disk: a full one stops the runs that write there."""
