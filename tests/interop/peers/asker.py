"""openpi's own client, asking a server about frames and states drawn from a seed.

python asker.py PORT COUNT [KEY]      prints what it was answered, as JSON
"""

from __future__ import annotations

import json
import sys

import numpy as np
from openpi_client.websocket_client_policy import WebsocketClientPolicy

key = sys.argv[3] if len(sys.argv) > 3 else None
policy = WebsocketClientPolicy("127.0.0.1", int(sys.argv[1]), key)
answers = []
for index in range(int(sys.argv[2])):
    random = np.random.RandomState(index)
    observation = {
        "observation/image": random.randint(0, 256, (64, 64, 3)).astype(np.uint8),
        "observation/state": random.standard_normal(4).astype(np.float32),
        "prompt": f"task {index}",
    }
    try:
        answers.append(policy.infer(observation)["actions"].tolist())
    except RuntimeError as error:
        answers.append(str(error).splitlines()[-1])
        break
print(json.dumps({"metadata": policy.get_server_metadata(), "answers": answers}))
