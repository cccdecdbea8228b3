import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A place where hooks of another process wait until the test lets them go on. */
export interface Gate {
  readonly url: string;
  /** Resolves once a caller waits. */
  readonly reached: Promise<void>;
  /** Lets everybody go on. */
  open(): void;
}

/** A hook file whose requests wait at the gate that `-o gate=URL` names. */
export const WAITING_HOOKS = `
  let url = "";
  export const init_hook = (params) => { url = params.gate; };
  export const preprocess = async (inputs) => { await fetch(url); return inputs; };
`;

/** Opens a closed gate. */
export async function createGate(): Promise<Gate> {
  let reach = () => {};
  let open = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const server = createServer((_, response) => {
    reach();
    void opened.then(() => response.end());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    open();
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, reached, open };
}
