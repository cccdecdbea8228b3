import type { IncomingHttpHeaders, RequestListener } from "node:http";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { openKeySet } from "../../../src/access/authentication/key-set.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { startWeb } from "../../storage/start-web.ts";

const SECRET = Buffer.alloc(32, 7);
const OCT = { kty: "oct", kid: "s", alg: "HS256", k: SECRET.toString("base64url") };
const keysOf = (...keys: readonly object[]) => JSON.stringify({ keys });

/** Keys at an address, and the times at which they were read. */
async function openRemote(answer: RequestListener = (_, response) => response.end(keysOf())) {
  const reads: number[] = [];
  const url = await startWeb((request, response) => {
    reads.push(performance.now());
    answer(request, response);
  });
  return { keys: await openKeySet(url), reads };
}

test("an address is asked for JSON as it is, by a program that says its name", async () => {
  const asked: IncomingHttpHeaders[] = [];
  await openRemote(({ headers }, response) => {
    asked.push(headers);
    response.end(keysOf());
  });
  expect(asked).toMatchObject([
    { accept: "application/json", "accept-encoding": "identity", "user-agent": expect.stringMatching(/^kserving\/\d/) },
  ]);
});

test("keys that are the same when they are read again are kept, so that what they have signed stays known", async () => {
  const { keys, reads } = await openRemote();
  const { content } = keys;
  expect(await keys.refreshOnMiss?.("a")).toBe(false);
  expect(reads).toHaveLength(2);
  expect(keys.content).toBe(content);
});

test("they are read again for what is missing no sooner than a second later, once for all that wait", async () => {
  let keys = keysOf();
  const remote = await openRemote((_, response) => response.end(keys));
  keys = keysOf(OCT);
  const missed = ["a", "a", "b"].map((id) => remote.keys.refreshOnMiss?.(id));
  expect(await Promise.all(missed)).toEqual([true, true, true]);
  const [first = 0, second = 0, ...more] = remote.reads;
  expect(more).toEqual([]);
  expect(second - first).toBeGreaterThan(500);
  expect(await remote.keys.refreshOnMiss?.("a")).toBe(false);
  await setImmediate();
  expect(remote.reads).toHaveLength(2);
});

test("an answer that offers several others is not read", async () => {
  const { keys } = await openRemote((_, response) => response.writeHead(300).end(keysOf()));
  expect(() => keys.content).toThrow("could not be read yet");
  await expect(keys.refresh()).rejects.toThrow("it answers with status 300, a redirect, which is not followed");
});

test("a key of another type is no secret, whatever it says of itself", async () => {
  const { k, ...lie } = OCT;
  const folder = tempFolder({ "keys.json": keysOf({ ...lie, kty: "RSA" }, OCT), "lie.json": keysOf({ ...lie, k: 7 }) });
  const find = async (file: string) =>
    (await openKeySet(`${folder}/${file}`)).content({ alg: "HS256", kid: "s" }, undefined as never);
  expect(Buffer.from((await find("keys.json")) as Uint8Array)).toEqual(SECRET);
  await expect(find("lie.json")).rejects.toThrow("No secret of the key set is for this token.");
  await expect(openKeySet(`${folder}/none.json`)).rejects.toThrow(/key set/);
});
