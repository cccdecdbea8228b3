#!/usr/bin/env node
// What distributions ship is often older, and fails with whatever it meets first. Node 10 and later read this far.
const NEEDED = [20, 19];
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  const versions = `This is Node ${process.versions.node}; kserving needs ${NEEDED.join(".")} or newer`;
  process.stderr.write(`kserving: ${versions}. Install a newer Node, for example with nvm or fnm.\n`);
  process.exit(1);
}

const { existsSync } = require("node:fs");
const { availableParallelism } = require("node:os");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");

// Read once, when the thread pool starts, hence before anything is imported. Model runs take at most one thread a core;
// the four that are Node's default stay free for files, DNS and images.
if (process.env.UV_THREADPOOL_SIZE === undefined) process.env.UV_THREADPOOL_SIZE = String(availableParallelism() + 4);

const program = join(__dirname, "../dist/cli/start.js");
if (!existsSync(program)) {
  process.stderr.write(`kserving: ${program} is missing; run "npm run build" first.\n`);
  process.exit(1);
}

const argv = process.argv.slice(2);
// The other names of this program have put a command in front.
const again = [process.argv[1], ...(require.main === module ? argv : argv.slice(1))];

// Reached where everything waits for something that cannot come any more; Node would end with 0.
process.once("beforeExit", () => {
  process.stderr.write("kserving: the program has nothing left to wait for, and is not done; please report it.\n");
  process.exit(1);
});

import(pathToFileURL(program).href)
  .then(({ start }) => start({ argv, program: again, env: process.env }))
  .then(
    (exitCode) => process.exit(exitCode),
    (reason) => {
      process.stderr.write(`kserving: the program could not be loaded: ${reason.message}\n`);
      process.exit(1);
    },
  );
