import { spawnSync } from "node:child_process";

/** Scripts that CI runs, but for what has to be installed first. */
const ALL = ["test", "test:long", "check:rest"];

const [name, ...args] = process.argv.slice(2);
const scripts = name === undefined ? ALL.map((script) => [script]) : [[`check:${name}`, "--", ...args]];
for (const script of scripts) {
  const { status } = spawnSync("npm", ["run", ...script], { stdio: "inherit" });
  process.exitCode = status ?? 1;
  if (status !== 0) break;
}
