import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../helpers/temp-folder.ts";

/** A container as a started program sees it. */
export interface SmallContainer {
  /** Environment of the program. */
  readonly env: NodeJS.ProcessEnv;
  /** Says how many bytes of memory the container uses. */
  use(bytes: number): void;
}

/** Reads files of control groups, and what they say of the machine, in a folder in place of the system's. */
const PRELOAD = `const fs = require("node:fs");
const read = fs.readFileSync;
fs.readFileSync = (path, ...rest) =>
  read(/^\\/(proc\\/(self\\/cgroup|meminfo)|sys\\/fs\\/cgroup\\/.*)$/.test(path) ? __dirname + path : path, ...rest);
require("node:module").syncBuiltinESMExports();
`;

/** A container of so many bytes of memory. The kernel does not enforce the limit. */
export function smallContainer(bytes: number): SmallContainer {
  const folder = tempFolder({
    "preload.cjs": PRELOAD,
    "proc/meminfo": "MemTotal: 8000000 kB\nMemAvailable: 8000000 kB\n",
    "proc/self/cgroup": "0::/\n",
    "sys/fs/cgroup/memory.max": `${bytes}\n`,
    "sys/fs/cgroup/memory.current": "0\n",
    "sys/fs/cgroup/memory.stat": "",
  });
  return {
    env: { NODE_OPTIONS: `--require=${join(folder, "preload.cjs")}` },
    use: (used) => writeFileSync(join(folder, "sys/fs/cgroup/memory.current"), `${used}\n`),
  };
}
