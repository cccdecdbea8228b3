import { basename } from "node:path";
import { failedPrecondition } from "../../errors.ts";
import { isRemoteAddress, shownAddress } from "../../storage/remote-address.ts";
import type { ModelConfig } from "./config/model-config.ts";

/** Values of `--archive-hooks`, by whom an address has to be named for hook files there to be run. */
export type ArchiveHooks = "own" | "on" | "off";

/** A version's place, and whether a client has named it. */
interface HookPlace extends Pick<ModelConfig, "isClients"> {
  readonly place: string;
}

/** Throws `failed_precondition` for the hook file of a version that was downloaded and may not bring one. */
export function assertMayRun(file: string, { place, isClients = false }: HookPlace, whose: ArchiveHooks = "own"): void {
  if (!isRemoteAddress(place) || whose === "on" || (whose === "own" && !isClients)) return;
  const [why, remedy] =
    whose === "off"
      ? ["--archive-hooks off refuses", "--archive-hooks own"]
      : ["is not run where a client names the address", "--archive-hooks on, or with this address in its settings"];
  throw failedPrecondition(
    `${shownAddress(place)} has the hook file ${basename(file)}, code that ${why}. If you trust it, start the server with ${remedy}; else take it out of the model.`,
  );
}
