import { isIP } from "node:net";
import { posix } from "node:path";
import { invalidArgument } from "../../errors.ts";
import { shellQuoted } from "../../platform/text/terminal.ts";
import { graceSeconds, portsOf } from "./container.ts";
import type { Deployment, ExportedFiles } from "./deployment.ts";
import { pythonPackages, runtimesOf } from "./dockerfile.ts";

/** The script that installs a service of systemd. */
export const INSTALL_FILE = "install.sh";

/** Reads a file of examples/systemd, whose units the exported ones are. */
type ReadExample = (name: string) => string;

/** The folder of a service in which a flag's file or folder has to be; others it may not write, or no one reaches. */
const PLACES: Readonly<Record<string, "log" | "run" | "cache">> = {
  "--log-path": "log",
  "--request-log": "log",
  "--keep-fatal-requests": "log",
  "--grpc-socket-path": "run",
  "--model-cache": "cache",
};

/**
 * A service of systemd with its sockets, the rotation of its log, and the script that installs them with the program
 * and the files of the command line. Throws `invalid_argument` for a host that is no address, and for a path that the
 * service may not write.
 */
export function systemdFiles(deployment: Deployment, readExample: ReadExample): ExportedFiles {
  assertWritable(deployment);
  const { name } = deployment;
  const own = (file: string) => readExample(`kserving${file}`).replaceAll("kserving", name);
  const sockets = portsOf(deployment).map((port) => [`${name}-${port.name}.socket`, socket(deployment, port, own)]);
  const names = sockets.map(([file]) => file as string);
  return {
    [`${name}.service`]: service(deployment, own(".service"), names),
    ...Object.fromEntries(sockets),
    [`${name}.logrotate`]: own(".logrotate"),
    [INSTALL_FILE]: installScript(deployment, names),
  };
}

/** Folders of a service by its name; that of the credentials root alone reads. */
function foldersOf(name: string) {
  const written = { log: `/var/log/${name}`, run: `/run/${name}`, cache: `/var/cache/${name}` };
  return { program: `/opt/${name}`, files: `/srv/${name}`, credentials: `/etc/${name}`, ...written };
}

function assertWritable({ name, written }: Deployment): void {
  const folders = foldersOf(name);
  for (const [flag, path] of Object.entries(written)) {
    const folder = folders[PLACES[flag] ?? "log"];
    if (!`${posix.normalize(path)}/`.startsWith(`${folder}/`))
      throw invalidArgument(
        `The service writes what ${flag} names below ${folder} alone; expected a path there, not ${path}.`,
      );
  }
}

const SEES_DEVICES = `# A model's options ask for a device.
PrivateDevices=no`;

function service(deployment: Deployment, unit: string, sockets: readonly string[]): string {
  const { name, drivers, secrets } = deployment;
  const { program, files, credentials } = foldersOf(name);
  const words = wordsOf(deployment).map((word) => ` ${word}`);
  const lines = [
    `WorkingDirectory=${files}`,
    `ExecStart=${program}/bin/kserving${words.join("")}`,
    `Sockets=${sockets.join(" ")}`,
    ...secrets.map((flag) => `LoadCredential=${idOf(flag)}:${credentials}/${idOf(flag)}`),
    `Environment=KSERVING_RUNTIMES_DIR=${program}/runtimes`,
    ...(pythonPackages(drivers) ? [`Environment=VIRTUAL_ENV=${program}/python`] : []),
  ];
  const ofDevices = deployment.hasDevice ? unit.replace(/^# A GPU needs.*\nPrivateDevices=yes$/m, SEES_DEVICES) : unit;
  return ofDevices
    .replace(/^Description=.*$/m, `$& ${name}`)
    .replace(/^ExecStart=.*$/m, () => lines.join("\n"))
    .replace(/^TimeoutStopSec=.*$/m, `TimeoutStopSec=${graceSeconds(deployment)}`);
}

/** The command line as systemd reads it, with the places at which this service alone has the files with secrets. */
function wordsOf({ args, secrets }: Deployment): readonly string[] {
  return args.map((word, index) => {
    const [flag = ""] = word.split("=", 1);
    if (secrets.includes(args[index - 1] ?? "")) return credential(args[index - 1] as string);
    return secrets.includes(flag) && word !== flag ? `${flag}=${credential(flag)}` : unitWord(word);
  });
}

function credential(flag: string): string {
  return `\${CREDENTIALS_DIRECTORY}/${idOf(flag)}`;
}

function idOf(flag: string): string {
  return flag.replace(/^--/, "");
}

/** A word of a unit's command line, in which percent signs and dollars are characters like others. */
function unitWord(word: string): string {
  const text = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /^[\w./:=,@%$+-]+$/.test(text) ? text : JSON.stringify(text);
}

function socket(
  { host }: Deployment,
  { name, port }: ReturnType<typeof portsOf>[number],
  own: (file: string) => string,
): string {
  const address = host === undefined ? String(port) : `${addressOf(host)}:${port}`;
  return own(`-${name}.socket`).replace(/^ListenStream=.*$/m, `ListenStream=${address}`);
}

function addressOf(host: string): string {
  const bare = host === "localhost" ? "127.0.0.1" : host.replace(/^\[(.*)\]$/, "$1");
  const version = isIP(bare);
  if (version === 0) throw invalidArgument(`A socket of systemd is opened at an address; expected one, not ${host}.`);
  return version === 6 ? `[${bare}]` : bare;
}

function installScript(deployment: Deployment, sockets: readonly string[]): string {
  const { name, program, needs, secrets, drivers } = deployment;
  const folders = foldersOf(name);
  const archive = posix.basename(program.file);
  const units = [`${name}.service`, ...sockets].map((file) => `"$here/${file}"`).join(" ");
  return [
    "#!/bin/sh",
    `# Installs the service ${name}. Run it as root, where the command line was given.`,
    "# With DESTDIR=FOLDER everything is written below that folder, for an image, and nothing is started.",
    "set -eu",
    "# The service's user is another than the one who installs.",
    "umask 022",
    `root=\${DESTDIR:-}`,
    `here=$(cd "$(dirname "$0")" && pwd)`,
    "# The service finds Node.js in these folders alone.",
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    `command -v npm >/dev/null || { echo "npm is not in $PATH; expected Node.js 20.19 or newer there" >&2; exit 1; }`,
    `for unit in /lib/systemd/system /usr/lib/systemd/system; do`,
    `  [ ! -e "$unit/${name}.service" ] || { echo "${name} is a service of this system; export with another --name" >&2; exit 1; }`,
    "done",
    `(cd "$here" && echo "${program.sha256}  ${archive}" | sha256sum --check --quiet -)`,
    `npm install --global --prefix "$root${folders.program}" --ignore-scripts --no-audit --no-fund ${[`"$here/${archive}"`, ...needs.packages].join(" ")}`,
    ...pythonLines(drivers, folders.program),
    ...runtimesOf(deployment).map(
      (runtime) =>
        `KSERVING_RUNTIMES_DIR="$root${folders.program}/runtimes" "$root${folders.program}/bin/kserving" runtimes install ${runtime}`,
    ),
    ...copyLines(deployment, folders.files),
    ...secrets.map((flag) => secretLine(deployment, flag, folders.credentials)),
    `install -D -m 644 -t "$root/etc/systemd/system" ${units}`,
    `install -D -m 644 "$here/${name}.logrotate" "$root/etc/logrotate.d/${name}"`,
    `[ -z "$root" ] || exit 0`,
    "systemctl daemon-reload",
    `systemctl enable --now ${sockets.join(" ")}`,
    `systemctl enable ${name}.service`,
    "# A service that runs takes what is new.",
    `systemctl restart ${name}.service`,
    "",
  ].join("\n");
}

function pythonLines(drivers: readonly string[], program: string): readonly string[] {
  const python = pythonPackages(drivers);
  if (python === undefined) return [];
  return [
    `# Debian's packages that this needs: ${python.debian.join(" ")}`,
    `python3 -m venv "$root${program}/python"`,
    `"$root${program}/python/bin/pip" install --no-cache-dir ${python.projects.join(" ")}`,
  ];
}

/** A file that a server has mapped is replaced and not written over. */
function copyLines({ files }: Deployment, folder: string): readonly string[] {
  const copied = files.map(shellQuoted).join(" ");
  return [
    `mkdir -p "$root${folder}"`,
    ...(files.length === 0
      ? []
      : [
          `cp -RL --parents --remove-destination -- ${copied} "$root${folder}/"`,
          `chmod -R u+rwX,go+rX,go-w "$root${folder}"`,
        ]),
  ];
}

function secretLine({ variables }: Deployment, flag: string, folder: string): string {
  const path = variables[`KSERVING_${idOf(flag).replaceAll("-", "_").toUpperCase()}`] ?? "";
  return `install -D -m 600 -- ${shellQuoted(path)} "$root${folder}/${idOf(flag)}"`;
}
