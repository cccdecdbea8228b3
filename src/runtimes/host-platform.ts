import { release } from "node:os";

/** Facts that decide which binaries run here. */
export interface HostPlatform {
  readonly os: NodeJS.Platform;
  readonly arch: string;
  /** Minor version of glibc 2, for Linux; undefined where there is none, as on Alpine. */
  readonly glibcMinor?: number;
  /** Major version of the system's kernel; for macOS, where its own version follows from it. */
  readonly kernelMajor: number;
}

/** The platform that this process runs on. */
export function hostPlatform(): HostPlatform {
  const { platform: os, arch } = process;
  const minor = os === "linux" ? glibcMinor() : undefined;
  return { os, arch, kernelMajor: Number.parseInt(release(), 10), ...(minor !== undefined && { glibcMinor: minor }) };
}

function glibcMinor(): number | undefined {
  // Without this the report would first resolve the names of all open connections.
  Object.assign(process.report, { excludeNetwork: true });
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  const [, minor] = /^2\.(\d+)/.exec(header?.glibcVersionRuntime ?? "") ?? [];
  return minor === undefined ? undefined : Number(minor);
}

/** The platform in messages: `Linux x64 with glibc 2.36`. */
export function describePlatform({ os, arch, glibcMinor }: HostPlatform): string {
  const names: Partial<Record<NodeJS.Platform, string>> = { linux: "Linux", darwin: "macOS", win32: "Windows" };
  const libc = glibcMinor === undefined ? " without glibc (musl, as on Alpine)" : ` with glibc 2.${glibcMinor}`;
  return `${names[os] ?? os} ${arch}${os === "linux" ? libc : ""}`;
}
