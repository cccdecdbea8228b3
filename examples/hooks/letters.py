"""letters.ts in Python: a text letter by letter, each as soon as it is there, and collect where one answer is taken.

    kserving --driver null --hooks examples/hooks/letters.py --http-enable
    curl http://localhost:9001/predict -F 'string_text=Hello'
"""

import asyncio


async def process(inputs, ctx):
    for letter in inputs["text"].item().decode():
        yield {"letter": letter}
        # In place of the model that takes its time for the next one.
        await asyncio.sleep(0.01)


def collect(parts, ctx):
    return {"letter": "".join(part["letter"].item().decode() for part in parts)}
