import type { Server } from "node:tls";
import type { TlsFiles } from "../access/tls-files.ts";
import { reasonText } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";

/** Milliseconds between two checks of the files of certificates. */
const CHECK_MS = 10_000;

/**
 * Has the files of certificates read again when they change, and logs what keeps clients from using them, until the
 * returned function is called. `servers` are those that listen by then.
 */
export function keepCertificate(
  files: Pick<TlsFiles, "refresh" | "validityProblem">,
  servers: () => readonly Pick<Server, "setSecureContext">[],
  log: Logger,
): () => void {
  const [sayProblem, sayValidity] = [oncePerText(), oncePerText()];
  const look = () => {
    const { text = "", isSoon = false } = files.validityProblem() ?? {};
    if (sayValidity(text)) log[isSoon ? "warn" : "error"](text);
  };
  const check = async () => {
    try {
      if (await files.refresh(servers())) log.info("new connections get the new certificate");
      sayProblem("");
    } catch (err) {
      // A certificate that is being replaced may be complete at the next check.
      if (sayProblem(reasonText(err))) log.error("the new certificate is not used; the old one stays", { err });
    }
    look();
  };
  look();
  const timer = setInterval(() => void check(), CHECK_MS).unref();
  return () => clearInterval(timer);
}

/** True for a text that is not empty, and not the one of the last call. */
function oncePerText(): (text: string) => boolean {
  let last = "";
  return (text) => {
    const isNew = text !== "" && text !== last;
    last = text;
    return isNew;
  };
}
