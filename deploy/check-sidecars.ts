/**
 * Checks the server behind the programs that KServe and Knative run next to it, unmodified and without a cluster:
 * KServe's agent (logger, batcher) and router (InferenceGraph), Knative's queue-proxy, and Knative's own check of what
 * deploy/kserve/knative.yaml has: npm run check -- sidecars. They have fixed ports, so they run in a network of their
 * own. Needs root, unshare, ip, and Go, which builds them once (some minutes).
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { buildSidecars } from "./cluster/build-sidecars.ts";

const programs = buildSidecars(join(process.cwd(), ".cache", "kubernetes"));
const entry = join(import.meta.dirname, "cluster/sidecars/sidecars-entry.ts");
const inside = `ip link set lo up && exec "$@"`;
const command = [process.execPath, "--import=tsx", entry, JSON.stringify(programs)];
const namespaces = ["--net", "--pid", "--fork", "--kill-child"];
const { status } = spawnSync("unshare", [...namespaces, "sh", "-c", inside, "sh", ...command], { stdio: "inherit" });
process.exitCode = status ?? 1;
