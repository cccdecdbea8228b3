import { rmSync, writeFileSync } from "node:fs";
import { ask, http, json, type LeakKind, type LeakServer } from "./leak-kind.ts";

/** The object that regions are in, until this process ends. */
const KEY = `/kserving-leaks-${process.pid}`;
const BYTES = 16;
const REGION = "/v2/systemsharedmemory/region";

let regions = 0;

/** Regions of shared memory that come and go, and such that there are not. */
export function sharedMemoryKinds(): LeakKind[] {
  const object = `/dev/shm${KEY}`;
  const create = () => {
    writeFileSync(object, Buffer.alloc(BYTES));
    process.once("exit", () => rmSync(object, { force: true }));
    isThere = true;
  };
  let isThere = false;
  const send = (server: LeakServer) => {
    if (!isThere) create();
    return registerAndInfer(server);
  };
  const unknown = { path: `${REGION}/unknown/register`, body: json({ key: "/kserving-none", byte_size: 8 }) };
  return [
    { name: "shm-register-infer-unregister", expected: "200 200 200", form: "plain", send },
    http("shm-unknown-object", "404", unknown),
  ];
}

async function registerAndInfer(server: LeakServer): Promise<string> {
  const name = `r${regions++}`;
  const place = (offset: number) => ({
    parameters: { shared_memory_region: name, shared_memory_byte_size: 8, shared_memory_offset: offset },
  });
  const infer = {
    inputs: [{ name: "x", shape: [2], datatype: "FP32", ...place(0) }],
    outputs: [{ name: "x", ...place(8) }],
  };
  const registered = await ask(server, {
    path: `${REGION}/${name}/register`,
    body: json({ key: KEY, byte_size: BYTES }),
  });
  const answered = await ask(server, { path: "/v2/models/default/infer", body: json(infer) });
  return [
    registered,
    answered,
    await ask(server, { path: `${REGION}/${name}/unregister`, body: Buffer.alloc(0) }),
  ].join(" ");
}
