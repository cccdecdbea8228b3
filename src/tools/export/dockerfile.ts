import { dirname, posix } from "node:path";
import { PYTHON_FRAMEWORKS, type PythonFramework } from "../../storage/runtimes/python-frameworks.ts";
import { portsOf, USER_ID } from "./container.ts";
import { type Deployment, PACKAGE_CONTEXT, WORK_FOLDER } from "./deployment.ts";

/** Drivers of which every model needs the runtime that `kserving runtimes install` gets. */
const RUNTIMES = ["openvino", "pytorch"];
const PYTHON_FOLDER = "/opt/python";

/** The Dockerfile of a deployment; it is built in the folder of the command line. */
export function dockerfile(deployment: Deployment): string {
  return [
    ...programLines(deployment),
    `WORKDIR ${WORK_FOLDER}`,
    ...deployment.files.map(copyLine),
    ...endLines(deployment),
    `CMD ${JSON.stringify(deployment.args)}`,
    "",
  ].join("\n");
}

/** The lines that make an image with the program and the runtimes that the models need, without the models. */
export function programLines(deployment: Deployment): readonly string[] {
  const { program, drivers, needs } = deployment;
  const archive = `/tmp/${posix.basename(program.file)}`;
  const packages = [archive, ...needs.packages].join(" ");
  return [
    "# Give a digest to build the same image again: --build-arg NODE_IMAGE=node@sha256:...",
    "ARG NODE_IMAGE=node:24-bookworm-slim",
    `FROM \${NODE_IMAGE} AS server`,
    "ENV NODE_ENV=production KSERVING_RUNTIMES_DIR=/opt/kserving/runtimes",
    ...pythonLines(drivers),
    "# The program that wrote this file, as kserving export has packed it.",
    copyTo(program.file, "/tmp/").replace(/^COPY/, program.isOutside ? `COPY --from=${PACKAGE_CONTEXT}` : "COPY"),
    "# No package needs its install script: their native code comes as packages of its own.",
    "# hadolint ignore=DL3016",
    `RUN echo "${program.sha256}  ${archive}" | sha256sum --check - && npm install --global --ignore-scripts ${packages} && npm cache clean --force`,
    ...runtimesOf(deployment).map((name) => `RUN kserving runtimes install ${name}`),
  ];
}

/** Names for `kserving runtimes install`. */
export function runtimesOf({ drivers, needs }: Deployment): readonly string[] {
  return [...RUNTIMES.filter((name) => drivers.includes(name)), ...needs.runtimes];
}

/** The lines that say how the image runs. */
export function endLines(deployment: Deployment): readonly string[] {
  return [
    "# Any other id works too, and so does a read-only root with a writable /tmp.",
    `USER ${USER_ID}:0`,
    `EXPOSE ${portsOf(deployment)
      .map(({ port }) => port)
      .join(" ")}`,
    `HEALTHCHECK --interval=5s --timeout=4s --start-period=10m CMD ["kserving", "health", "127.0.0.1:${deployment.grpcPort}"]`,
    `ENTRYPOINT ["kserving"]`,
  ];
}

/** A Dockerfile's line that copies a file or folder to the same place. */
function copyLine(file: string): string {
  return copyTo(file, isFolder(file) ? file : `${posix.normalize(dirname(file))}/`);
}

/**
 * A Dockerfile's line that copies a file or folder. Docker takes the first path for a pattern, and looks for quotes and
 * variables in both.
 */
export function copyTo(file: string, target: string): string {
  const pattern = file.replaceAll(/[[*?]/g, "[$&]");
  return `COPY ${JSON.stringify([pattern, target].map(literal))}`;
}

/** A text in which a Dockerfile's quotes, variables and escapes are characters like others. */
export function literal(text: string): string {
  return text.replaceAll(/[\\$'"]/g, "\\$&");
}

function isFolder(file: string): boolean {
  return file.endsWith("/");
}

/** Packages of Debian and of pip, each once. */
interface PythonPackages {
  readonly debian: readonly string[];
  readonly projects: readonly string[];
}

/** Python with the frameworks of the drivers that run in it; undefined if none does. */
export function pythonPackages(drivers: readonly string[]): PythonPackages | undefined {
  const names = drivers.filter((name) => Object.hasOwn(PYTHON_FRAMEWORKS, name));
  if (names.length === 0) return undefined;
  const frameworks = names
    .filter((name) => !RUNTIMES.includes(name))
    .map((name) => PYTHON_FRAMEWORKS[name] as PythonFramework);
  const debian = new Set(["python3", "python3-venv", ...frameworks.flatMap((each) => each.debian ?? [])]);
  const projects = new Set(["numpy", ...frameworks.flatMap(({ project, besides = [] }) => [project, ...besides])]);
  return { debian: [...debian], projects: [...projects] };
}

function pythonLines(drivers: readonly string[]): readonly string[] {
  const python = pythonPackages(drivers);
  if (python === undefined) return [];
  return [
    "# hadolint ignore=DL3008",
    `RUN apt-get update && apt-get install -y --no-install-recommends ${python.debian.join(" ")} && rm -rf /var/lib/apt/lists/*`,
    "# hadolint ignore=DL3013",
    `RUN python3 -m venv ${PYTHON_FOLDER} && ${PYTHON_FOLDER}/bin/pip install --no-cache-dir ${python.projects.join(" ")}`,
    `ENV VIRTUAL_ENV=${PYTHON_FOLDER}`,
  ];
}
