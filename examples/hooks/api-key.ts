/**
 * Keys of clients, checked in a hook: a request without a known `x-api-key` reaches no model. `-o keys=` names the
 * file, with a key and its owner per line; the model learns the owner.
 *
 *     kserving --driver null --hooks examples/hooks/api-key.ts -o keys=examples/hooks/api-key/keys.txt --http-enable
 *     curl http://localhost:9001/v1/models/default:predict -H 'x-api-key: not-a-secret' -d '{"inputs": {"x": [1, 2]}}'
 *
 * The server's own `--auth` checks more than that, before a body is read (docs/security.md). A hook is for what only
 * your code knows, such as a customer's contract.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { defineHooks, ServingError } from "kserving";

export default defineHooks({
  options: { keys: { type: "string", help: "File with lines of KEY OWNER." } },

  async init_hook({ keys }) {
    if (keys === undefined) throw new ServingError("failed_precondition", "Name the file of keys: -o keys=FILE.");
    const lines = (await readFile(keys, "utf8")).trim().split(/\r?\n/);
    return new Map(lines.map((line) => line.trim().split(/\s+/)).map(([key = "", owner = ""]) => [hashOf(key), owner]));
  },

  preprocess(inputs, ctx) {
    const owners: Map<string, string> = ctx.global_ctx;
    const owner = owners.get(hashOf(ctx.metadata["x-api-key"] ?? ""));
    if (owner === undefined) throw new ServingError("unauthenticated", "The header x-api-key has no key of a client.");
    return { ...inputs, owner };
  },
});

/** Hashes are looked up, so that the time that it takes tells nothing about the keys. */
function hashOf(key: string): string {
  return createHash("sha256").update(key).digest("base64");
}
