import { FIRST_REQUEST } from "../../platform/threads/rpc-client.ts";

/** The port of a process's own messages; those of its model follow. */
export const CONTROL_PORT = 0;

/** Asks to load the model, with a {@link LoadOrder}. */
export const LOAD = FIRST_REQUEST;
/** Opens the port that is the record's id. */
export const ATTACH = FIRST_REQUEST + 1;
/** Ends a port, from either side. */
export const DETACH = FIRST_REQUEST + 2;
/** Asks to free the model; later the process is asked to end. */
export const UNLOAD = FIRST_REQUEST + 3;
export const END = FIRST_REQUEST + 4;
/** Asks whether work goes on; its meta is the levels that are logged now. */
export const PING = FIRST_REQUEST + 5;

/** The model is loaded; its facts and values for hooks, packed. */
export const LOADED = FIRST_REQUEST + 6;
/** The model could not be loaded, or freed; an error. */
export const FAILED = FIRST_REQUEST + 7;
export const UNLOADED = FIRST_REQUEST + 8;
/** An event of the log, packed. */
export const LOG = FIRST_REQUEST + 9;
/** Answers a {@link PING}; the id is a count that grows while work goes on. */
export const PONG = FIRST_REQUEST + 10;

/** Bits of a count that a record's id carries. */
export const COUNT_MASK = 0x3fffffff;
