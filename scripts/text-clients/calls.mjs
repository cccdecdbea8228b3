/** Runs the calls of a client one after the other, and prints a line of JSON for each: its name, and what was wrong. */
export async function runCalls(calls) {
  for (const [name, call] of Object.entries(calls)) {
    const problem = await call().then(
      () => undefined,
      (reason) => String(reason?.stack ?? reason).slice(0, 2000),
    );
    console.log(JSON.stringify({ name, problem }));
  }
  // Some clients keep their connections.
  process.exit(0);
}

export async function all(items) {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

/** The reason for which a call has failed; fails if it has not. */
export async function failure(promise) {
  return promise.then(
    (value) => {
      throw new Error(`expected an error; got ${JSON.stringify(value)}`);
    },
    (reason) => reason,
  );
}

export const ORIGIN = process.argv[2];
export const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
export const WAV = Buffer.from("RIFF\0\0\0\0WAVEfmt ", "latin1");
export const CITY = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
/** The vector that the toy model of embeddings gives to "good". */
export const GOOD = [1, 0, 1 / 3];
