import type { LocalService } from "../../serving/local-service.ts";
import type { ServerChoices } from "../server-options.ts";

/** Parts of a server that several listeners need besides the settings of the transports. */
export interface ListenerParts {
  readonly service: LocalService;
  readonly choices: ServerChoices;
  /** Kilobytes of the requests of each thread. */
  readonly held: SharedArrayBuffer;
}
