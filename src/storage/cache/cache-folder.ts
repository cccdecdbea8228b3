import { join, posix, resolve } from "node:path";
import { homeFolder } from "../../machine/home-folder.ts";

/**
 * The folder of downloaded models where none is chosen:
 * https://specifications.freedesktop.org/basedir-spec and what other systems have.
 */
export function cacheFolder(
  env: Readonly<Record<string, string | undefined>> = process.env,
  platform: NodeJS.Platform = process.platform,
  home: string = homeFolder(),
): string {
  if (platform === "win32")
    return join(env.LOCALAPPDATA || join(home, "AppData", "Local"), "kserving", "cache", "models");
  if (platform === "darwin") return posix.join(home, "Library", "Caches", "kserving", "models");
  const xdg = env.XDG_CACHE_HOME ?? "";
  return resolve(posix.isAbsolute(xdg) ? xdg : posix.join(home, ".cache"), "kserving", "models");
}
