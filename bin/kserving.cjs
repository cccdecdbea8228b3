#!/usr/bin/env node
const { existsSync } = require("node:fs");
const { availableParallelism } = require("node:os");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");

// Read once, when the thread pool starts, hence before anything is imported. Model runs take at most one thread a core;
// the four that are Node's default stay free for files, DNS and images.
process.env.UV_THREADPOOL_SIZE ??= String(availableParallelism() + 4);

const program = join(__dirname, "../dist/cli/main.js");
if (!existsSync(program)) {
  process.stderr.write(`kserving: ${program} is missing; run "npm run build" first.\n`);
  process.exit(1);
}

import(pathToFileURL(program).href)
  .then(({ main }) => main(process.argv.slice(2), process.env))
  .then(
    (exitCode) => process.exit(exitCode),
    (reason) => {
      process.stderr.write(`kserving: the program could not be loaded: ${reason.message}\n`);
      process.exit(1);
    },
  );
