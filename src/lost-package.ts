import { failedPrecondition, reasonText, type ServingError } from "./errors.ts";

/** Messages of packages for which npm has left out the part for this platform. */
const LOST: Readonly<Record<string, RegExp>> = {
  koffi: /Cannot find the native Koffi module/,
  sharp: /Could not load the "sharp" module/,
  esbuild: /The package "@esbuild\/\S+" could not be found|You installed esbuild for another platform/,
};

/**
 * The error for a package of kserving's whose part for this platform is not there,
 * with what to do; undefined for any other reason.
 */
export function lostPackage(reason: unknown): ServingError | undefined {
  const text = reasonText(reason);
  const name = Object.keys(LOST).find((each) => LOST[each]?.test(text));
  if (name === undefined) return undefined;
  const message = `kserving's package ${name} lacks its part for ${process.platform} ${process.arch}: npm has left it out (--omit=optional, --no-optional), or node_modules comes from another system. Install kserving here again, without those flags.`;
  return failedPrecondition(message, reason);
}
