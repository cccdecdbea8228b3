// Run by unreadable-models.test.ts: serves the folder that it is given, then looks at it again as a user who may not read all of it.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSilentLogger } from "../../src/observability/logger.ts";
import { RepositorySource } from "../../src/server/repository-source.ts";
import { openServer } from "../../src/server/server.ts";
import { withDefaults } from "../../src/server/server-options.ts";

const [folder, locked] = process.argv.slice(2);
const CONFIG = 'backend: "null"';

/** Adds a model of which a part may not be read. */
function addLocked(name, part) {
  mkdirSync(join(folder, name, "1"), { recursive: true });
  writeFileSync(join(folder, name, "config.pbtxt"), CONFIG);
  chmodSync(join(folder, name, part), 0);
}

const log = createSilentLogger();
const source = new RepositorySource({ folders: [folder] }, { pollMs: 0, log });
const server = await openServer(withDefaults({ http: {}, loadRetries: 0, log }), source);
for (const [name, part] of Object.entries(JSON.parse(locked))) addLocked(name, part);
const NOBODY = 65534;
if (process.getuid() === 0) {
  process.setgid(NOBODY);
  process.setuid(NOBODY);
}
await server.service.rescan();
const answer = await fetch(`${server.httpUrl}/v1/models/good:predict`, { method: "POST", body: '{"inputs": 1}' });
const states = server.models().map(({ name, state, error }) => [name, [state, error?.code, error?.message]]);
process.stdout.write(
  JSON.stringify({ uid: process.getuid(), status: answer.status, states: Object.fromEntries(states) }),
);
await server.close();
