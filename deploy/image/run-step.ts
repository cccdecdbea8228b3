import { closeSync, existsSync, mkdirSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../test/helpers/run-command.ts";

/** Certificates that this machine trusts beside Node.js' own, if it says so. */
const CERTIFICATES = process.env.NODE_EXTRA_CA_CERTS;
/** Programs' variables that name the certificates which they trust. */
const TRUST = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "PIP_CERT"];

/** Runs a command of a shell with `root` as its root folder, as a RUN does: this machine's network, its own mounts. */
export function runStep(root: string, command: string, { env, folder }: StepPlace): void {
  const lent = [{ file: "/etc/resolv.conf", at: "etc/resolv.conf" }];
  if (CERTIFICATES !== undefined) lent.push({ file: CERTIFICATES, at: "tmp/.certificates" });
  const made = lent.filter(({ at }) => !existsSync(join(root, at)));
  for (const { at } of made) closeSync(openSync(join(root, at), "w"));
  const trust = CERTIFICATES === undefined ? [] : TRUST.map((name) => `${name}=/tmp/.certificates`);
  const words = Object.entries({ HOME: "/root", ...env }).map(([name, value]) => `${name}=${value}`);
  const mounts = lent.map(({ file, at }) => `mount --bind ${file} ${join(root, at)}`);
  const script = [
    "set -e",
    `mount --rbind /dev ${join(root, "dev")}`,
    ...mounts,
    `exec chroot ${root} /usr/bin/env -i "$@"`,
  ].join("\n");
  const inside = [...words, ...trust, "/bin/sh", "-c", `cd ${folder} && ${command}`];
  mkdirSync(join(root, "proc"), { recursive: true });
  try {
    runCommand("unshare", [...NAMESPACES, `--mount-proc=${join(root, "proc")}`, "sh", "-c", script, "sh", ...inside]);
  } finally {
    for (const { at } of made) rmSync(join(root, at));
  }
}

/** Variables and folder of a command. */
export interface StepPlace {
  readonly env: Readonly<Record<string, string>>;
  /** Its working directory. */
  readonly folder: string;
}

/** Mounts and processes of the command end with it. */
const NAMESPACES = ["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"];
